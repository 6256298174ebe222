/* Clipping and updates of parameters. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_UPDATE_H
#define LH_KERNELS_CONTRACT_UPDATE_H

#include "kernels/contract/check.h"

/* y[0] (+)= sum x[i]^2, in double on the CPU, rounded once. */
typedef struct lh_sum_squares_args {
    int64_t count;
    const real *x; /* in */
    double *y;     /* out [1] on the device */
    lh_write write;
} lh_sum_squares_args;

static inline lh_status lh_sum_squares_check(const lh_sum_squares_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}

/* factor[0] = min(1, max_norm / sqrt(sum_squares[0])), 1 when max_norm is 0. */
typedef struct lh_clip_factor_args {
    const double *sum_squares; /* in */
    double max_norm;
    real *factor; /* out */
} lh_clip_factor_args;

static inline lh_status lh_clip_factor_check(const lh_clip_factor_args *args) {
    (void)args;
    return LH_OK;
}

/* What changes from step to step for an optimizer lives in one small device struct, so that a
 * captured graph can be replayed. */
typedef struct lh_optimizer_step {
    double rate;  /* learning rate of this step */
    int64_t step; /* 0-based */
} lh_optimizer_step;

/* g' = factor * g + weight_decay * x; m = momentum * m + g'; x -= rate * m (m absent: x -= rate *
 * g'). */
typedef struct lh_sgd_args {
    int64_t count;
    const lh_optimizer_step *step; /* in, on the device */
    double momentum, weight_decay;
    const real *factor; /* in optional: gradient factor from clipping */
    const real *g;      /* in */
    real *x, *m;        /* in out; m optional */
} lh_sgd_args;

static inline lh_status lh_sgd_check(const lh_sgd_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}

/* Adam (Kingma and Ba 2015, algorithm 1) with bias correction; decoupled: AdamW (Loshchilov and
 * Hutter 2019, algorithm 2), x -= rate * weight_decay * x, else the decay joins the gradient. */
typedef struct lh_adam_args {
    int64_t count;
    const lh_optimizer_step *step; /* in, on the device */
    double beta1, beta2, epsilon, weight_decay;
    bool decoupled;
    const real *factor; /* in optional */
    const real *g;      /* in */
    real *x, *m, *v;    /* in out */
} lh_adam_args;

static inline lh_status lh_adam_check(const lh_adam_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}

/* Adafactor (Shazeer and Stern 2018, algorithms 4-5) in the form of the paper's own code base, for
 * a tensor seen as [outer][rows][columns] with the last two the factored axes: beta2 = 1 - (t +
 * 1)^-decay; G = g^2 + 1e-30 factored: row = beta2 row + (1 - beta2) mean_columns(G); col likewise
 * over rows; y = g * (row / mean_rows(row))^-1/2 * col^-1/2 else:     v = beta2 v + (1 - beta2) G;
 * y = g * v^-1/2 y /= max(1, rms(y) / clip); u = rate * max(rms(x), 1e-3) * y (without
 * parameter_scale: rate * y) momentum > 0: m = momentum * m + (1 - momentum) * u; x -= m; else x -=
 * u. rms is over the whole tensor. */
typedef struct lh_adafactor_args {
    int64_t outer, rows, columns;
    bool factored, parameter_scale;
    const lh_optimizer_step *step; /* in, on the device */
    double decay, clip, momentum;
    const real *factor; /* in optional */
    const real *g;      /* in     [outer][rows][columns] */
    real *x;            /* in out [outer][rows][columns] */
    real *row;          /* in out [outer][rows]    when factored */
    real *column;       /* in out [outer][columns] when factored */
    real *v;            /* in out like x           when not factored */
    real *m;            /* in out like x           when momentum > 0 */
} lh_adafactor_args;

static inline lh_status lh_adafactor_check(const lh_adafactor_args *args) {
    return lh_sound(lh_are_sizes(args->outer | args->rows | args->columns), true);
}

/* The same for the first `count` tensors of the list, which share no memory that is written. */
enum { LH_ADAFACTOR_TENSORS = 16 };

typedef struct lh_adafactor_all_args {
    int64_t count; /* 0..LH_ADAFACTOR_TENSORS */
    lh_adafactor_args tensor[LH_ADAFACTOR_TENSORS];
} lh_adafactor_all_args;

static inline lh_status lh_adafactor_all_check(const lh_adafactor_all_args *args) {
    if (args->count < 0 || args->count > LH_ADAFACTOR_TENSORS) return LH_ESHAPE;
    lh_status status = LH_OK;
    for (int64_t t = 0; t < args->count && status == LH_OK; ++t)
        status = lh_adafactor_check(&args->tensor[t]);
    return status;
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(sum_squares, LH_REAL)
LH_KERNEL(clip_factor, LH_REAL)
LH_KERNEL(sgd, LH_REAL)
LH_KERNEL(adam, LH_REAL)
LH_KERNEL_W(adafactor, LH_REAL)
LH_KERNEL_W(adafactor_all, LH_REAL)
#endif
