/* The number format bf16 on the processor: the upper half of a float. Conversions, written so that
 * loops over them become vector code. */
#ifndef LH_KERNELS_BF16_H
#define LH_KERNELS_BF16_H

#include <string.h>

#include "kernels/base.h"

typedef uint16_t lh_bf16;

static inline real lh_bf16_widen(lh_bf16 x) {
    const uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return (real)wide;
}

/* To nearest, ties to even; what is no number stays none. */
static inline lh_bf16 lh_bf16_round(real x) {
    const float from = (float)x;
    uint32_t bits;
    memcpy(&bits, &from, sizeof bits);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (lh_bf16)(from != from ? bits >> 16 | 0x40u : rounded);
}

/* y[i] = x[i] of `count` neighbours. */
static inline void lh_bf16_widen_run(int64_t count, const lh_bf16 *x, real *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
        y[i] = lh_bf16_widen(x[i]);
}

static inline void lh_bf16_round_run(int64_t count, const real *x, lh_bf16 *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
        y[i] = lh_bf16_round(x[i]);
}

#endif
