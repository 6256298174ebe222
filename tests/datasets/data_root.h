/* A data folder of a test's own. */
#ifndef LH_TESTS_DATASETS_DATA_ROOT_H
#define LH_TESTS_DATASETS_DATA_ROOT_H

#include <stdbool.h>
#include <stddef.h>

#include "datasets/text/corpus.h"

enum { DATA_ROOT_BYTES = 512 };
extern char data_root[DATA_ROOT_BYTES];

/* LONGHAUL_DATA as it was before the first test. */
const char *given_data(void);

/* Makes a new, empty folder, data_root, and lets LONGHAUL_DATA point to it. */
bool make_root(void);

/* Writes the file data_root/<name>, whose folders are made. */
void write_text(const char *name, const void *text, size_t bytes);

/* Bytes that this process has read, maps not counted; -1 where the system does not say. */
long long bytes_read(void);

/* Opens the corpus that options such as "name=mine split_bytes=8" say. Gives. */
lh_status open_corpus(const char *text, lh_corpus **out);

#endif
