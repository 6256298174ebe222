/* Views of what heads read and write, and runs of keys and values: what attention and recurrence
 * encoding have in common. */
#ifndef LH_KERNELS_CONTRACT_HEADS_H
#define LH_KERNELS_CONTRACT_HEADS_H

#include "kernels/terms.h"

/* A strided view [batch][tokens][heads][head_width]; head_width is contiguous. Attention takes
 * bf16, in all of its views or in none; that of LSH in q, k and v. */
typedef struct lh_heads {
    lh_act act;
    int64_t batch_stride, token_stride, head_stride;
} lh_heads;

/* One run of keys and values. Key j stands at position first + j on the axis where query i stands
 * at position i, so a cache of the W tokens before the segment has first = -W. With `everywhere`
 * the keys have no position: every query sees them, without bias (recurrent states, memories, an
 * inserted vector). dk and dv are used by the backward kernel only. */
typedef struct lh_key_source {
    int64_t count;
    int64_t first;
    bool everywhere;
    const int32_t *filled; /* in optional [batch]: a row has only the keys below its number, which
                              may exceed count, as that of a ring does; the others are finite */
    lh_heads k, v;
    lh_heads dk, dv; /* out optional (data NULL: not wanted) */
    lh_write write;
} lh_key_source;

#endif
