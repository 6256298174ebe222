/* Models: what a class declares of its parameters and states, and what it was opened with. */
#include "harness/engine/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"

struct lh_declare {
    lh_model *model;
    int64_t state_capacity;
    lh_status status;
};

/* ---- declaring ---- */

int lh_declare_param(lh_declare *declare, lh_init init, int rank, const int64_t *shape,
                     const char *name, ...) {
    char text[sizeof((lh_param *)NULL)->name + 1]; /* one that is too long stays too long */
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

void lh_declare_rows(lh_declare *declare, int64_t rows) {
    lh_params_set_rows(declare->model->params, rows);
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

int lh_declare_state(lh_declare *declare, lh_state_kind kind, int rank, const int64_t *shape,
                     const char *name, ...) {
    if (declare->status != LH_OK) return -1;
    lh_model *model = declare->model;
    declare->status = lh_array_reserve(&model->states, &declare->state_capacity,
                                       model->state_count + 1, sizeof *model->states);
    if (declare->status != LH_OK) return -1;
    lh_state_spec spec = {.kind = kind, .rank = rank};
    va_list arguments;
    va_start(arguments, name);
    const int length = vsnprintf(spec.name, sizeof spec.name, name, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof spec.name || rank < 1 || rank >= LH_MAX_RANK ||
        (kind == LH_STATE_RING && rank != 2)) {
        declare->status = lh_fail(LH_ESHAPE, "state %s: name too long or rank %d", spec.name, rank);
        return -1;
    }
    memcpy(spec.shape, shape, (size_t)rank * sizeof *shape);
    model->states[model->state_count] = spec;
    return model->state_count++;
}

/* ---- models ---- */

static lh_status build(lh_model *model, const lh_options *options) {
    LH_TRY(lh_options_copy(options, &model->options));
    LH_TRY(lh_params_create(&model->params));
    model->instance = lh_allocate_zeroed(1, model->class->instance_size + 1);
    if (model->instance == NULL) return LH_EMEMORY;
    lh_options_fill(model->options, model->instance);
    lh_declare declare = {.model = model};
    lh_adapter *adapter = &model->adapter;
    const lh_model_setup *told = adapter->ways != 0 ? &adapter->inner : &model->setup;
    LH_TRY(model->class->declare(model->instance, told, &declare));
    if (adapter->ways != 0) adapter->declare(adapter, &model->setup, &declare);
    LH_TRY(declare.status);
    return lh_params_status(model->params);
}

lh_status lh_model_create(const lh_model_class *class, const lh_options *options,
                          const lh_model_setup *setup, lh_model **out) {
    return lh_model_create_adapted(class, options, setup, &(lh_adapter){0}, out);
}

lh_status lh_model_create_adapted(const lh_model_class *class, const lh_options *options,
                                  const lh_model_setup *setup, const lh_adapter *adapter,
                                  lh_model **out) {
    lh_model *model = lh_allocate_zeroed(1, sizeof *model);
    if (model == NULL) return LH_EMEMORY;
    model->class = class;
    model->setup = *setup;
    model->adapter = *adapter;
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

double lh_model_flops_per_token(const lh_model *model, int64_t length) {
    if (model->adapter.ways != 0) return model->adapter.flops_per_token(model, length);
    return model->class->flops_per_token(model->instance, length);
}

bool lh_model_splits(const lh_model *model) {
    const lh_model_class *class = model->class;
    if ((class->abilities & LH_ABLE_STATE) == 0) return false;
    return class->splits == NULL || class->splits(model->instance);
}
