/* exp, tanh, the logistic function and the normal distribution without branches or calls, so that
 * loops over them vectorise.
 *
 * Float: range reduction exp(x) = 2^n exp(r), |r| <= ln 2 / 2, and a degree 6 polynomial fitted to
 * 8e-9; errors: exp 1.1, tanh and the logistic 2.5 units in the last place, the normal distribution
 * 3.5 above -1 and then those of x^2, 20 at -9. NaN gives NaN, infinities their limits (but of the
 * normal distribution, which takes none), and exp flushes results under 1.7e-38 to zero. Double,
 * the gradient-check build: libm. Relies on strict evaluation order: never compile with
 * -ffast-math. */
#ifndef LH_KERNELS_CPU_VECTOR_MATH_H
#define LH_KERNELS_CPU_VECTOR_MATH_H

#include <math.h>
#include <string.h>

#include "kernels/base.h"

#ifdef LH_REAL_DOUBLE

static inline real lh_exp(real x) {
    return exp(x);
}

static inline real lh_tanh(real x) {
    return tanh(x);
}

static inline real lh_normal_below(real x, real bell) {
    (void)bell;
    return 0.5 * erfc(-x * 0.70710678118654752);
}

#else

/* Adding this rounds a small float to an integer, held in its low bits. */
#define LH_ROUNDER      12582912.0f
#define LH_ROUNDER_BITS 0x4B400000u

/* x = n ln 2 + r; n comes as a two's complement word. ln 2 is split so that its first product is
 * exact. */
static inline float lh_exp_reduce(float x, uint32_t *n) {
    const float shifted = x * 1.44269504f + LH_ROUNDER;
    const float whole = shifted - LH_ROUNDER;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    *n = bits - LH_ROUNDER_BITS;
    return (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
}

/* exp(r) - 1 for |r| <= ln 2 / 2. */
static inline float lh_exp_tail(float r) {
    float p = 1.3926926614e-3f;
    p = p * r + 8.36377387441e-3f;
    p = p * r + 4.16665501103e-2f;
    p = p * r + 1.66665733819e-1f;
    p = p * r + 0.5f;
    return p * r * r + r;
}

/* 2^(exponent - 127) from the biased exponent; 0 for 0. */
static inline float lh_exp_power(uint32_t exponent) {
    const uint32_t bits = exponent << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

static inline real lh_exp(real x) {
    uint32_t n;
    const float low = x < -87.5f ? -87.5f : x;
    const float r = lh_exp_reduce(low > 89.0f ? 89.0f : low, &n);
    return (2.0f * lh_exp_tail(r) + 2.0f) * lh_exp_power(n + 126u);
}

/* With e = exp(-2|x|) - 1, tanh |x| = -e / (e + 2): nothing cancels near 0, nothing overflows. */
static inline real lh_tanh(real x) {
    uint32_t n;
    const float doubled = -2.0f * fabsf(x);
    const float r = lh_exp_reduce(doubled < -40.0f ? -40.0f : doubled, &n);
    const float power = lh_exp_power(n + 127u);
    const float e = power * lh_exp_tail(r) + (power - 1.0f);
    return copysignf(-e / (e + 2.0f), x);
}

/* The share of a normal distribution that lies below x, finite, from bell = exp(-x^2 / 2): with
 * a = |x|, bell P((a - 4) / (a + 4)) / (1 + 0.6 a) lies below -a, where P was fitted to 4e-8. */
static inline real lh_normal_below(real x, real bell) {
    const float a = fabsf(x), u = (a - 4.0f) / (a + 4.0f);
    float p = 3.129837593e-4f;
    p = p * u + 7.224517564e-6f;
    p = p * u - 2.796969760e-3f;
    p = p * u + 7.392780837e-3f;
    p = p * u - 6.971099398e-3f;
    p = p * u - 1.152660883e-2f;
    p = p * u + 5.815129105e-2f;
    p = p * u - 1.261810271e-1f;
    p = p * u + 3.209961824e-1f;
    const float tail = bell * p / (1.0f + 0.6f * a);
    return x > 0.0f ? 1.0f - tail : tail;
}

#endif

static inline real lh_sigmoid(real x) {
    return LH_R(1) / (LH_R(1) + lh_exp(-x));
}

#endif
