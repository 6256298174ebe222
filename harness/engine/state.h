/* One segment through a model, and the state that it carries from one to the next. */
#ifndef LH_ENGINE_STATE_H
#define LH_ENGINE_STATE_H

#include "harness/engine/model.h"

typedef struct lh_state lh_state;

/* Carried state for `rows` batch rows, zeroed. */
lh_status lh_state_create(const lh_model *model, lh_pool *pool, int64_t rows, lh_state **out);
/* The same state of `count` rows from `first` on: its tensors are views of those of `whole`, which
 * must outlive it. */
lh_status lh_state_create_rows(const lh_model *model, const lh_state *whole, int64_t first,
                               int64_t count, lh_state **out);
void lh_state_destroy(lh_state *state);
/* Whether a batch of so many rows finds its state; a model that carries nothing takes any. */
bool lh_state_takes(const lh_state *state, int64_t rows);
/* Back to a fresh start for all rows. */
lh_status lh_state_clear(lh_state *state);
/* The tensors, for checkpoints: index 0..lh_state_count-1 (ring counts included). Lends. */
int lh_state_count(const lh_state *state);
lh_tensor *lh_state_tensor(const lh_state *state, int index);

/* Runs one segment forward: clears the rows that start a document, calls the class, keeps what it
 * carries pending. Borrows all. lh_tape_begin must have been called. The outputs belong to the
 * tape's scope. */
lh_status lh_model_forward(const lh_model *model, lh_tape *tape, lh_state *state,
                           const lh_batch *batch, bool training, lh_output *out);
/* What an adapter calls within: the class on this batch, in the same pass. */
lh_status lh_pass_run(lh_pass *pass, const lh_batch *batch, lh_output *out);
/* Makes the pending state and statistics current. Call after backward, or right after forward when
 * not training. */
lh_status lh_state_commit(lh_state *state);

/* What lh_state_create keeps of each batch row: values as reals, whatever the precision of a run,
 * and a ring's count. */
int64_t lh_model_state_bytes(const lh_model *model);

#endif
