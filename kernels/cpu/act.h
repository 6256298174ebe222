/* Activations as the CPU kernels read and write them. Loops are specialised for the dtype: with a
 * constant one, lh_load and lh_store are what a loop over plain floats would be, or a conversion
 * that the compiler makes vector code of. */
#ifndef LH_KERNELS_CPU_ACT_H
#define LH_KERNELS_CPU_ACT_H

#include "kernels/bf16.h"
#include "kernels/cpu/isa.h"

/* An activation of reals, as all are that a kernel gets which does not take bf16 (table.c). */
static inline real *lh_as_reals(lh_act x) {
    return x.data;
}

/* Element i of an array of the dtype. */
LH_SPECIALIZED real lh_load(lh_dtype dtype, const void *x, int64_t i) {
    return dtype == LH_BF16 ? lh_bf16_widen(((const lh_bf16 *)x)[i]) : ((const real *)x)[i];
}

/* x[i] = value, rounded once. */
LH_SPECIALIZED void lh_store(lh_dtype dtype, void *x, int64_t i, real value) {
    if (dtype == LH_BF16)
        ((lh_bf16 *)x)[i] = lh_bf16_round(value);
    else
        ((real *)x)[i] = value;
}

/* Bytes of an element. */
static inline int64_t lh_size_of(lh_dtype dtype) {
    return dtype == LH_BF16 ? sizeof(lh_bf16) : sizeof(real);
}

/* Where element i lies. */
static inline void *lh_at(lh_act x, int64_t i) {
    return (uint8_t *)x.data + i * lh_size_of(x.dtype);
}

/* Calls a specialised function, whose first argument is the dtype, with what that is here. */
#define LH_BY_DTYPE(dtype, function, ...)                                                          \
    do {                                                                                           \
        if ((dtype) == LH_BF16)                                                                    \
            function(LH_BF16, __VA_ARGS__);                                                        \
        else                                                                                       \
            function(LH_REAL, __VA_ARGS__);                                                        \
    } while (0)

#endif
