/* Corpora that the embedded generator writes. */
#ifndef LH_DATASETS_CORPUS_GENERATED_H
#define LH_DATASETS_CORPUS_GENERATED_H

#include "datasets/text/document_store.h"

/* "books", "latex" and "code"; NULL-terminated. */
extern const char *const lh_corpus_generators[];

/* One of them. Fails: LH_EOPTION with the nearest name. */
bool lh_corpus_has_generator(const char *kind);
lh_status lh_corpus_read_generated(lh_corpus *corpus, const char *kind,
                                   const lh_corpus_config *config);

#endif
