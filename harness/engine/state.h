/* Carried state and the pass that reads and hands it over; for the engine's own files. */
#ifndef LH_ENGINE_STATE_H
#define LH_ENGINE_STATE_H

#include "harness/engine/model.h"

/* One declared state of all batch rows. */
typedef struct lh_state_slot {
    lh_state_kind kind;
    lh_tensor *value;   /* [rows][shape...] */
    lh_tensor *count;   /* i32 [rows] of a ring */
    lh_tensor *pending; /* handed over, not yet current */
} lh_state_slot;

struct lh_state {
    const lh_params *params; /* borrowed */
    lh_tensor **statistic;   /* handed over for each parameter that is one, not yet current */
    int slot_count;
    lh_state_slot *slot;
    lh_pool *pool;
    lh_tensor *zero; /* as wide as the widest state row, for clearing rows */
};

struct lh_pass {
    const lh_model *model;
    lh_tape *tape;
    lh_state *state;
    const lh_batch *batch;
    bool training;
};

/* Zeroes the rows flagged in starts (i32 [rows]). */
lh_status lh_state_clear_rows(lh_state *state, const lh_tensor *starts);

#endif
