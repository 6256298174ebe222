#include "harness/engine/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/plugin.h"
#include "harness/engine/record.h"
#include "harness/engine/state.h"
#include "harness/engine/swap.h"

enum { MOST_NAMES = 256 };

struct lh_declare {
    lh_model *model;
    int state_capacity;
    lh_status status;
};

/* ---- classes ---- */

const lh_model_class *lh_model_class_at(int index) {
    int in_tree = 0;
    while (lh_model_table[in_tree] != NULL)
        in_tree += 1;
    return index < in_tree ? lh_model_table[index] : lh_plugin_class_at(index - in_tree);
}

const lh_model_class *lh_model_class_find(const char *name) {
    const char *names[MOST_NAMES] = {NULL};
    const lh_model_class *class = NULL;
    for (int i = 0; i < MOST_NAMES - 1 && (class = lh_model_class_at(i)) != NULL; ++i) {
        if (strcmp(class->name, name) == 0) return class;
        names[i] = class->name;
    }
    const char *nearest = lh_nearest_name(name, names);
    (void)lh_fail(LH_EOPTION,
                  nearest != NULL ? "no model '%s' (did you mean '%s'?)"
                                  : "no model '%s'; `longhaul describe` lists them",
                  name, nearest);
    return NULL;
}

/* ---- declaring ---- */

int lh_declare_param(lh_declare *declare, lh_init init, int rank, const int64_t *shape,
                     const char *name, ...) {
    char text[sizeof((lh_param *)NULL)->name];
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    return lh_params_declare(declare->model->params, init, rank, shape, "%s", text);
}

void lh_declare_embedding(lh_declare *declare) {
    lh_params_mark_embedding(declare->model->params);
}

void lh_declare_undecayed(lh_declare *declare) {
    lh_params_mark_undecayed(declare->model->params);
}

void lh_declare_group(lh_declare *declare) {
    lh_params_begin_group(declare->model->params);
}

void lh_declare_no_group(lh_declare *declare) {
    lh_params_end_group(declare->model->params);
}

void lh_declare_statistic(lh_declare *declare) {
    lh_params_mark_statistic(declare->model->params);
}

void lh_declare_initial(lh_declare *declare, const double *values) {
    lh_params_set_initial(declare->model->params, values);
}

static bool reserve_state(lh_declare *declare) {
    lh_model *model = declare->model;
    if (model->state_count < declare->state_capacity) return true;
    const int capacity = declare->state_capacity == 0 ? 32 : 2 * declare->state_capacity;
    lh_state_spec *states = lh_reallocate(model->states, (size_t)capacity * sizeof *states);
    if (states == NULL) return false;
    model->states = states;
    declare->state_capacity = capacity;
    return true;
}

int lh_declare_state(lh_declare *declare, lh_state_kind kind, int rank, const int64_t *shape,
                     const char *name, ...) {
    if (declare->status != LH_OK) return -1;
    if (!reserve_state(declare)) {
        declare->status = LH_EMEMORY;
        return -1;
    }
    lh_state_spec spec = {.kind = kind, .rank = rank};
    va_list arguments;
    va_start(arguments, name);
    (void)vsnprintf(spec.name, sizeof spec.name, name, arguments);
    va_end(arguments);
    if (rank < 1 || rank >= LH_MAX_RANK || (kind == LH_STATE_RING && rank != 2)) {
        declare->status = lh_fail(LH_ESHAPE, "state %s: rank %d", spec.name, rank);
        return -1;
    }
    memcpy(spec.shape, shape, (size_t)rank * sizeof *shape);
    declare->model->states[declare->model->state_count] = spec;
    return declare->model->state_count++;
}

/* ---- models ---- */

static lh_status build(lh_model *model, const lh_options *options) {
    LH_TRY(lh_options_copy(options, &model->options));
    LH_TRY(lh_params_create(&model->params));
    model->instance = lh_allocate_zeroed(1, model->class->instance_size + 1);
    if (model->instance == NULL) return LH_EMEMORY;
    lh_options_fill(model->options, model->instance);
    lh_declare declare = {.model = model};
    LH_TRY(model->class->declare(model->instance, &model->setup, &declare));
    LH_TRY(declare.status);
    return lh_params_status(model->params);
}

lh_status lh_model_create(const lh_model_class *class, const lh_options *options,
                          const lh_model_setup *setup, lh_model **out) {
    lh_model *model = lh_allocate_zeroed(1, sizeof *model);
    if (model == NULL) return LH_EMEMORY;
    model->class = class;
    model->setup = *setup;
    const lh_status status = build(model, options);
    if (status != LH_OK) {
        lh_note("model %s", class->name);
        lh_model_destroy(model);
        return status;
    }
    *out = model;
    return LH_OK;
}

void lh_model_destroy(lh_model *model) {
    if (model == NULL) return;
    if (model->class->destroy != NULL && model->instance != NULL) {
        model->class->destroy(model->instance);
    }
    lh_params_destroy(model->params);
    lh_options_destroy(model->options);
    free(model->instance);
    free(model->states);
    free(model);
}

lh_status lh_model_forward(const lh_model *model, lh_tape *tape, lh_state *state,
                           const lh_batch *batch, bool training, lh_output *out) {
    if (model->class->check != NULL) {
        LH_TRY(model->class->check(model->instance, batch->rows, batch->length));
    }
    if (batch->starts != NULL) LH_TRY(lh_state_clear_rows(state, batch->starts));
    lh_pass pass = {
        .model = model, .tape = tape, .state = state, .batch = batch, .training = training};
    *out = (lh_output){.logit_scale = 1.0};
    if (lh_tape_swap(tape) != NULL) LH_TRY(lh_swap_begin(lh_tape_swap(tape)));
    const lh_status status = model->class->forward(model->instance, &pass, out);
    if (status != LH_OK) lh_note("%s", model->class->name);
    return status;
}

double lh_model_flops_per_token(const lh_model *model, int64_t length) {
    return model->class->flops_per_token(model->instance, length);
}
