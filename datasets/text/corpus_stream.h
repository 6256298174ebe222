/* Corpora that are one long text, or one for each split. */
#ifndef LH_DATASETS_CORPUS_STREAM_H
#define LH_DATASETS_CORPUS_STREAM_H

#include "datasets/text/document_store.h"

/* "enwik8", "text8", "wikitext-103" and "wikitext-103-raw" in their public formats, from the folder
 * of that name. */
bool lh_corpus_is_stream(const char *name);
lh_status lh_corpus_read_stream(lh_corpus *corpus, const char *name, const char *folder);

/* One text file as a corpus: its first 90 %, then 5 % and 5 %, in documents of 64 KiB. */
lh_status lh_corpus_read_single(lh_corpus *corpus, const char *name, const char *path);

#endif
