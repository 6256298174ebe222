/* Finds what a corpus is made of, and reads it in whatever form it is there. */
#ifndef LH_DATASETS_CORPUS_READ_H
#define LH_DATASETS_CORPUS_READ_H

#include "datasets/text/document_store.h"

/* Gives *out, a corpus with the documents that config->name stands for, and without a tokenizer;
 * destroy it. Fails as lh_corpus_open. */
lh_status lh_corpus_read(const lh_corpus_config *config, lh_corpus **out);

/* The same, into a corpus that is there. */
lh_status lh_corpus_fill(lh_corpus *corpus, const lh_corpus_config *config);

#endif
