/* Parameters that rest in host memory and visit the device (Kitaev et al. 2020, section 3: "layer
 * parameters can be swapped to and from CPU memory when this layer is not computing").
 *
 * The list of parameters is allocated on a pool of the host: optimizers, checkpoints and weight
 * files work on it as ever. On the device are those of no group, values and gradients, all the
 * time; a group (lh_declare_group) from lh_tape_need to the end of the region that asked, with its
 * gradients where the region is differentiated. What a region of backward has added to them goes
 * home at its end, and comes again when another region adds to the same. So the device never holds
 * more than the groups of one region; where the device copies beside its work, also the values of
 * the one that came next in the pass before, and the gradients of the one that has just left. */
#ifndef LH_ENGINE_SWAP_H
#define LH_ENGINE_SWAP_H

#include "harness/engine/params.h"

typedef struct lh_swap lh_swap;

/* `home` is allocated on a pool of the processor (lh_cpu_open_pages), `pool` is that of the device;
 * both are borrowed. Gives; destroy it before them, after the tape that uses it
 * (lh_tape_set_swap). */
lh_status lh_swap_create(const lh_params *home, lh_pool *pool, lh_swap **out);
void lh_swap_destroy(lh_swap *swap);

/* The parameter that was declared as number `index`, as ops use it. Lends. */
lh_tensor *lh_swap_param(const lh_swap *swap, int index);
/* Bytes of the values that never leave. */
int64_t lh_swap_resting_bytes(const lh_swap *swap);

/* Before a forward pass: what stays gets the values from home, and gradients are forgotten. */
lh_status lh_swap_begin(lh_swap *swap);
/* After backward: all gradients are at home, of each parameter that had one (lh_params_settle_
 * gradients adds the zeros), and nothing visits. Without a pass since the last time none had one.
 * Waits for the device. */
lh_status lh_swap_collect(lh_swap *swap);

/* ---- for the tape ---- */

/* The group of a parameter comes, with its gradients when `differentiating`. */
lh_status lh_swap_need(lh_swap *swap, const lh_tensor *parameter, bool differentiating);
/* How many groups visit; those that came after the first `mark` leave. */
int lh_swap_visits(const lh_swap *swap);
lh_status lh_swap_leave(lh_swap *swap, int mark);

#endif
