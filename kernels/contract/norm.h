/* What brings rows to a common size: norms and the softmax. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_NORM_H
#define LH_KERNELS_CONTRACT_NORM_H

#include "kernels/contract/check.h"

/* Layer normalisation over the last axis (Ba et al. 2016, eqs. 3-4).
 *   y[r][i] = gain[i] * (x[r][i] - mean[r]) * rstd[r] + bias[i],  rstd = 1 / sqrt(var + epsilon)
 * An empty row has neither: its mean and rstd are NaN. */
typedef struct lh_layer_norm_forward_args {
    int64_t rows, width;
    real epsilon;
    lh_act x;         /* in  [rows][width] */
    const real *gain; /* in  [width] */
    const real *bias; /* in  optional [width] */
    lh_act y;         /* out [rows][width]; may be x */
    real *mean;       /* out saved [rows] */
    real *rstd;       /* out saved [rows] */
} lh_layer_norm_forward_args;

static inline lh_status lh_layer_norm_forward_check(const lh_layer_norm_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), lh_are_alike(args->x, args->y));
}

typedef struct lh_layer_norm_backward_args {
    int64_t rows, width;
    lh_act x;         /* in  [rows][width] */
    const real *gain; /* in  [width] */
    const real *mean; /* in  [rows] */
    const real *rstd; /* in  [rows] */
    lh_act dy;        /* in  [rows][width] */
    lh_act dx;        /* out optional [rows][width] */
    lh_write dx_write;
    real *dgain; /* out optional [width] */
    lh_write dgain_write;
    real *dbias; /* out optional [width] */
    lh_write dbias_write;
} lh_layer_norm_backward_args;

static inline lh_status lh_layer_norm_backward_check(const lh_layer_norm_backward_args *args) {
    const bool alike = lh_are_alike(args->x, args->dy) && lh_agrees(args->dx, args->x.dtype);
    return lh_sound(lh_are_sizes(args->rows | args->width), alike);
}

/* Root-mean-square normalisation: y = gain * x * rstd, rstd = 1 / sqrt(mean(x^2) + epsilon),
 * NaN of an empty row. */
typedef struct lh_rms_norm_forward_args {
    int64_t rows, width;
    real epsilon;
    lh_act x;         /* in  [rows][width] */
    const real *gain; /* in  [width] */
    lh_act y;         /* out [rows][width]; may be x */
    real *rstd;       /* out saved [rows] */
} lh_rms_norm_forward_args;

static inline lh_status lh_rms_norm_forward_check(const lh_rms_norm_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), lh_are_alike(args->x, args->y));
}

typedef struct lh_rms_norm_backward_args {
    int64_t rows, width;
    lh_act x;         /* in  [rows][width] */
    const real *gain; /* in  [width] */
    const real *rstd; /* in  [rows] */
    lh_act dy;        /* in  [rows][width] */
    lh_act dx;        /* out optional [rows][width] */
    lh_write dx_write;
    real *dgain; /* out optional [width] */
    lh_write dgain_write;
} lh_rms_norm_backward_args;

static inline lh_status lh_rms_norm_backward_check(const lh_rms_norm_backward_args *args) {
    const bool alike = lh_are_alike(args->x, args->dy) && lh_agrees(args->dx, args->x.dtype);
    return lh_sound(lh_are_sizes(args->rows | args->width), alike);
}

/* Unit length of each row: y = x * rnorm, rnorm = 1 / sqrt(sum(x^2) + epsilon)
 * (query/key normalisation, Henry et al. 2020). Rows are head vectors, so width is small. */
typedef struct lh_unit_norm_forward_args {
    int64_t rows, width;
    real epsilon;
    lh_act x;    /* in  [rows][width] */
    lh_act y;    /* out [rows][width]; may be x */
    real *rnorm; /* out saved [rows] */
} lh_unit_norm_forward_args;

static inline lh_status lh_unit_norm_forward_check(const lh_unit_norm_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), lh_are_alike(args->x, args->y));
}

/* dx (+)= rnorm * (dy - y (y . dy)). dx may be dy under LH_SET. */
typedef struct lh_unit_norm_backward_args {
    int64_t rows, width;
    lh_act y;          /* in [rows][width] */
    const real *rnorm; /* in [rows] */
    lh_act dy;         /* in [rows][width] */
    lh_act dx;         /* out [rows][width] */
    lh_write write;
} lh_unit_norm_backward_args;

static inline lh_status lh_unit_norm_backward_check(const lh_unit_norm_backward_args *args) {
    const bool alike = lh_are_alike(args->y, args->dy) && args->dx.dtype == args->y.dtype;
    return lh_sound(lh_are_sizes(args->rows | args->width), alike);
}

/* y[r] = softmax(x[r]). y may be x. A row of -infinity gives zeros. */
typedef struct lh_softmax_forward_args {
    int64_t rows, width;
    const real *x; /* in  [rows][width] */
    real *y;       /* out [rows][width] */
} lh_softmax_forward_args;

static inline lh_status lh_softmax_forward_check(const lh_softmax_forward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

/* dx (+)= y * (dy - sum(y * dy)). */
typedef struct lh_softmax_backward_args {
    int64_t rows, width;
    const real *y;  /* in [rows][width] */
    const real *dy; /* in [rows][width] */
    real *dx;       /* out [rows][width] */
    lh_write write;
} lh_softmax_backward_args;

static inline lh_status lh_softmax_backward_check(const lh_softmax_backward_args *args) {
    return lh_sound(lh_are_sizes(args->rows | args->width), true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL(layer_norm_forward, args->x.dtype)
LH_KERNEL_W(layer_norm_backward, args->x.dtype)
LH_KERNEL(rms_norm_forward, args->x.dtype)
LH_KERNEL_W(rms_norm_backward, args->x.dtype)
LH_KERNEL(unit_norm_forward, args->x.dtype)
LH_KERNEL(unit_norm_backward, args->y.dtype)
LH_KERNEL(softmax_forward, LH_REAL)
LH_KERNEL(softmax_backward, LH_REAL)
#endif
