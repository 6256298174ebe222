/* Optimizers: one update of all parameters from their gradients, moments included.
 *
 * SGD, Adam and AdamW treat all parameters as one vector and need one launch (or one per run of
 * parameters with the same decay flag, when there is weight decay). Adafactor takes a list of
 * tensors at a time, because its statistics belong to a tensor. Nothing is allocated by an update,
 * and nothing is read back from the device: the rate, the step and the clipping factor live there.
 */
#ifndef LH_TRAIN_OPTIMIZER_H
#define LH_TRAIN_OPTIMIZER_H

#include "harness/engine/params.h"

typedef enum lh_optimizer_kind {
    LH_OPTIMIZER_SGD,
    LH_OPTIMIZER_ADAM,
    LH_OPTIMIZER_ADAMW,
    LH_OPTIMIZER_ADAFACTOR
} lh_optimizer_kind;

typedef struct lh_optimizer_spec {
    lh_optimizer_kind kind;
    double clip;     /* largest global gradient norm; 0: no clipping */
    double momentum; /* sgd and adafactor; 0: no buffer */
    double beta1, beta2, epsilon;
    double weight_decay;        /* of parameters declared with decay; not adafactor */
    double second_moment_decay; /* adafactor: beta2 = 1 - (t + 1)^-this */
    double update_clip;         /* adafactor: largest rms of an update; 0: no clipping */
    bool parameter_scale;       /* adafactor: updates relative to the parameter's rms */
    int64_t factor_minimum;     /* adafactor: both factored axes have at least this size */
} lh_optimizer_spec;

typedef struct lh_optimizer lh_optimizer;

/* Borrows the parameters, which are allocated and outlive the optimizer. Moments start as zeros.
 * Gives; destroy it. Fails: LH_EOPTION for weight decay with adafactor and for averages that
 * forget nothing (a beta or adafactor's momentum of 1), LH_EMEMORY. */
lh_status lh_optimizer_create(const lh_optimizer_spec *spec, const lh_params *params,
                              lh_optimizer **out);
void lh_optimizer_destroy(lh_optimizer *optimizer);

/* One update with learning rate `rate` at 0-based `step`. Gradients must be settled
 * (lh_params_settle_gradients); they are not changed. */
lh_status lh_optimizer_update(lh_optimizer *optimizer, double rate, int64_t step);

/* Global norm of the present gradients, before clipping. Synchronises. */
lh_status lh_optimizer_gradient_norm(lh_optimizer *optimizer, double *norm);

/* Moments in a fixed order, for checkpoints. Lends. */
int lh_optimizer_moment_count(const lh_optimizer *optimizer);
lh_tensor *lh_optimizer_moment(const lh_optimizer *optimizer, int index);

/* How Adafactor sees a tensor: factored over its last two axes when it has at least two axes, its
 * two largest are the last two, and both reach `minimum`; axes before them are a batch. The
 * reference factors the two largest axes wherever they stand; a tensor whose two largest are not
 * the last two is treated as unfactored here, which is the exact (more costly) second moment. Which
 * of the two axes counts as row does not matter: the estimate is symmetric in them. */
typedef struct lh_factoring {
    bool factored;
    int64_t outer, rows, columns;
} lh_factoring;

/* Of a tensor of this rank and shape [rank]. */
lh_factoring lh_adafactor_factoring(int rank, const int64_t *shape, int64_t minimum);

#endif
