/* A corpus from a file of JSON lines, a document a line. */
#ifndef LH_DATASETS_CORPUS_LINES_H
#define LH_DATASETS_CORPUS_LINES_H

#include "datasets/text/document_store.h"

/* Reads a file of JSON lines (json_lines.h); `field` is what a line keeps its document in. `split`
 * -1: by the hash of its name and line. Fails: LH_EFORMAT with file, line and field or column,
 * LH_EIO, LH_EMEMORY. */
lh_status lh_corpus_read_lines(lh_corpus *corpus, const char *field, int split, const char *name,
                               const char *path);

#endif
