/* Corpora: documents of tokens in three splits. What tasks include. */
#ifndef LH_DATASETS_CORPUS_H
#define LH_DATASETS_CORPUS_H

#include "datasets/text/document_store.h"

/* Looks for the data in $LONGHAUL_DATA, then in the cache folder ($XDG_CACHE_HOME/longhaul or
 * ~/.cache/longhaul). A name that is not found there but has a generator twin ("books", "latex",
 * "code") uses the generator, and lh_corpus_source says so. Gives; destroy it. Fails: LH_EIO naming
 * where it looked and the `longhaul data fetch` line that would get it, or LONGHAUL_DATA where it
 * names no folder. */
lh_status lh_corpus_open(const lh_corpus_config *config, lh_corpus **out);

#endif
