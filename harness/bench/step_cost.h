/* What a training step calls, gone through with shapes only: no arithmetic, no memory of its size.
 */
#ifndef LH_BENCH_STEP_COST_H
#define LH_BENCH_STEP_COST_H

#include "harness/train/session.h"
#include "kernels/cost/ledger.h"

typedef struct lh_step_cost {
    lh_ledger ledger;   /* calls of one step, such as all are behind the first */
    int64_t tokens;     /* of the step */
    double model_flops; /* of the step as the model counts them: three times its forward ones */
    int64_t peak_bytes; /* of the pool, without workspace */
} lh_step_cost;

/* Of the session that `spec` describes; its `device` and `opened` are not read. What depends on the
 * data is as for token 0. Fails like lh_session_create and lh_train_step. Clear *out in any case.
 */
lh_status lh_step_cost_count(const lh_session_spec *spec, lh_step_cost *out);
void lh_step_cost_clear(lh_step_cost *cost);

#endif
