/* Elementwise functions and their derivatives. */
#ifndef LH_KERNELS_CUDA_UNARY_CUH
#define LH_KERNELS_CUDA_UNARY_CUH

#include "kernels/cuda/sigmoid.cuh"

#define LH_SQRT_2_OVER_PI  0.7978845608028654f
#define LH_SQRT_HALF       0.7071067811865476f
#define LH_SQRT_1_OVER_2PI 0.3989422804014327f
#define LH_GELU_CUBIC      0.044715f
/* Beyond this the Gaussian weight of GELU is 0 or 1 to every digit, and x^3 is still harmless. */
#define LH_GELU_FAR 40.0f

/* x within the bounds beyond which GELU is 0 or x. */
__device__ static inline real lh_gelu_clamp(real x) {
    const real low = x < -LH_GELU_FAR ? -LH_GELU_FAR : x;
    return low > LH_GELU_FAR ? LH_GELU_FAR : low;
}

/* (1 + tanh(u)) / 2 = sigmoid(2u): no cancellation where the tail is small. */
__device__ static inline real lh_gelu_weight(real x) {
    return lh_sigmoid(2.0f * LH_SQRT_2_OVER_PI * x * (1.0f + LH_GELU_CUBIC * x * x));
}

/* Derivatives: of GELU by tanh, ... */
__device__ static inline real lh_gelu_slope(real x) {
    const real near = lh_gelu_clamp(x), weight = lh_gelu_weight(near);
    const real inner = LH_SQRT_2_OVER_PI * (1.0f + 3.0f * LH_GELU_CUBIC * near * near);
    return weight + 2.0f * near * weight * (1.0f - weight) * inner;
}

/* ... of GELU by the error function, ... */
__device__ static inline real lh_gelu_exact_slope(real x) {
    const real near = lh_gelu_clamp(x), weight = 0.5f * erfcf(-near * LH_SQRT_HALF);
    return weight + near * LH_SQRT_1_OVER_2PI * expf(-0.5f * near * near);
}

/* ... and of x sigmoid(x). */
__device__ static inline real lh_silu_slope(real x) {
    const real weight = lh_sigmoid(x);
    return weight * (1.0f + x * (1.0f - weight));
}

/* f(x). */
__device__ static inline real lh_unary_value(lh_unary_op op, real x) {
    switch (op) {
    case LH_UNARY_IDENTITY:
        return x;
    case LH_UNARY_RELU:
        return x < 0.0f ? 0.0f : x;
    case LH_UNARY_GELU:
        return x * lh_gelu_weight(lh_gelu_clamp(x));
    case LH_UNARY_GELU_EXACT:
        return x * 0.5f * erfcf(-x * LH_SQRT_HALF);
    case LH_UNARY_TANH:
        return tanhf(x);
    case LH_UNARY_SIGMOID:
        return lh_sigmoid(x);
    case LH_UNARY_EXP:
        return expf(x);
    case LH_UNARY_LOG:
        return logf(x);
    case LH_UNARY_SQUARE:
        return x * x;
    case LH_UNARY_SQRT:
        return sqrtf(x);
    case LH_UNARY_RSQRT:
        return 1.0f / sqrtf(x);
    case LH_UNARY_ELU:
        return x > 0.0f ? x : expf(x) - 1.0f;
    case LH_UNARY_SILU:
        return x * lh_sigmoid(x);
    case LH_UNARY_SOFTPLUS:
        return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));
    }
    return x;
}

/* f'(x), from whichever lh_unary_reads_output tells. */
__device__ static inline real lh_unary_slope(lh_unary_op op, real v) {
    switch (op) {
    case LH_UNARY_IDENTITY:
        return 1.0f;
    case LH_UNARY_RELU:
        return v > 0.0f ? 1.0f : 0.0f;
    case LH_UNARY_GELU:
        return lh_gelu_slope(v);
    case LH_UNARY_GELU_EXACT:
        return lh_gelu_exact_slope(v);
    case LH_UNARY_TANH:
        return 1.0f - v * v;
    case LH_UNARY_SIGMOID:
        return v * (1.0f - v);
    case LH_UNARY_EXP:
        return v;
    case LH_UNARY_LOG:
        return 1.0f / v;
    case LH_UNARY_SQUARE:
        return 2.0f * v;
    case LH_UNARY_SQRT:
        return 0.5f / v;
    case LH_UNARY_RSQRT:
        return -0.5f * v * v * v;
    case LH_UNARY_ELU:
        return v > 0.0f ? 1.0f : v + 1.0f;
    case LH_UNARY_SILU:
        return lh_silu_slope(v);
    case LH_UNARY_SOFTPLUS:
        return lh_sigmoid(v);
    }
    return 0.0f;
}

#endif
