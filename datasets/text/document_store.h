/* A corpus as the documents that it holds, in three splits: readers add them, whoever has a
 * tokenizer asks for their tokens. */
#ifndef LH_DATASETS_DOCUMENT_STORE_H
#define LH_DATASETS_DOCUMENT_STORE_H

#include "datasets/text/corpus_config.h"
#include "datasets/tokens/tokenizer.h"
#include "harness/engine/split.h"

/* One document. Where the limits cut a text, a character that is cut through is left out where the
 * tokenizer reads characters. Tokens are encoded on first use and then stay. `bytes` and `words`
 * are those of the raw text and make bits per byte and word perplexity: words are runs of non-blank
 * characters, of a piece of a document those that begin in it. */
typedef struct lh_document {
    const char *name; /* file name, or "books/17" from a generator */
    const int32_t *tokens;
    /* Of a task that does not ask for the next token: what each token is to be answered with, or
     * LH_UNLABELLED (datasets/generate/episode.h); NULL: the next token. */
    const int32_t *labels;
    int64_t count;
    /* Of a text that is to be evaluated, what lh_tokenizer_unspelled says, is the last. A part of a
     * document has its share of each. */
    double bytes, words, unspelled;
} lh_document;

typedef struct lh_corpus lh_corpus;

/* A corpus without documents, for texts that are added to it; `limits` says how much of them is
 * used (its name and tokenizer say nothing here), NULL: all. Gives; destroy it. */
lh_status lh_corpus_create(const lh_corpus_config *limits, lh_corpus **out);
void lh_corpus_destroy(lh_corpus *corpus); /* NULL is allowed */

/* ---- adding ---- */

/* Adds a document whose text is read from `path` on first use. `bytes` is its size. */
lh_status lh_corpus_add_file(lh_corpus *corpus, lh_split split, const char *name, const char *path,
                             int64_t bytes);

/* Adds a document; the corpus takes `text` over (free()) in any case. */
lh_status lh_corpus_add_text(lh_corpus *corpus, lh_split split, const char *name, char *text,
                             size_t bytes);

/* Adds a document whose text is that of a gzip file, which is unpacked now; none where it is empty.
 */
lh_status lh_corpus_add_packed(lh_corpus *corpus, lh_split split, const char *name,
                               const char *path);

/* Adds what lies from `begin` to `end` of a text of so many bytes; copies it. */
lh_status lh_corpus_add_part(lh_corpus *corpus, lh_split split, const char *name, const char *text,
                             size_t bytes, size_t begin, size_t end);

/* Ends the adding: what files were found to hold is kept for the next time. */
void lh_corpus_keep_digests(lh_corpus *corpus);

/* From now on every line end counts as a word: the published word counts of WikiText have an <eos>
 * for each (217,646 and 245,569 in the validation and test splits). */
void lh_corpus_count_lines(lh_corpus *corpus);

/* Names a file that the documents come from, where that is not what was asked for; the first one
 * counts. lh_corpus_noted_file lends it, NULL when there is none. */
lh_status lh_corpus_note_file(lh_corpus *corpus, const char *path);
const char *lh_corpus_noted_file(const lh_corpus *corpus);

/* Adds a line on how the documents were found; lh_corpus_notes lends them all, NULL for none. */
lh_status lh_corpus_add_note(lh_corpus *corpus, const char *line);
const char *lh_corpus_notes(const lh_corpus *corpus);

/* Takes over what lh_corpus_source says. */
void lh_corpus_set_source(lh_corpus *corpus, char *source);

/* Takes the tokenizer over; `digest` of its vocabulary becomes part of the corpus' unless it is 0.
 */
void lh_corpus_set_tokenizer(lh_corpus *corpus, lh_tokenizer *tokenizer, uint64_t digest);

/* 90 / 5 / 5 by a hash of a document's name. */
lh_split lh_split_by_name(const char *name);

/* ---- reading ---- */

const lh_tokenizer *lh_corpus_tokenizer(const lh_corpus *corpus);
/* "books (33 documents in books/)" or "embedded generator (books)": goes into the CSV column
 * `data`. */
const char *lh_corpus_source(const lh_corpus *corpus);
/* 64-bit digest for the run's identity: of each document used its split, name and the content of
 * the file or text that it is of, and of the vocabulary. Where the data lie is no part of it. */
uint64_t lh_corpus_digest(const lh_corpus *corpus);
int64_t lh_corpus_documents(const lh_corpus *corpus, lh_split split);
/* Lends until the corpus is destroyed. */
lh_status lh_corpus_document(lh_corpus *corpus, lh_split split, int64_t index, lh_document *out);
/* Shows visit(to, text, bytes) the raw text of a document, which is lent for that call. A file is
 * read once for documents of it that are shown, or whose tokens are asked for, in order. */
lh_status lh_corpus_show_text(lh_corpus *corpus, lh_split split, int64_t index,
                              lh_text_visit *visit, void *to);

#endif
