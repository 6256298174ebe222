/* A corpus from a folder of files, one document each or many. */
#ifndef LH_DATASETS_CORPUS_FOLDER_H
#define LH_DATASETS_CORPUS_FOLDER_H

#include "datasets/text/document_store.h"

/* train/, valid/ (or validation/, val/, dev/) and test/, and nothing beside them, with one document
 * a file (searched recursively, sorted by name, unpacked
 * where it ends in ".gz"), or files called after two splits or more in whatever folder, of one or
 * of several pieces (train-00000-of-00002.jsonl, test-00.txt, wiki.valid.tokens); without such
 * folders or files those of `folder` are split 90 / 5 / 5 by a hash of their names, and a single
 * file by its length. Where validation has a folder or files and the test split has none, it is
 * read as that, too. An empty file is no document. A file of JSON lines holds many documents;
 * `field` is the name of what a line keeps them in. Fails: LH_EIO, LH_EFORMAT where some files have
 * a split's name and others have not, and as lh_corpus_read_lines. */
lh_status lh_corpus_read_folder(lh_corpus *corpus, const char *field, const char *folder);

/* The folder of a split in `folder`, "valid" or in its absence "validation", "val" or "dev"; NULL
 * where there is none, and where `folder` has neither train/ nor valid/ nor test/. Memory that runs
 * out is recorded (lh_error_since). */
const char *lh_corpus_split_folder(const char *folder, lh_split split);

/* The split that a file is called after, in whatever folder: "train.jsonl", "test-00.txt",
 * "wiki.valid.tokens" and the like; -1: none. */
int lh_corpus_named_split(const char *path);

/* A file of text as a folder with nothing else in it is read. */
lh_status lh_corpus_read_only(lh_corpus *corpus, const char *name, const char *path);

#endif
