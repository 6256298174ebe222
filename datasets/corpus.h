/* How the readers of one format fill a corpus; for the datasets' own files. */
#ifndef LH_DATASETS_CORPUS_H
#define LH_DATASETS_CORPUS_H

#include "datasets/dataset.h"

/* A corpus without documents, for texts that are added to it. Gives; lh_corpus_destroy. */
lh_status lh_corpus_create(lh_corpus **out);

/* Opens its tokenizer, or trains one on its training documents. */
lh_status lh_corpus_open_tokens(lh_corpus *corpus, const char *tokens);

/* Adds a document whose text is read from `path` on first use. `bytes` is its size. */
lh_status lh_corpus_add_file(lh_corpus *corpus, lh_split split, const char *name, const char *path,
                             int64_t bytes);

/* Adds a document; the corpus takes `text` over (free()) in any case. */
lh_status lh_corpus_add_text(lh_corpus *corpus, lh_split split, const char *name, char *text,
                             size_t bytes);

/* From now on every line end counts as a word: the published word counts of WikiText have an <eos>
 * for each (217,646 and 245,569 in the validation and test splits). */
void lh_corpus_count_lines(lh_corpus *corpus);

/* Names a file that the documents come from, where that is not what was asked for: the path that
 * lh_corpus_source then shows is the first one's. */
void lh_corpus_note_file(lh_corpus *corpus, const char *path);

/* The raw text of a document. Lends until its tokens are first asked for. */
lh_status lh_corpus_text(lh_corpus *corpus, lh_split split, int64_t index, const char **text,
                         size_t *bytes);

/* Whether `tokens` names a vocabulary that is to be trained, and how to get it; on the corpus
 * itself (whose documents must have been read; NULL: there is none) unless it names others; *named
 * is then the digest of those, else 0. */
bool lh_tokens_are_trained(const char *tokens);
lh_status lh_trained_tokens_open(lh_corpus *corpus, const char *tokens, uint64_t *named,
                                 lh_tokenizer **out);

/* ---- readers: each fills the corpus from what it finds ---- */

/* train/, valid/ and test/ with one document a file (searched recursively, sorted by name), or
 * train.jsonl and so on; without such folders or files those of `folder` are split 90 / 5 / 5 by a
 * hash of their names, and a single file by its length. A file of JSON lines holds many documents;
 * `field` is the name of what a line keeps them in. */
lh_status lh_corpus_read_folder(lh_corpus *corpus, const char *field, const char *folder);

/* 90 / 5 / 5 by a hash of a document's name. */
lh_split lh_split_by_name(const char *name);

/* A file of JSON lines (json_lines.h): a document a line. `split` -1: by the hash of its name and
 * line. Fails: LH_EFORMAT with file, line and field or column, LH_EIO, LH_EMEMORY. */
lh_status lh_corpus_read_lines(lh_corpus *corpus, const char *field, int split, const char *name,
                               const char *path);

/* "enwik8", "text8", "wikitext-103" and "wikitext-103-raw" in their public formats, from the folder
 * of that name. */
bool lh_corpus_is_stream(const char *name);
lh_status lh_corpus_read_stream(lh_corpus *corpus, const char *name, const char *folder);

/* One text file as a corpus: its first 90 %, then 5 % and 5 %, in documents of 64 KiB. */
lh_status lh_corpus_read_single(lh_corpus *corpus, const char *name, const char *path);

/* "books", "latex" or "code" from the embedded generator. */
bool lh_corpus_has_generator(const char *kind);
lh_status lh_corpus_read_generated(lh_corpus *corpus, const char *kind,
                                   const lh_corpus_config *config);

/* ---- where data lie ---- */

/* Folders to look for data in, in order: $LONGHAUL_DATA, then the cache folder. Writes up to two
 * paths of LH_PATH_BYTES each and how many. Fails: LH_EIO where LONGHAUL_DATA names no folder. */
enum { LH_PATH_BYTES = 4096, LH_DATA_FOLDERS = 2 };
lh_status lh_data_folders(char path[LH_DATA_FOLDERS][LH_PATH_BYTES], int *count);

/* $XDG_CACHE_HOME/longhaul or ~/.cache/longhaul; "" when neither variable is set. */
void lh_cache_folder(char path[LH_PATH_BYTES]);

/* The first of <folder>/<name> over the data folders that exists; *found is false when none does.
 * Fails as lh_data_folders. */
lh_status lh_data_find(const char *name, char path[LH_PATH_BYTES], bool *found);

/* What the CSV column `data` says. "embedded generator (books)", or "books (33 documents in
 * books/)" where `what` is "33 documents" and `path` the file or folder that was read: it is shown
 * without the data folder or, elsewhere, without the folders above it, since results travel. */
enum { LH_SOURCE_BYTES = 512 };
void lh_source_generated(char source[LH_SOURCE_BYTES], const char *kind);
void lh_source_found(char source[LH_SOURCE_BYTES], const char *name, const char *what,
                     const char *path);

bool lh_is_folder(const char *path);

/* With its parents; those that are there stay. Fails: LH_EIO. */
lh_status lh_make_folder(const char *path);

#endif
