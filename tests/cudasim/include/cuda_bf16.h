/* The bf16 type of the toolkit: the upper half of a float. */
#ifndef LH_TESTS_CUDASIM_CUDA_BF16_H
#define LH_TESTS_CUDASIM_CUDA_BF16_H

#include "tests/cudasim/include/cuda_runtime.h"

struct __nv_bfloat16 {
    uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x) {
    return __uint_as_float((unsigned)x.bits << 16);
}

/* To nearest, ties to even; what is no number stays none. */
static inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    const unsigned bits = __float_as_uint(x);
    if (isnan(x)) return {0x7fff};
    return {(uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

#endif
