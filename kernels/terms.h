/* What ops take from models and hand on to kernels as it is: the functions of a number, what a head
 * of a recurrence encoding is, and limits. */
#ifndef LH_KERNELS_TERMS_H
#define LH_KERNELS_TERMS_H

#include "kernels/base.h"

typedef enum lh_unary_op {
    LH_UNARY_IDENTITY,
    LH_UNARY_RELU,
    LH_UNARY_GELU,       /* tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
    LH_UNARY_GELU_EXACT, /* 0.5 x (1 + erf(x / sqrt 2)) */
    LH_UNARY_TANH,
    LH_UNARY_SIGMOID,
    LH_UNARY_EXP,
    LH_UNARY_LOG,
    LH_UNARY_SQUARE,
    LH_UNARY_SQRT,
    LH_UNARY_RSQRT,   /* 1 / sqrt(x) */
    LH_UNARY_ELU,     /* x > 0 ? x : exp(x) - 1 */
    LH_UNARY_SILU,    /* x sigmoid(x) */
    LH_UNARY_SOFTPLUS /* log(1 + exp(x)) */
} lh_unary_op;

static inline bool lh_unary_known(lh_unary_op op) {
    return op >= LH_UNARY_IDENTITY && op <= LH_UNARY_SOFTPLUS;
}

/* Runs of keys of one attention. */
#define LH_KEY_SOURCES 3

/* Farther than any distance. */
#define LH_FAR ((int64_t)1 << 40)

/* Factors of the buckets of a hash. */
#define LH_LSH_FACTORS 4

/* f(t) of lag t >= 1: lambda^t, gamma^t cos(t theta), gamma^t sin(t theta). f(0) = 0. */
typedef enum lh_rem_kind { LH_REM_REGULAR, LH_REM_COSINE, LH_REM_SINE } lh_rem_kind;

/* Encoded heads of one attention. */
#define LH_REM_HEADS 32

/* The recurrence encoding matrix of one head. */
typedef struct lh_rem_head {
    lh_rem_kind kind;
    int32_t decay;    /* entry of eta (regular) or of nu; heads may share one */
    int32_t angle;    /* entry of theta; negative: pi / 4, not learned. Regular heads have none */
    int64_t dilation; /* d >= 1 */
    int64_t cutoff;   /* largest power; LH_FAR: none */
} lh_rem_head;

#endif
