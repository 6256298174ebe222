/* What to know of a corpus before training on it. */
#ifndef LH_DATASETS_CORPUS_REMARK_H
#define LH_DATASETS_CORPUS_REMARK_H

#include "datasets/text/document_store.h"
#include "harness/engine/text.h"

/* Adds lines about a corpus that was read with this configuration: how many documents each split
 * has, how they were found, and which options that were set are the generators' alone. Of a
 * generator's and a plug-in's there is nothing to say. */
lh_status lh_corpus_remark(const lh_corpus *corpus, const lh_corpus_config *config, lh_text *out);

#endif
