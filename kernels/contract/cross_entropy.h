/* What a prediction costs. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_CROSS_ENTROPY_H
#define LH_KERNELS_CONTRACT_CROSS_ENTROPY_H

#include "kernels/contract/check.h"

/* Softmax cross-entropy of one chunk of rows, value and gradient in one pass.
 *
 *   loss[r] = weight[r] * (log sum_v exp(scale * x[r][v]) - scale * x[r][target[r]])      (nats)
 *   dx[r][v] = weight[r] * gradient_scale * scale * (softmax(scale * x[r])[v] - [v == target[r]])
 *
 * The gradient is written when `gradient` is set: over the logits, or to dx, which may be in bf16,
 * and the logits stay. A row of weight 0 has loss 0, gradient 0, and its target is not read.
 * correct[r] is 1 when the target has the largest logit (first of equals) and the weight is not 0.
 * An invalid target under a weight other than 0 gives LH_EOPTION.
 *
 * Rows of x and dx begin `leading` elements apart. What lies behind a row's logits is not read; in
 * a gradient it gets zeros, so that products may go over it. */
typedef struct lh_cross_entropy_args {
    int64_t rows, vocabulary, leading; /* leading: at least vocabulary */
    real scale;
    real *x;               /* in [rows][leading]: logits before scale; out without dx */
    const int32_t *target; /* in  [rows] */
    const real *weight;    /* in  optional [rows]: 1 each */
    bool gradient;
    lh_act dx;                  /* out optional [rows][leading] */
    const real *gradient_scale; /* in  optional: one number on the device, default 1 */
    real *loss;                 /* out [rows] */
    real *correct;              /* out optional [rows] */
} lh_cross_entropy_args;

static inline lh_status lh_cross_entropy_check(const lh_cross_entropy_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->vocabulary) &&
                        args->leading >= args->vocabulary,
                    lh_is_activation(args->dx));
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL(cross_entropy, args->dx.dtype)
#endif
