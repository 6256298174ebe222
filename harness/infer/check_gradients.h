/* The part of a model's check that goes backward, for the files of this folder alone. */
#ifndef LH_INFER_CHECK_GRADIENTS_H
#define LH_INFER_CHECK_GRADIENTS_H

#include "harness/infer/check_bench.h"

/* The gradients of the last segment's loss, as in training, behind those before it. They lie with
 * the parameters; clear them. `auxiliary`: those of what the model minimises beside it, too. */
lh_status lh_check_differentiate(lh_check_bench *bench, bool auxiliary);

/* The gradient of every parameter against central differences of the task's loss, along itself and
 * along random directions: in float within 10 %, where rounding lets so much be told, in double
 * within 1e-4. A wrong sign is off by 200 %. */
lh_status lh_check_gradients(lh_check_bench *bench, lh_finding *out);

/* Whether a gradient comes to every parameter. */
lh_status lh_check_reach(lh_check_bench *bench, lh_finding *out);

#endif
