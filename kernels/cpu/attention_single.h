/* Attention where every batch row and head has a single query. */
#ifndef LH_KERNELS_CPU_ATTENTION_SINGLE_H
#define LH_KERNELS_CPU_ATTENTION_SINGLE_H

#include "kernels/cpu/attention_plan.h"

/* Bytes of memory that a thread works in. */
size_t LH_CPU(attention_single_bytes)(const lh_attention_spec *spec);

/* Writes out and lse of the one query of a tile. */
void LH_CPU(attention_single_forward)(const lh_attention_forward_args *args,
                                      const lh_attention_tile *tile, real *memory);

/* Does a whole task of a plan, whose tile is one query. */
void LH_CPU(attention_single_backward)(const lh_attention_plan *plan, int64_t task, real *memory);

#endif
