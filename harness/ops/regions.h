/* Regions: parts of a forward pass that keep little and are run again in the backward pass. */
#ifndef LH_OPS_REGIONS_H
#define LH_OPS_REGIONS_H

#include "harness/engine/tape.h"

/* A region computes `outputs` (borrowed from the scope) from `inputs`. It may also use parameters,
 * which get their gradients as usual. It must be repeatable: same inputs, same kernels. */
typedef lh_status (*lh_region)(lh_tape *tape, void *context, lh_tensor *const *inputs,
                               lh_tensor **outputs);

enum { LH_REGION_TENSORS = 16 };

/* Runs `region` without recording and keeps only its inputs; backward runs it again with recording
 * and differentiates that. Random ops draw the same numbers both times. `context` is copied
 * (context_bytes). At most LH_REGION_TENSORS inputs and outputs each; an input may be NULL. */
lh_status lh_checkpoint(lh_tape *tape, lh_region region, const void *context, size_t context_bytes,
                        lh_tensor *const *inputs, int input_count, lh_tensor **outputs,
                        int output_count);

/* Runs `region`, a function of one tensor to one of the same shape, on `chunk` tokens of x [batch]
 * [length]... at a time, each a checkpoint, so that what it needs inside does not grow with the
 * length. Random ops draw the same numbers in every chunk. */
lh_tensor *lh_chunked(lh_tape *tape, lh_region region, const void *context, size_t context_bytes,
                      lh_tensor *x, int64_t chunk);

/* One half of a reversible block: a function of one tensor to one of the same shape. */
typedef lh_tensor *(*lh_half)(lh_tape *tape, void *context, lh_tensor *x);

/* y1 = x1 + f(x2), y2 = x2 + g(y1) (Gomez et al. 2017; Kitaev et al. 2020, eq. 9). */
typedef struct lh_reversible_block {
    lh_half f, g;
    void *f_context, *g_context; /* borrowed; must live until backward */
} lh_reversible_block;

/* Runs the blocks in order and keeps only the last outputs; backward recovers each block's inputs
 * from its outputs. Memory does not depend on `count`. x1 and x2 may be the same tensor. */
lh_status lh_reversible(lh_tape *tape, const lh_reversible_block *blocks, int count, lh_tensor *x1,
                        lh_tensor *x2, lh_tensor **y1, lh_tensor **y2);

#endif
