/* What stands between a task and a model that was not made for it. Models that read tokens read
 * vectors, and the other way round; models without an encoder read a source before their target.
 * Nothing in a model knows of it, but that lh_gather takes vectors, too.
 *
 * A pair of model and task that fits by itself has no adapter (ways 0) and runs as it always did.
 * docs/fidelity.md: an adapted pair is ours, no paper's. */
#ifndef LH_TRAIN_ADAPTER_H
#define LH_TRAIN_ADAPTER_H

#include "harness/train/adapter_pass.h"

/* What each of `ways` does, in words; NULL past the last. For i = 0, 1, 2 ... */
const char *lh_adapter_text(uint32_t ways, int i);

/* Why no adapter makes this pair possible; NULL: it is. */
const char *lh_adapter_refuses(const lh_model_class *class, const lh_model_setup *setup);

/* Which ways a possible pair needs; 0: none. */
uint32_t lh_adapter_ways(const lh_model_class *class, const lh_model_setup *setup);

/* lh_model_create with the adapter that the pair needs; `options` (optional) say how wide the model
 * is. Fails: LH_EOPTION with the reason and the models that would do. */
lh_status lh_model_create_for(const lh_model_class *class, const lh_options *options,
                              const lh_model_setup *setup, lh_model **out);

/* What the class says (lh_model_class.check) of a task's segments of `length`. */
lh_status lh_model_check(const lh_model *model, int64_t length);

#endif
