/* Sums and maxima along an axis. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_REDUCE_H
#define LH_KERNELS_CONTRACT_REDUCE_H

#include "kernels/contract/check.h"

typedef enum lh_reduce_op { LH_REDUCE_SUM, LH_REDUCE_MAX } lh_reduce_op;

/* y[o][i] (+)= alpha * sum_a x[o][a][i], or the maximum (alpha then 1 and write LH_SET). An empty
 * axis sums to 0; its maximum is -infinity. */
typedef struct lh_reduce_args {
    lh_reduce_op op;
    int64_t outer, axis, inner;
    real alpha;
    lh_act x; /* in  [outer][axis][inner] */
    real *y;  /* out [outer][inner] */
    lh_write write;
} lh_reduce_args;

static inline lh_status lh_reduce_check(const lh_reduce_args *args) {
    const bool known = args->op == LH_REDUCE_SUM || args->op == LH_REDUCE_MAX;
    return lh_sound(lh_are_sizes(args->outer | args->axis | args->inner),
                    known && lh_is_activation(args->x));
}

/* Of y = the maximum of x along the axis: dx[o][a][i] (+)= dy[o][i] at the first a that holds it, 0
 * elsewhere. Along an axis with a NaN, where y is NaN, it is some a. */
typedef struct lh_maximum_backward_args {
    int64_t outer, axis, inner;
    const real *x;  /* in  [outer][axis][inner] */
    const real *dy; /* in  [outer][inner] */
    real *dx;       /* out [outer][axis][inner] */
    lh_write write;
} lh_maximum_backward_args;

static inline lh_status lh_maximum_backward_check(const lh_maximum_backward_args *args) {
    return lh_sound(lh_are_sizes(args->outer | args->axis | args->inner), true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(reduce, args->x.dtype)
LH_KERNEL(maximum_backward, LH_REAL)
#endif
