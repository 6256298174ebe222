/* The tape: dynamic reverse-mode differentiation over coarse ops.
 *
 * An op on tensors that need gradients appends a node; lh_tape_backward walks the nodes in reverse
 * and frees each node's saved tensors and its outputs' gradients as soon as they have been used.
 * Regions that run again in the backward pass are ops over it (harness/ops/regions.h). */
#ifndef LH_ENGINE_TAPE_H
#define LH_ENGINE_TAPE_H

#include "harness/engine/tensor.h"

typedef struct lh_tape lh_tape;
typedef struct lh_swap lh_swap; /* engine/swap.h */

/* Borrows the pool. Gives; destroy it. */
lh_status lh_tape_create(lh_pool *pool, lh_tape **out);
void lh_tape_destroy(lh_tape *tape);

/* Starts a step: forgets all nodes and scopes, sets what random ops draw from, numbers them from 0
 * again. With `recording` off, no node is kept and a scope frees all that it does not return. */
void lh_tape_begin(lh_tape *tape, bool recording, uint64_t seed, uint64_t step);

/* This process has batch rows [first, first + count) of all; until told, it has them all. What
 * dropout draws depends on a row's place among all. */
void lh_tape_set_rows(lh_tape *tape, int64_t first, int64_t count);

bool lh_tape_is_recording(const lh_tape *tape);
lh_pool *lh_tape_pool(const lh_tape *tape);
lh_device *lh_tape_device(const lh_tape *tape);

/* Seeds d(loss)/d(loss) = 1 (loss has one element) and runs all nodes backward. */
lh_status lh_tape_backward(lh_tape *tape, lh_tensor *loss);

/* The same from any tensor and a cotangent of its shape. */
lh_status lh_tape_backward_from(lh_tape *tape, lh_tensor *output, const lh_tensor *cotangent);

/* What is told of a parameter's gradient, a view of the flat block, once nothing of this backward
 * pass can contribute to it any more (zeros when nothing has); and NULL after every node. */
typedef lh_status (*lh_gradient_watcher)(void *context, const lh_tensor *gradient);

/* Borrows the context. NULL: nobody watches. A failure of the watcher is one of backward. */
void lh_tape_watch(lh_tape *tape, lh_gradient_watcher watcher, void *context);

/* What a forward pass shows of its inside to whoever looks: of each attention with recurrence
 * encodings what these add to its heads, [batch][queries][heads][head_width]. */
typedef lh_status (*lh_viewer)(void *context, const lh_tensor *shown);

/* Borrows the context. NULL: nobody looks, and nothing is computed to be shown. */
void lh_tape_set_viewer(lh_tape *tape, lh_viewer viewer, void *context);
bool lh_tape_has_viewer(const lh_tape *tape);
lh_status lh_tape_show(const lh_tape *tape, const lh_tensor *shown);

/* Floating-point operations of matrix products and attention since lh_tape_begin, forward only. */
double lh_tape_flops(const lh_tape *tape);
/* What is computed between these two calls is not counted: work that all batch rows share, so that
 * it is no token's. They do not nest. */
void lh_tape_pause_flops(lh_tape *tape);
void lh_tape_resume_flops(lh_tape *tape);

/* Host memory that lives until lh_tape_begin, for what a forward pass has to remember. NULL after
 * LH_EMEMORY. */
void *lh_tape_scratch(lh_tape *tape, size_t bytes);

/* Parameters rest in host memory and come when a region needs them. Borrows; NULL: all are there.
 */
void lh_tape_set_swap(lh_tape *tape, lh_swap *swap);

/* Says that the region which runs uses the group of `parameter` (lh_declare_group): it is on the
 * device from here to the end of the innermost region, or of the pass outside of one. A region says
 * so each time it runs, before it uses the parameters. Does nothing without a swap. */
lh_status lh_tape_need(lh_tape *tape, const lh_tensor *parameter);

/* ---- scopes ---- */

/* Tensors returned by ops belong to the innermost open scope. Closing releases them except `keep`
 * (may be NULL), which moves to the scope outside; nodes hold on to what their backward needs. A
 * layer opens a scope at its start and returns lh_scope_close(tape, scope, out). */
typedef struct lh_scope {
    int64_t mark;
} lh_scope;

/* Scopes nest and close in the reverse order. close returns `keep`. A loop that hands tensors from
 * turn to turn opens one scope before it and closes it at the end of every turn, keeping what the
 * next turn needs. */
lh_scope lh_scope_open(lh_tape *tape);
lh_tensor *lh_scope_close(lh_tape *tape, lh_scope scope, lh_tensor *keep);
void lh_scope_close_many(lh_tape *tape, lh_scope scope, lh_tensor *const *keep, int count);

#endif
