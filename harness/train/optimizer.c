/* Launches of the update kernels over runs of parameters, and the memory of their moments. */
#include "harness/train/optimizer.h"
#include "harness/engine/run_kernel.h"

#include <math.h>
#include <stdlib.h>

/* What Adafactor keeps for one parameter: indices into the moments, -1 when absent. */
typedef struct adafactor_slot {
    lh_factoring factoring;
    int row, column, full, momentum;
} adafactor_slot;

/* A run of the flat vectors with one weight decay. */
typedef struct flat_run {
    int64_t first, count;
    double weight_decay;
} flat_run;

struct lh_optimizer {
    lh_optimizer_spec spec;
    const lh_params *params;
    lh_pool *pool;
    lh_tensor **moment;
    int moment_count;
    adafactor_slot *slot; /* adafactor: one per parameter */
    flat_run *run;        /* the others */
    int run_count;
    lh_optimizer_step *step; /* on the device */
    double *sum_squares;     /* on the device */
    real *factor;            /* on the device */
};

/* ---- layout ---- */

lh_factoring lh_adafactor_factoring(int rank, const int64_t *shape, int64_t minimum) {
    lh_factoring result = {.factored = rank >= 2, .outer = 1, .rows = 1, .columns = 1};
    int64_t count = 1;
    for (int i = 0; i < rank; ++i)
        count *= shape[i];
    if (rank >= 2) {
        const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
        const int64_t smaller = rows < columns ? rows : columns;
        if (smaller < minimum) result.factored = false;
        for (int i = 0; i < rank - 2; ++i) {
            if (shape[i] > smaller) result.factored = false;
        }
    }
    if (!result.factored) {
        result.columns = count;
        return result;
    }
    result.rows = shape[rank - 2];
    result.columns = shape[rank - 1];
    result.outer = result.rows * result.columns > 0 ? count / (result.rows * result.columns) : 0;
    return result;
}

/* Appends a zeroed moment vector; its index goes to *index. */
static lh_status add_moment(lh_optimizer *optimizer, int64_t count, int *index) {
    lh_tensor *moment = NULL;
    LH_TRY(lh_tensor_create_zero(optimizer->pool, LH_REAL, 1, &count, &moment));
    *index = optimizer->moment_count;
    optimizer->moment[optimizer->moment_count++] = moment;
    return LH_OK;
}

static lh_status create_adafactor_slot(lh_optimizer *optimizer, int index) {
    const lh_param *param = lh_params_at(optimizer->params, index);
    adafactor_slot *slot = &optimizer->slot[index];
    slot->factoring =
        lh_adafactor_factoring(param->rank, param->shape, optimizer->spec.factor_minimum);
    slot->row = slot->column = slot->full = slot->momentum = -1;
    const lh_factoring *f = &slot->factoring;
    if (f->factored) {
        LH_TRY(add_moment(optimizer, f->outer * f->rows, &slot->row));
        LH_TRY(add_moment(optimizer, f->outer * f->columns, &slot->column));
    } else {
        LH_TRY(add_moment(optimizer, param->count, &slot->full));
    }
    if (optimizer->spec.momentum > 0.0)
        LH_TRY(add_moment(optimizer, param->count, &slot->momentum));
    return LH_OK;
}

static lh_status create_adafactor(lh_optimizer *optimizer) {
    const int count = lh_params_count(optimizer->params);
    optimizer->slot = lh_allocate_zeroed((size_t)count + 1, sizeof *optimizer->slot);
    optimizer->moment = lh_allocate_zeroed(3 * (size_t)count + 1, sizeof *optimizer->moment);
    if (optimizer->slot == NULL || optimizer->moment == NULL) return LH_EMEMORY;
    for (int i = 0; i < count; ++i)
        LH_TRY(create_adafactor_slot(optimizer, i));
    return LH_OK;
}

/* Cuts the flat vectors into runs of equal weight decay; padding goes with the run before it. */
static lh_status create_runs(lh_optimizer *optimizer) {
    const lh_params *params = optimizer->params;
    const int count = lh_params_count(params);
    const int64_t total = lh_tensor_count(lh_params_values(params));
    optimizer->run = lh_allocate_zeroed((size_t)count + 1, sizeof *optimizer->run);
    if (optimizer->run == NULL) return LH_EMEMORY;
    for (int i = 0; i < count; ++i) {
        const double decay = lh_params_at(params, i)->decay ? optimizer->spec.weight_decay : 0.0;
        flat_run *last = optimizer->run + optimizer->run_count - 1;
        if (optimizer->run_count > 0 && !(last->weight_decay < decay) &&
            !(last->weight_decay > decay))
            continue;
        const int64_t first = optimizer->run_count > 0 ? lh_params_offset(params, i) : 0;
        if (optimizer->run_count > 0) last->count = first - last->first;
        optimizer->run[optimizer->run_count++] = (flat_run){first, total - first, decay};
    }
    return LH_OK;
}

static lh_status create_flat(lh_optimizer *optimizer) {
    const lh_optimizer_kind kind = optimizer->spec.kind;
    const int64_t total = lh_tensor_count(lh_params_values(optimizer->params));
    optimizer->moment = lh_allocate_zeroed(2, sizeof *optimizer->moment);
    if (optimizer->moment == NULL) return LH_EMEMORY;
    int index = 0;
    if (kind != LH_OPTIMIZER_SGD) {
        LH_TRY(add_moment(optimizer, total, &index));
        LH_TRY(add_moment(optimizer, total, &index));
    } else if (optimizer->spec.momentum > 0.0) {
        LH_TRY(add_moment(optimizer, total, &index));
    }
    return create_runs(optimizer);
}

static lh_status create_parts(lh_optimizer *optimizer) {
    void *step = NULL, *sum = NULL, *factor = NULL;
    lh_status status = lh_pool_take(optimizer->pool, sizeof *optimizer->step, &step);
    optimizer->step = step;
    if (status == LH_OK)
        status = lh_pool_take(optimizer->pool, sizeof *optimizer->sum_squares, &sum);
    optimizer->sum_squares = sum;
    if (status == LH_OK) status = lh_pool_take(optimizer->pool, sizeof *optimizer->factor, &factor);
    optimizer->factor = factor;
    LH_TRY(status);
    if (optimizer->spec.kind == LH_OPTIMIZER_ADAFACTOR) return create_adafactor(optimizer);
    return create_flat(optimizer);
}

/* An average that keeps all of itself takes in no gradient: nothing would be learned, or a number
 * divided by zero; so it would be where an average of squares is 0. */
static lh_status check_spec(const lh_optimizer_spec *spec) {
    const bool adafactor = spec->kind == LH_OPTIMIZER_ADAFACTOR,
               adam = spec->kind == LH_OPTIMIZER_ADAM || spec->kind == LH_OPTIMIZER_ADAMW;
    if (adafactor && spec->weight_decay > 0.0)
        return lh_fail(LH_EOPTION, "adafactor: weight_decay is not part of it (use adamw)");
    if (adafactor && spec->momentum >= 1.0)
        return lh_fail(LH_EOPTION, "adafactor: momentum=%g must be below 1", spec->momentum);
    if (adam && (spec->beta1 >= 1.0 || spec->beta2 >= 1.0))
        return lh_fail(LH_EOPTION, "adam: beta1=%g and beta2=%g must be below 1", spec->beta1,
                       spec->beta2);
    if (adam && !((real)spec->epsilon > LH_R(0)))
        return lh_fail(LH_EOPTION,
                       "adam: epsilon=%g must be above 0: what never had a gradient would be "
                       "divided by zero",
                       spec->epsilon);
    return LH_OK;
}

lh_status lh_optimizer_create(const lh_optimizer_spec *spec, const lh_params *params,
                              lh_optimizer **out) {
    *out = NULL;
    if (lh_params_values(params) == NULL)
        return lh_fail(LH_ESTATE, "optimizer: the parameters have not been allocated");
    LH_TRY(check_spec(spec));
    lh_optimizer *optimizer = lh_allocate_zeroed(1, sizeof *optimizer);
    if (optimizer == NULL) return LH_EMEMORY;
    optimizer->spec = *spec;
    optimizer->params = params;
    optimizer->pool = lh_params_values(params)->pool;
    const lh_status status = create_parts(optimizer);
    if (status != LH_OK) {
        lh_optimizer_destroy(optimizer);
        return status;
    }
    *out = optimizer;
    return LH_OK;
}

static void give_back(lh_pool *pool, void *memory, size_t bytes) {
    if (memory != NULL) lh_pool_return(pool, memory, bytes);
}

void lh_optimizer_destroy(lh_optimizer *optimizer) {
    if (optimizer == NULL) return;
    for (int i = 0; i < optimizer->moment_count; ++i)
        lh_tensor_release(optimizer->moment[i]);
    give_back(optimizer->pool, optimizer->step, sizeof *optimizer->step);
    give_back(optimizer->pool, optimizer->sum_squares, sizeof *optimizer->sum_squares);
    give_back(optimizer->pool, optimizer->factor, sizeof *optimizer->factor);
    free(optimizer->moment);
    free(optimizer->slot);
    free(optimizer->run);
    free(optimizer);
}

int lh_optimizer_moment_count(const lh_optimizer *optimizer) {
    return optimizer->moment_count;
}

lh_tensor *lh_optimizer_moment(const lh_optimizer *optimizer, int index) {
    return optimizer->moment[index];
}

/* ---- launches ---- */

static lh_status sum_gradient_squares(lh_optimizer *optimizer) {
    const lh_tensor *gradients = lh_params_gradients(optimizer->params);
    const lh_sum_squares_args args = {.count = lh_tensor_count(gradients),
                                      .x = lh_tensor_real(gradients),
                                      .y = optimizer->sum_squares,
                                      .write = LH_SET};
    return LH_RUN_W(optimizer->pool, sum_squares, &args);
}

/* The clipping factor stays on the device; *factor is NULL without clipping. */
static lh_status clip(lh_optimizer *optimizer, const real **factor) {
    *factor = NULL;
    if (optimizer->spec.clip <= 0.0) return LH_OK;
    LH_TRY(sum_gradient_squares(optimizer));
    const lh_clip_factor_args args = {.sum_squares = optimizer->sum_squares,
                                      .max_norm = optimizer->spec.clip,
                                      .factor = optimizer->factor};
    LH_TRY(LH_RUN(optimizer->pool, clip_factor, &args));
    *factor = optimizer->factor;
    return LH_OK;
}

static real *moment_at(const lh_optimizer *optimizer, int index, int64_t first) {
    if (index < 0 || index >= optimizer->moment_count) return NULL;
    return lh_tensor_real(optimizer->moment[index]) + first;
}

static lh_status update_sgd_run(lh_optimizer *optimizer, const flat_run *run, const real *factor) {
    const lh_sgd_args args = {.count = run->count,
                              .step = optimizer->step,
                              .momentum = optimizer->spec.momentum,
                              .weight_decay = run->weight_decay,
                              .factor = factor,
                              .g = lh_tensor_real(lh_params_gradients(optimizer->params)) +
                                   run->first,
                              .x = lh_tensor_real(lh_params_values(optimizer->params)) + run->first,
                              .m = moment_at(optimizer, 0, run->first)};
    return LH_RUN(optimizer->pool, sgd, &args);
}

static lh_status update_adam_run(lh_optimizer *optimizer, const flat_run *run, const real *factor) {
    const lh_adam_args args = {
        .count = run->count,
        .step = optimizer->step,
        .beta1 = optimizer->spec.beta1,
        .beta2 = optimizer->spec.beta2,
        .epsilon = optimizer->spec.epsilon,
        .weight_decay = run->weight_decay,
        .decoupled = optimizer->spec.kind == LH_OPTIMIZER_ADAMW,
        .factor = factor,
        .g = lh_tensor_real(lh_params_gradients(optimizer->params)) + run->first,
        .x = lh_tensor_real(lh_params_values(optimizer->params)) + run->first,
        .m = moment_at(optimizer, 0, run->first),
        .v = moment_at(optimizer, 1, run->first)};
    return LH_RUN(optimizer->pool, adam, &args);
}

static lh_adafactor_args adafactor_args(const lh_optimizer *optimizer, int index,
                                        const real *factor) {
    const adafactor_slot *slot = &optimizer->slot[index];
    const int64_t first = lh_params_offset(optimizer->params, index);
    const double clip = optimizer->spec.update_clip;
    return (lh_adafactor_args){.outer = slot->factoring.outer,
                               .rows = slot->factoring.rows,
                               .columns = slot->factoring.columns,
                               .factored = slot->factoring.factored,
                               .parameter_scale = optimizer->spec.parameter_scale,
                               .step = optimizer->step,
                               .decay = optimizer->spec.second_moment_decay,
                               .clip = clip > 0.0 ? clip : (double)INFINITY,
                               .momentum = optimizer->spec.momentum,
                               .factor = factor,
                               .g = lh_tensor_real(lh_params_gradients(optimizer->params)) + first,
                               .x = lh_tensor_real(lh_params_values(optimizer->params)) + first,
                               .row = moment_at(optimizer, slot->row, 0),
                               .column = moment_at(optimizer, slot->column, 0),
                               .v = moment_at(optimizer, slot->full, 0),
                               .m = moment_at(optimizer, slot->momentum, 0)};
}

static lh_status update_adafactor(lh_optimizer *optimizer, const real *factor) {
    const int count = lh_params_count(optimizer->params);
    for (int first = 0; first < count; first += LH_ADAFACTOR_TENSORS) {
        lh_adafactor_all_args args = {.count = 0};
        for (int i = first; i < count && args.count < LH_ADAFACTOR_TENSORS; ++i)
            args.tensor[args.count++] = adafactor_args(optimizer, i, factor);
        LH_TRY(LH_RUN_W(optimizer->pool, adafactor_all, &args));
    }
    return LH_OK;
}

static lh_status update_runs(lh_optimizer *optimizer, const real *factor) {
    for (int i = 0; i < optimizer->run_count; ++i) {
        if (optimizer->spec.kind == LH_OPTIMIZER_SGD)
            LH_TRY(update_sgd_run(optimizer, &optimizer->run[i], factor));
        else
            LH_TRY(update_adam_run(optimizer, &optimizer->run[i], factor));
    }
    return LH_OK;
}

lh_status lh_optimizer_update(lh_optimizer *optimizer, double rate, int64_t step) {
    lh_device *device = lh_pool_device(optimizer->pool);
    const lh_optimizer_step now = {.rate = rate, .step = step};
    LH_TRY(lh_pool_called("upload", device->upload(device, optimizer->step, &now, sizeof now)));
    const real *factor = NULL;
    LH_TRY(clip(optimizer, &factor));
    if (optimizer->spec.kind == LH_OPTIMIZER_ADAFACTOR) return update_adafactor(optimizer, factor);
    return update_runs(optimizer, factor);
}

lh_status lh_optimizer_gradient_norm(lh_optimizer *optimizer, double *norm) {
    lh_device *device = lh_pool_device(optimizer->pool);
    double sum = 0.0;
    LH_TRY(sum_gradient_squares(optimizer));
    LH_TRY(lh_pool_called("download",
                          device->download(device, &sum, optimizer->sum_squares, sizeof sum)));
    *norm = sqrt(sum);
    return LH_OK;
}
