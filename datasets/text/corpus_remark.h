/* What to know of a corpus before training on it. */
#ifndef LH_DATASETS_CORPUS_REMARK_H
#define LH_DATASETS_CORPUS_REMARK_H

#include "datasets/text/document_store.h"
#include "harness/engine/text.h"

/* Adds lines about a corpus that was read with this configuration: how many documents each split
 * has. Of a generator's there is nothing to say. */
lh_status lh_corpus_remark(const lh_corpus *corpus, lh_text *out);

#endif
