/* Element by element: sums and products, functions, random masks and numbers. Part of the contract
 * (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_ELEMENTWISE_H
#define LH_KERNELS_CONTRACT_ELEMENTWISE_H

#include "kernels/contract/check.h"
#include "kernels/random.h"

/* y[i] (+)= alpha * a[i] + beta * b[i], i < count. y may be a or b. a is of the type of y; b need
 * not be: a stream of reals takes a branch in bf16. */
typedef struct lh_linear_combination_args {
    int64_t count;
    real alpha, beta;
    lh_act a; /* in */
    lh_act b; /* in  optional */
    lh_act y; /* out */
    lh_write write;
} lh_linear_combination_args;

static inline lh_status lh_linear_combination_check(const lh_linear_combination_args *args) {
    const bool types = lh_are_alike(args->a, args->y) && lh_is_activation(args->b);
    return lh_sound(lh_are_sizes(args->count), types);
}

typedef enum lh_binary_op {
    LH_BINARY_ADD,
    LH_BINARY_SUB,
    LH_BINARY_MUL,
    LH_BINARY_DIV
} lh_binary_op;

/* How b spreads over a [rows][columns]. */
typedef enum lh_spread {
    LH_SPREAD_NONE,   /* b is [rows][columns] */
    LH_SPREAD_ROWS,   /* b is [columns], the same for every row */
    LH_SPREAD_COLUMNS /* b is [rows], the same for every column */
} lh_spread;

/* y[r][c] (+)= a[r][c] op b[...]. y may be a. */
typedef struct lh_binary_args {
    lh_binary_op op;
    lh_spread spread;
    int64_t rows, columns;
    const real *a; /* in  [rows][columns] */
    const real *b; /* in  see spread */
    real *y;       /* out [rows][columns] */
    lh_write write;
} lh_binary_args;

static inline lh_status lh_binary_check(const lh_binary_args *args) {
    const bool op = args->op >= LH_BINARY_ADD && args->op <= LH_BINARY_DIV;
    const bool spread = args->spread >= LH_SPREAD_NONE && args->spread <= LH_SPREAD_COLUMNS;
    return lh_sound(lh_are_sizes(args->rows | args->columns), op && spread);
}

/* y[i] = f(x[i]). y may be x. */
typedef struct lh_unary_forward_args {
    lh_unary_op op;
    int64_t count;
    lh_act x; /* in */
    lh_act y; /* out */
} lh_unary_forward_args;

static inline lh_status lh_unary_forward_check(const lh_unary_forward_args *args) {
    const bool known = lh_unary_known(args->op);
    return lh_sound(lh_are_sizes(args->count), known && lh_are_alike(args->x, args->y));
}

/* Whether f' is made of y = f(x); if not, of x. */
static inline bool lh_unary_reads_output(lh_unary_op op) {
    return op == LH_UNARY_IDENTITY || op == LH_UNARY_RELU || op == LH_UNARY_TANH ||
           op == LH_UNARY_SIGMOID || op == LH_UNARY_EXP || op == LH_UNARY_SQRT ||
           op == LH_UNARY_RSQRT || op == LH_UNARY_ELU;
}

/* dx[i] (+)= dy[i] * f'(x[i]). Of x and y only that is read which lh_unary_reads_output tells; the
 * other may be NULL. dx may be dy under LH_SET. */
typedef struct lh_unary_backward_args {
    lh_unary_op op;
    int64_t count;
    lh_act x;  /* in */
    lh_act y;  /* in */
    lh_act dy; /* in */
    lh_act dx; /* out */
    lh_write write;
} lh_unary_backward_args;

static inline lh_status lh_unary_backward_check(const lh_unary_backward_args *args) {
    const lh_dtype dtype = args->dy.dtype;
    const bool alike =
        lh_are_alike(args->dy, args->dx) && lh_agrees(args->x, dtype) && lh_agrees(args->y, dtype);
    return lh_sound(lh_are_sizes(args->count), lh_unary_known(args->op) && alike);
}

/* Dropout over [outer][length][width]: y (+)= keep ? x / (1 - rate) : 0.
 * Element (o, t, d) draws word first + (o * length + t) * width + d of `key`, or with a period word
 * (t % period) * width + d: that shares one mask over the batch and repeats it in time (the "tiled"
 * dropout of the Block-Recurrent Transformer's code). The gradient is the same kernel on dy. y may
 * be x under LH_SET. */
typedef struct lh_dropout_args {
    int64_t outer, length, width, period;
    double rate;
    const lh_random_key *key; /* in, on the device */
    lh_act x;                 /* in */
    lh_act y;                 /* out */
    lh_write write;
    int64_t first; /* words that batch rows of other processes draw before these */
} lh_dropout_args;

static inline lh_status lh_dropout_check(const lh_dropout_args *args) {
    const bool drops = args->rate >= 0 && args->rate < 1 && args->period >= 0;
    return lh_sound(lh_are_sizes(args->outer | args->length | args->width),
                    drops && lh_are_alike(args->x, args->y));
}

/* x[i] = element n = first + i of a stream of standard normal numbers under `key`: by Box and
 * Muller (1958) from words 2 n and 2 n + 1, sqrt(-2 ln u) cos(2 pi v) with u and v = (word + 1/2) /
 * 2^32. */
typedef struct lh_normal_args {
    int64_t count;
    const lh_random_key *key; /* in, on the device */
    real *x;                  /* out */
    int64_t first;            /* elements that batch rows of other processes draw before these */
} lh_normal_args;

static inline lh_status lh_normal_check(const lh_normal_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL(linear_combination, args->y.dtype | args->b.dtype)
LH_KERNEL(binary, LH_REAL)
LH_KERNEL(unary_forward, args->x.dtype)
LH_KERNEL(unary_backward, args->dy.dtype)
LH_KERNEL(dropout, args->x.dtype)
LH_KERNEL(normal, LH_REAL)
#endif
