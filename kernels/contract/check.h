/* What the checks of the contract are made of. lh_<kernel>_check, beside the arguments of each
 * kernel, has all that can break the contract and is seen without the data. The tables of all
 * backends ask it before a twin runs (kernels/entries.inc); what one backend alone lacks is refused
 * by its twin. */
#ifndef LH_KERNELS_CONTRACT_CHECK_H
#define LH_KERNELS_CONTRACT_CHECK_H

#include "kernels/terms.h"

/* Sizes that do not fit each other are told before options that are none. */
static inline lh_status lh_sound(bool shape, bool options) {
    if (!shape) return LH_ESHAPE;
    return options ? LH_OK : LH_EOPTION;
}

/* Of sizes joined by |: none is negative. */
static inline bool lh_are_sizes(int64_t joined) {
    return joined >= 0;
}

static inline bool lh_is_activation(lh_act x) {
    return x.dtype == LH_REAL || x.dtype == LH_BF16;
}

static inline bool lh_are_alike(lh_act x, lh_act y) {
    return lh_is_activation(x) && y.dtype == x.dtype;
}

/* Of an operand that may be absent: it is, or has this type. */
static inline bool lh_agrees(lh_act x, lh_dtype dtype) {
    return x.data == NULL || x.dtype == dtype;
}

static inline bool lh_precision_known(lh_precision precision) {
    return precision >= LH_PRECISION_F32 && precision <= LH_PRECISION_BF16;
}

/* A product whose operands lie in memory as bf16 is in bf16. */
static inline bool lh_multiplies(lh_dtype dtype, lh_precision precision) {
    return dtype == LH_REAL || (dtype == LH_BF16 && precision == LH_PRECISION_BF16);
}

#endif
