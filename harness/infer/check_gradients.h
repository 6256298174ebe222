/* The part of a model's check that goes backward, for the files of this folder alone. */
#ifndef LH_INFER_CHECK_GRADIENTS_H
#define LH_INFER_CHECK_GRADIENTS_H

#include "harness/infer/check_bench.h"

/* The gradients of the last segment's loss, as in training, behind those before it. They lie with
 * the parameters; clear them. `auxiliary`: those of what the model minimises beside it, too. */
lh_status lh_check_differentiate(lh_check_bench *bench, bool auxiliary);

#endif
