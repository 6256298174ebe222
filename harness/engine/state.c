/* Carried state: its tensors, what is cleared where a document begins, and the pass in which a
 * model reads and hands it over. */
#include "harness/engine/state.h"

#include <stdlib.h>

#include "harness/engine/record.h"
#include "harness/engine/run_kernel.h"
#include "harness/engine/swap.h"

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
    int64_t rows;
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

static int64_t row_width(const lh_tensor *value) {
    return value->shape[0] > 0 ? lh_tensor_count(value) / value->shape[0] : 0;
}

static lh_status create_slot(const lh_state_spec *spec, lh_pool *pool, int64_t rows,
                             lh_state_slot *slot) {
    int64_t shape[LH_MAX_RANK] = {rows};
    for (int i = 0; i < spec->rank; ++i)
        shape[i + 1] = spec->shape[i];
    slot->kind = spec->kind;
    LH_TRY(lh_tensor_create_zero(pool, LH_REAL, spec->rank + 1, shape, &slot->value));
    if (spec->kind != LH_STATE_RING) return LH_OK;
    return lh_tensor_create_zero(pool, LH_I32, 1, &rows, &slot->count);
}

static lh_status create_slots(const lh_model *model, lh_pool *pool, int64_t rows, lh_state *state) {
    int64_t widest = 1;
    for (int i = 0; i < model->state_count; ++i) {
        LH_TRY(create_slot(&model->states[i], pool, rows, &state->slot[i]));
        /* A ring is emptied by its count, so only replaced states are ever cleared. */
        const int64_t width = row_width(state->slot[i].value);
        if (state->slot[i].kind == LH_STATE_REPLACE && width > widest) widest = width;
    }
    return lh_tensor_create_zero(pool, LH_REAL, 1, &widest, &state->zero);
}

/* Without the tensors of its slots. */
static lh_state *new_state(const lh_model *model, lh_pool *pool, int64_t rows) {
    lh_state *state = lh_allocate_zeroed(1, sizeof *state);
    if (state == NULL) return NULL;
    state->pool = pool;
    state->rows = rows;
    state->params = model->params;
    state->slot_count = model->state_count;
    state->slot = lh_allocate_zeroed((size_t)model->state_count + 1, sizeof *state->slot);
    state->statistic =
        lh_allocate_zeroed((size_t)lh_params_count(model->params) + 1, sizeof *state->statistic);
    if (state->slot != NULL && state->statistic != NULL) return state;
    lh_state_destroy(state);
    return NULL;
}

lh_status lh_state_create(const lh_model *model, lh_pool *pool, int64_t rows, lh_state **out) {
    lh_state *state = new_state(model, pool, rows);
    if (state == NULL) return LH_EMEMORY;
    const lh_status status = create_slots(model, pool, rows, state);
    if (status != LH_OK) {
        lh_state_destroy(state);
        return status;
    }
    *out = state;
    return LH_OK;
}

/* Rows of a tensor, which may be NULL. */
static lh_status view_rows(const lh_tensor *whole, int64_t first, int64_t count, lh_tensor **out) {
    if (whole == NULL) return LH_OK;
    *out = lh_tensor_detached(whole);
    if (*out == NULL) return LH_EMEMORY;
    (*out)->shape[0] = count;
    (*out)->offset += first * whole->stride[0];
    return LH_OK;
}

lh_status lh_state_create_rows(const lh_model *model, const lh_state *whole, int64_t first,
                               int64_t count, lh_state **out) {
    lh_state *state = new_state(model, whole->pool, count);
    lh_status status = state != NULL ? LH_OK : LH_EMEMORY;
    for (int i = 0; status == LH_OK && i < state->slot_count; ++i) {
        const lh_state_slot *of = &whole->slot[i];
        state->slot[i].kind = of->kind;
        status = view_rows(of->value, first, count, &state->slot[i].value);
        if (status == LH_OK) status = view_rows(of->count, first, count, &state->slot[i].count);
    }
    if (status != LH_OK) {
        lh_state_destroy(state);
        return status;
    }
    state->zero = lh_tensor_retain(whole->zero);
    *out = state;
    return LH_OK;
}

static int64_t row_bytes(const lh_state_spec *spec) {
    int64_t elements = 1;
    for (int i = 0; i < spec->rank; ++i)
        elements *= spec->shape[i];
    const int64_t count = spec->kind == LH_STATE_RING ? (int64_t)sizeof(int32_t) : 0;
    return elements * (int64_t)sizeof(real) + count;
}

int64_t lh_model_state_bytes(const lh_model *model) {
    int64_t bytes = 0;
    for (int i = 0; i < model->state_count; ++i)
        bytes += row_bytes(&model->states[i]);
    return bytes;
}

/* Forgets what was handed over for statistics. */
static void drop_statistics(lh_state *state) {
    for (int i = 0; state->statistic != NULL && i < lh_params_count(state->params); ++i) {
        lh_tensor_release(state->statistic[i]);
        state->statistic[i] = NULL;
    }
}

void lh_state_destroy(lh_state *state) {
    if (state == NULL) return;
    drop_statistics(state);
    for (int i = 0; state->slot != NULL && i < state->slot_count; ++i) {
        lh_tensor_release(state->slot[i].value);
        lh_tensor_release(state->slot[i].count);
        lh_tensor_release(state->slot[i].pending);
    }
    lh_tensor_release(state->zero);
    free(state->statistic);
    free(state->slot);
    free(state);
}

/* i32 tensors are cleared from the host: a fill kernel writes reals. */
static lh_status clear_counts(lh_tensor *count) {
    const int64_t rows = lh_tensor_count(count);
    int32_t *zeros = lh_allocate_zeroed((size_t)rows + 1, sizeof *zeros);
    if (zeros == NULL) return LH_EMEMORY;
    const lh_status status = lh_tensor_write(count, zeros, rows);
    free(zeros);
    return status;
}

lh_status lh_state_clear(lh_state *state) {
    drop_statistics(state);
    for (int i = 0; i < state->slot_count; ++i) {
        lh_state_slot *slot = &state->slot[i];
        lh_tensor_release(slot->pending);
        slot->pending = NULL;
        const lh_fill_args args = {.count = lh_tensor_count(slot->value),
                                   .x = lh_tensor_real(slot->value)};
        LH_TRY(LH_RUN(state->pool, fill, &args));
        if (slot->count != NULL) LH_TRY(clear_counts(slot->count));
    }
    return LH_OK;
}

bool lh_state_takes(const lh_state *state, int64_t rows) {
    return state->slot_count == 0 || state->rows == rows;
}

int lh_state_count(const lh_state *state) {
    return 2 * state->slot_count;
}

lh_tensor *lh_state_tensor(const lh_state *state, int index) {
    const lh_state_slot *slot = &state->slot[index / 2];
    return index % 2 == 0 ? slot->value : slot->count;
}

/* ---- document starts ---- */

static lh_status clear_value_rows(lh_state *state, lh_tensor *value, const lh_tensor *starts) {
    const lh_select_rows_forward_args args = {.batch = value->shape[0],
                                              .width = row_width(value),
                                              .flag = lh_tensor_integer(starts),
                                              .a = lh_tensor_real(state->zero),
                                              .x = lh_tensor_real(value),
                                              .y = lh_tensor_real(value)};
    return LH_RUN(state->pool, select_rows_forward, &args);
}

static lh_status clear_count_rows(lh_tensor *count, const int32_t *flags, int64_t rows) {
    int32_t *counts = lh_allocate((size_t)rows * sizeof *counts + 1);
    if (counts == NULL) return LH_EMEMORY;
    lh_status status = lh_tensor_read(count, counts, rows);
    for (int64_t r = 0; r < rows && status == LH_OK; ++r) {
        if (flags[r] != 0) counts[r] = 0;
    }
    if (status == LH_OK) status = lh_tensor_write(count, counts, rows);
    free(counts);
    return status;
}

static lh_status clear_rings(lh_state *state, const lh_tensor *starts) {
    const int64_t rows = lh_tensor_count(starts);
    int32_t *flags = lh_allocate((size_t)rows * sizeof *flags + 1);
    if (flags == NULL) return LH_EMEMORY;
    lh_status status = lh_tensor_read(starts, flags, rows);
    for (int i = 0; i < state->slot_count && status == LH_OK; ++i) {
        if (state->slot[i].count == NULL) continue;
        status = clear_count_rows(state->slot[i].count, flags, rows);
    }
    free(flags);
    return status;
}

/* Zeroes the rows flagged in starts (i32 [rows]). */
static lh_status clear_rows(lh_state *state, const lh_tensor *starts) {
    bool rings = false;
    for (int i = 0; i < state->slot_count; ++i) {
        lh_state_slot *slot = &state->slot[i];
        rings = rings || slot->kind == LH_STATE_RING;
        if (slot->kind == LH_STATE_RING) continue;
        LH_TRY(clear_value_rows(state, slot->value, starts));
    }
    return rings ? clear_rings(state, starts) : LH_OK;
}

/* ---- handing over ---- */

static lh_status append(lh_state_slot *slot) {
    const lh_ring_append_args args = {.batch = slot->value->shape[0],
                                      .capacity = slot->value->shape[1],
                                      .length = slot->pending->shape[1],
                                      .width = slot->value->shape[2],
                                      .x = lh_tensor_real(slot->pending),
                                      .ring = lh_tensor_real(slot->value),
                                      .count = lh_tensor_integer(slot->count),
                                      .advance = true};
    return LH_RUN(slot->value->pool, ring_append, &args);
}

static lh_status commit_statistics(lh_state *state) {
    for (int i = 0; i < lh_params_count(state->params); ++i) {
        if (state->statistic[i] != NULL)
            LH_TRY(lh_tensor_copy(lh_params_get(state->params, i), state->statistic[i]));
    }
    drop_statistics(state);
    return LH_OK;
}

lh_status lh_state_commit(lh_state *state) {
    for (int i = 0; i < state->slot_count; ++i) {
        lh_state_slot *slot = &state->slot[i];
        if (slot->pending == NULL) continue;
        LH_TRY(slot->kind == LH_STATE_RING ? append(slot)
                                           : lh_tensor_copy(slot->value, slot->pending));
        lh_tensor_release(slot->pending);
        slot->pending = NULL;
    }
    return commit_statistics(state);
}

/* ---- what a model sees ---- */

lh_tape *lh_pass_tape(const lh_pass *pass) {
    return pass->tape;
}

const lh_batch *lh_pass_batch(const lh_pass *pass) {
    return pass->batch;
}

bool lh_pass_is_training(const lh_pass *pass) {
    return pass->training;
}

lh_tensor *lh_pass_param(const lh_pass *pass, int index) {
    const lh_swap *swap = lh_tape_swap(pass->tape);
    const lh_params *params = pass->model->params;
    lh_tensor *param = swap != NULL ? lh_swap_param(swap, index) : lh_params_get(params, index);
    if (param == NULL) {
        (void)lh_fail(LH_EINTERNAL, "parameter %d is asked for, of %d", index,
                      lh_params_count(params));
        return NULL;
    }
    if (!lh_params_at(params, index)->statistic) return param;
    return lh_tape_own(pass->tape, lh_tensor_detached(param));
}

/* Whether a value lies in what a commit overwrites: one of the states or statistics. */
static bool is_current(const lh_state *state, const lh_tensor *value) {
    bool found = value->storage == lh_params_values(state->params)->storage;
    for (int i = 0; i < state->slot_count && !found; ++i)
        found = value->storage == state->slot[i].value->storage;
    return found;
}

/* The value itself when it is dense and real and stays, else a copy that does. */
static lh_tensor *lasting(lh_pass *pass, lh_tensor *value) {
    if (value->dtype == LH_REAL && lh_tensor_is_contiguous(value) &&
        !is_current(pass->state, value))
        return value;
    lh_tensor *dense = lh_tape_new(pass->tape, LH_REAL, value->rank, value->shape);
    if (dense == NULL) return NULL;
    lh_copy_args args = {
        .rank = value->rank, .x = lh_tensor_activation(value), .y = lh_tensor_activation(dense)};
    for (int i = 0; i < value->rank; ++i) {
        args.shape[i] = value->shape[i];
        args.x_stride[i] = value->stride[i];
        args.y_stride[i] = dense->stride[i];
    }
    return LH_RUN(value->pool, copy, &args) == LH_OK ? dense : NULL;
}

lh_tensor *const *lh_pass_params(const lh_pass *pass) {
    const int count = lh_params_count(pass->model->params);
    lh_tensor **params = lh_tape_scratch(pass->tape, (size_t)count * sizeof(lh_tensor *));
    for (int i = 0; params != NULL && i < count; ++i)
        params[i] = lh_pass_param(pass, i);
    return params;
}

/* The value as it is now, without its gradient, dense, to be kept beyond the pass. */
static lh_status take(lh_pass *pass, lh_tensor *value, lh_tensor **kept) {
    const lh_scope scope = lh_scope_open(pass->tape);
    lh_tensor *view = lh_tape_own(pass->tape, lh_tensor_detached(value));
    lh_tensor *dense = view != NULL ? lasting(pass, view) : NULL;
    lh_tensor_release(*kept);
    *kept = lh_tensor_retain(dense);
    lh_scope_close(pass->tape, scope, NULL);
    return dense != NULL ? LH_OK : lh_failed();
}

lh_status lh_pass_set_statistic(lh_pass *pass, int index, lh_tensor *value) {
    const lh_tensor *current = lh_params_get(pass->model->params, index);
    if (value == NULL || current == NULL) return lh_failed();
    const lh_param *param = lh_params_at(pass->model->params, index);
    if (!param->statistic || !lh_tensor_same_shape(current, value))
        return lh_fail(LH_ESHAPE, "statistic '%s' is %s, the model handed over %s", param->name,
                       lh_shape_text(current), lh_shape_text(value));
    return take(pass, value, &pass->state->statistic[index]);
}

lh_tensor *lh_pass_state(const lh_pass *pass, int index) {
    return pass->state->slot[index].value;
}

lh_tensor *lh_pass_ring_count(const lh_pass *pass, int index) {
    return pass->state->slot[index].count;
}

static bool carries(const lh_state_slot *slot, const lh_tensor *value) {
    if (slot->kind == LH_STATE_REPLACE) return lh_tensor_same_shape(slot->value, value);
    return value->rank == 3 && value->shape[0] == slot->value->shape[0] &&
           value->shape[2] == slot->value->shape[2];
}

lh_status lh_pass_carry(lh_pass *pass, int index, lh_tensor *value) {
    if (value == NULL) return lh_failed();
    lh_state_slot *slot = &pass->state->slot[index];
    if (!carries(slot, value)) {
        return lh_fail(LH_ESHAPE, "carried state '%s' is %s, the model handed over %s",
                       pass->model->states[index].name, lh_shape_text(slot->value),
                       lh_shape_text(value));
    }
    return take(pass, value, &slot->pending);
}

/* ---- one segment ---- */

lh_status lh_pass_run(lh_pass *pass, const lh_batch *batch, lh_output *out) {
    const lh_model *model = pass->model;
    const lh_batch *whole = pass->batch;
    if (model->class->check != NULL) LH_TRY(model->class->check(model->instance, batch->length));
    pass->batch = batch;
    const lh_status status = model->class->forward(model->instance, pass, out);
    pass->batch = whole;
    return status;
}

lh_status lh_model_forward(const lh_model *model, lh_tape *tape, lh_state *state,
                           const lh_batch *batch, bool training, lh_output *out) {
    const lh_status before = lh_error_get()->status;
    if (batch->starts != NULL) LH_TRY(clear_rows(state, batch->starts));
    lh_pass pass = {
        .model = model, .tape = tape, .state = state, .batch = batch, .training = training};
    *out = (lh_output){.logit_scale = 1.0};
    if (lh_tape_swap(tape) != NULL) LH_TRY(lh_swap_begin(lh_tape_swap(tape)));
    lh_status status = model->adapter.ways != 0 ? model->adapter.forward(model, &pass, out)
                                                : lh_pass_run(&pass, batch, out);
    status = lh_error_since(before, status);
    if (status != LH_OK) lh_note("%s", model->class->name);
    return status;
}
