/* Attention where every batch row and head has a single query. */
#ifndef LH_KERNELS_CPU_ATTENTION_SINGLE_H
#define LH_KERNELS_CPU_ATTENTION_SINGLE_H

#include "kernels/cpu/attention_plan.h"

/* Whether they have this path; in bf16 a single query is a tile like others. */
static inline bool lh_attention_is_single(const lh_attention_spec *spec) {
    return spec->queries == 1 && spec->precision == LH_PRECISION_F32;
}

/* Bytes of memory that a thread works in. */
size_t lh_cpu_attention_single_bytes(const lh_attention_spec *spec);

/* Writes out and lse of the one query of a tile. */
void lh_cpu_attention_single_forward(const lh_attention_forward_args *args,
                                     const lh_attention_tile *tile, real *memory);

/* Does a whole task of a plan, whose tile is one query. */
void lh_cpu_attention_single_backward(const lh_attention_plan *plan, int64_t task, real *memory);

#endif
