/* Elementwise functions and their derivatives, for loops that fix `op` and so vectorise. */
#ifndef LH_KERNELS_CPU_UNARY_MATH_H
#define LH_KERNELS_CPU_UNARY_MATH_H

#include "kernels/cpu/act.h"
#include "kernels/cpu/vector_math.h"
#include "kernels/kernels.h"

#define LH_SQRT_2_OVER_PI  LH_R(0.7978845608028654)
#define LH_SQRT_1_OVER_2PI LH_R(0.3989422804014327)
#define LH_GELU_CUBIC      LH_R(0.044715)

/* Beyond this the Gaussian weight of GELU is 0 or 1 to every digit, and x^3 is still harmless. */
#define LH_GELU_FAR LH_R(40)

/* exp, sqrt and the like in the compute type. */
#ifdef LH_REAL_DOUBLE
#define LH_REAL_MATH(name) name
#else
#define LH_REAL_MATH(name) name##f
#endif

/* Every op, for switches that give each its own loop. */
#define LH_UNARY_OPS(X)                                                                            \
    X(LH_UNARY_IDENTITY)                                                                           \
    X(LH_UNARY_RELU)                                                                               \
    X(LH_UNARY_GELU)                                                                               \
    X(LH_UNARY_GELU_EXACT)                                                                         \
    X(LH_UNARY_TANH)                                                                               \
    X(LH_UNARY_SIGMOID)                                                                            \
    X(LH_UNARY_EXP)                                                                                \
    X(LH_UNARY_LOG)                                                                                \
    X(LH_UNARY_SQUARE)                                                                             \
    X(LH_UNARY_SQRT)                                                                               \
    X(LH_UNARY_RSQRT)                                                                              \
    X(LH_UNARY_ELU)                                                                                \
    X(LH_UNARY_SILU)                                                                               \
    X(LH_UNARY_SOFTPLUS)

static inline real lh_gelu_clamp(real x) {
    const real low = x < -LH_GELU_FAR ? -LH_GELU_FAR : x;
    return low > LH_GELU_FAR ? LH_GELU_FAR : low;
}

/* (1 + tanh(u)) / 2 = sigmoid(2u): no cancellation where the tail is small. */
static inline real lh_gelu_weight(real x) {
    return lh_sigmoid(LH_R(2) * LH_SQRT_2_OVER_PI * x * (LH_R(1) + LH_GELU_CUBIC * x * x));
}

static inline real lh_gelu_slope(real x) {
    const real near = lh_gelu_clamp(x);
    const real weight = lh_gelu_weight(near);
    const real inner = LH_SQRT_2_OVER_PI * (LH_R(1) + LH_R(3) * LH_GELU_CUBIC * near * near);
    return weight + LH_R(2) * near * weight * (LH_R(1) - weight) * inner;
}

static inline real lh_gelu_exact(real x) {
    const real near = lh_gelu_clamp(x);
    return x * lh_normal_below(near, lh_exp(LH_R(-0.5) * near * near));
}

static inline real lh_gelu_exact_slope(real x) {
    const real near = lh_gelu_clamp(x), bell = lh_exp(LH_R(-0.5) * near * near);
    return lh_normal_below(near, bell) + near * LH_SQRT_1_OVER_2PI * bell;
}

/* Nothing cancels where x is small, nothing overflows where it is large. */
static inline real lh_softplus(real x) {
    const real size = x < LH_R(0) ? -x : x;
    return (x > LH_R(0) ? x : LH_R(0)) + LH_REAL_MATH(log1p)(lh_exp(-size));
}

static inline real lh_silu_slope(real x) {
    const real weight = lh_sigmoid(x);
    return weight * (LH_R(1) + x * (LH_R(1) - weight));
}

/* f(x). */
LH_SPECIALIZED real lh_unary_value(lh_unary_op op, real x) {
    switch (op) {
    case LH_UNARY_IDENTITY:
        return x;
    case LH_UNARY_RELU:
        return x < LH_R(0) ? LH_R(0) : x;
    case LH_UNARY_GELU:
        return x * lh_gelu_weight(lh_gelu_clamp(x));
    case LH_UNARY_GELU_EXACT:
        return lh_gelu_exact(x);
    case LH_UNARY_TANH:
        return lh_tanh(x);
    case LH_UNARY_SIGMOID:
        return lh_sigmoid(x);
    case LH_UNARY_EXP:
        return lh_exp(x);
    case LH_UNARY_LOG:
        return LH_REAL_MATH(log)(x);
    case LH_UNARY_SQUARE:
        return x * x;
    case LH_UNARY_SQRT:
        return LH_REAL_MATH(sqrt)(x);
    case LH_UNARY_RSQRT:
        return LH_R(1) / LH_REAL_MATH(sqrt)(x);
    case LH_UNARY_ELU:
        return x > LH_R(0) ? x : lh_exp(x) - LH_R(1);
    case LH_UNARY_SILU:
        return x * lh_sigmoid(x);
    case LH_UNARY_SOFTPLUS:
        return lh_softplus(x);
    }
    return x;
}

/* f'(x), from x or from y = f(x), whichever the op reads. */
LH_SPECIALIZED real lh_unary_slope(lh_unary_op op, real v) {
    switch (op) {
    case LH_UNARY_IDENTITY:
        return LH_R(1);
    case LH_UNARY_RELU:
        return v > LH_R(0) ? LH_R(1) : LH_R(0);
    case LH_UNARY_GELU:
        return lh_gelu_slope(v);
    case LH_UNARY_GELU_EXACT:
        return lh_gelu_exact_slope(v);
    case LH_UNARY_TANH:
        return LH_R(1) - v * v;
    case LH_UNARY_SIGMOID:
        return v * (LH_R(1) - v);
    case LH_UNARY_EXP:
        return v;
    case LH_UNARY_LOG:
        return LH_R(1) / v;
    case LH_UNARY_SQUARE:
        return LH_R(2) * v;
    case LH_UNARY_SQRT:
        return LH_R(0.5) / v;
    case LH_UNARY_RSQRT:
        return LH_R(-0.5) * v * v * v;
    case LH_UNARY_ELU:
        return v > LH_R(0) ? LH_R(1) : v + LH_R(1);
    case LH_UNARY_SILU:
        return lh_silu_slope(v);
    case LH_UNARY_SOFTPLUS:
        return lh_sigmoid(v);
    }
    return LH_R(0);
}

/* The loop of one function: y[i] = f(x[i]). */
LH_SPECIALIZED void lh_unary_loop(lh_unary_op op, lh_dtype dtype, int64_t count, const void *x,
                                  void *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
        lh_store(dtype, y, i, lh_unary_value(op, lh_load(dtype, x, i)));
}

/* y[i] = f(x[i]); y may be x. */
LH_SPECIALIZED void lh_unary_run(lh_unary_op op, lh_dtype dtype, int64_t count, const void *x,
                                 void *y) {
    switch (op) {
#define LH_UNARY_CASE(fixed)                                                                       \
    case fixed:                                                                                    \
        lh_unary_loop(fixed, dtype, count, x, y);                                                  \
        break;
        LH_UNARY_OPS(LH_UNARY_CASE)
#undef LH_UNARY_CASE
    }
}

#endif
