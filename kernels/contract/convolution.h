/* Convolutions over time. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_CONVOLUTION_H
#define LH_KERNELS_CONTRACT_CONVOLUTION_H

#include "kernels/contract/check.h"

/* The causal convolution of each channel for itself:
 *   y[b][t][c] = bias[c] + sum over j < kernel of weight[c][j] x[b][t - kernel + 1 + j][c],
 * where the kernel - 1 tokens ahead of the first are those of `before`. */
typedef struct lh_short_convolution_forward_args {
    int64_t batch, length, width, kernel; /* kernel: 1 or more */
    const real *x;                        /* in  [batch][length][width] */
    const real *before;                   /* in  [batch][kernel - 1][width] */
    const real *weight;                   /* in  [width][kernel] */
    const real *bias;                     /* in  optional [width] */
    real *y;                              /* out [batch][length][width] */
} lh_short_convolution_forward_args;

static inline lh_status
lh_short_convolution_forward_check(const lh_short_convolution_forward_args *args) {
    const bool sizes = lh_are_sizes(args->batch | args->length | args->width);
    return lh_sound(sizes && args->kernel >= 1, true);
}

typedef struct lh_short_convolution_backward_args {
    int64_t batch, length, width, kernel;
    const real *x;      /* in  [batch][length][width] */
    const real *before; /* in  [batch][kernel - 1][width] */
    const real *weight; /* in  [width][kernel] */
    const real *dy;     /* in  [batch][length][width] */
    real *dx;           /* out optional [batch][length][width] */
    real *dweight;      /* out optional [width][kernel] */
    real *dbias;        /* out optional [width] */
    lh_write dx_write, dweight_write, dbias_write;
} lh_short_convolution_backward_args;

static inline lh_status
lh_short_convolution_backward_check(const lh_short_convolution_backward_args *args) {
    const bool sizes = lh_are_sizes(args->batch | args->length | args->width);
    return lh_sound(sizes && args->kernel >= 1, true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(short_convolution_forward, LH_REAL)
LH_KERNEL_W(short_convolution_backward, LH_REAL)
#endif
