/* The list of declared parameters, their flat blocks, and the values they begin with. */
#include "harness/engine/params.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/array.h"
#include "harness/engine/gradient.h"
#include "kernels/random.h"

/* Parameters start on multiples of this many elements: whole cache lines. */
enum { ALIGNMENT = 16 };

struct lh_params {
    lh_param *item;
    int64_t *offset;
    int count;
    int64_t capacity, offset_capacity;
    int groups, group; /* so far; of what is declared now */
    lh_status status;
    int64_t extent; /* elements of the flat blocks */
    lh_tensor *values, *gradients;
};

lh_status lh_params_create(lh_params **out) {
    lh_params *params = lh_allocate_zeroed(1, sizeof *params);
    if (params == NULL) return LH_EMEMORY;
    *out = params;
    return LH_OK;
}

void lh_params_destroy(lh_params *params) {
    if (params == NULL) return;
    for (int i = 0; i < params->count; ++i)
        lh_tensor_release(params->item[i].value);
    lh_tensor_release(params->values);
    lh_tensor_release(params->gradients);
    free(params->item);
    free(params->offset);
    free(params);
}

static lh_status reserve(lh_params *params) {
    const int64_t count = params->count + 1;
    LH_TRY(lh_array_reserve(&params->item, &params->capacity, count, sizeof *params->item));
    return lh_array_reserve(&params->offset, &params->offset_capacity, count,
                            sizeof *params->offset);
}

static int refuse(lh_params *params, lh_status status) {
    params->status = status;
    return -1;
}

int lh_params_declare(lh_params *params, lh_init init, int rank, const int64_t *shape,
                      const char *name, ...) {
    if (params->status != LH_OK) return -1;
    if (reserve(params) != LH_OK) return refuse(params, LH_EMEMORY);
    lh_param made = {.rank = rank, .init = init, .decay = rank > 1, .group = params->group};
    va_list arguments;
    va_start(arguments, name);
    const int length = vsnprintf(made.name, sizeof made.name, name, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof made.name || rank < 1 || rank > LH_MAX_RANK) {
        return refuse(
            params, lh_fail(LH_ESHAPE, "parameter %s: name too long or rank %d", made.name, rank));
    }
    if (lh_params_find(params, made.name) >= 0) {
        return refuse(params, lh_fail(LH_ESTATE, "parameter %s is declared twice", made.name));
    }
    for (int i = 0; i < rank; ++i) {
        if (shape[i] < 1) {
            return refuse(params, lh_fail(LH_ESHAPE, "parameter %s: axis %d of size %lld",
                                          made.name, i, (long long)shape[i]));
        }
        made.shape[i] = shape[i];
    }
    if (!lh_shape_count(rank, shape, LH_TENSOR_ELEMENTS, &made.count)) {
        return refuse(params,
                      lh_fail(LH_ESHAPE, "parameter %s: more than 2^48 elements", made.name));
    }
    params->item[params->count] = made;
    params->offset[params->count] = params->extent;
    params->extent += lh_chunk_count(made.count, ALIGNMENT) * ALIGNMENT;
    return params->count++;
}

lh_status lh_params_status(const lh_params *params) {
    return params->status;
}

void lh_params_mark_embedding(lh_params *params) {
    if (params->count > 0) params->item[params->count - 1].embedding = true;
}

void lh_params_mark_undecayed(lh_params *params) {
    if (params->count > 0) params->item[params->count - 1].decay = false;
}

void lh_params_set_rows(lh_params *params, int64_t rows) {
    if (params->count > 0) params->item[params->count - 1].rows = rows;
}

void lh_params_mark_statistic(lh_params *params) {
    lh_params_mark_undecayed(params);
    if (params->count > 0) params->item[params->count - 1].statistic = true;
}

void lh_params_set_initial(lh_params *params, const double *values) {
    if (params->count > 0) params->item[params->count - 1].initial = values;
}

void lh_params_begin_group(lh_params *params) {
    params->group = ++params->groups;
}

void lh_params_end_group(lh_params *params) {
    params->group = 0;
}

bool lh_params_have_groups(const lh_params *params) {
    return params->groups > 0;
}

int lh_params_count(const lh_params *params) {
    return params->count;
}

const lh_param *lh_params_at(const lh_params *params, int index) {
    return &params->item[index];
}

int lh_params_find(const lh_params *params, const char *name) {
    for (int i = 0; i < params->count; ++i) {
        if (strcmp(params->item[i].name, name) == 0) return i;
    }
    return -1;
}

int64_t lh_params_elements(const lh_params *params, bool with_embedding) {
    int64_t count = 0;
    for (int i = 0; i < params->count; ++i) {
        const lh_param *param = &params->item[i];
        if (!param->statistic && (with_embedding || !param->embedding)) count += param->count;
    }
    return count;
}

/* ---- allocation ---- */

/* A view of `count` elements of a flat block, seen in the parameter's shape. */
static lh_tensor *part_of(const lh_tensor *block, const lh_param *param, int64_t offset) {
    lh_tensor *part = lh_tensor_detached(block);
    if (part == NULL) return NULL;
    part->rank = param->rank;
    part->offset = offset;
    for (int64_t i = param->rank - 1, stride = 1; i >= 0; stride *= param->shape[i--]) {
        part->shape[i] = param->shape[i];
        part->stride[i] = stride;
    }
    return part;
}

static lh_status attach_gradient(const lh_param *param, const lh_tensor *gradients, int64_t offset,
                                 lh_tensor *value) {
    LH_TRY(lh_tensor_require_gradient(value));
    value->gradient->persistent = true;
    value->gradient->value = part_of(gradients, param, offset);
    return value->gradient->value != NULL ? LH_OK : LH_EMEMORY;
}

lh_status lh_param_view(const lh_param *param, const lh_tensor *values, const lh_tensor *gradients,
                        int64_t offset, lh_tensor **out) {
    lh_tensor *value = part_of(values, param, offset);
    if (value == NULL) return LH_EMEMORY;
    const lh_status status = attach_gradient(param, gradients, offset, value);
    if (status == LH_OK)
        *out = value;
    else
        lh_tensor_release(value);
    return status;
}

lh_status lh_params_allocate(lh_params *params, lh_pool *pool) {
    LH_TRY(params->status);
    LH_TRY(lh_tensor_create_zero(pool, LH_REAL, 1, &params->extent, &params->values));
    LH_TRY(lh_tensor_create_zero(pool, LH_REAL, 1, &params->extent, &params->gradients));
    for (int i = 0; i < params->count; ++i) {
        lh_param *param = &params->item[i];
        LH_TRY(lh_param_view(param, params->values, params->gradients, params->offset[i],
                             &param->value));
    }
    return LH_OK;
}

/* ---- initial values ---- */

/* The deviation of N(0, 1) cut at two sigma. */
static const double truncated_deviation = 0.87962566103423978;

/* Draws again, from words far past the first round's, until the value is within two sigma. */
static double truncated_normal(lh_random_key key, uint64_t index) {
    for (uint64_t round = 0;; ++round) {
        const double z = lh_random_normal(key, index + (round << 40));
        if (fabs(z) <= 2.0) return z / truncated_deviation;
    }
}

static double sinusoid(int64_t width, uint64_t index) {
    const int64_t column = (int64_t)index % width, pair = column - column % 2;
    const double angle =
        (double)((int64_t)index / width) * pow(10000.0, -(double)pair / (double)width);
    return column % 2 == 0 ? sin(angle) : cos(angle);
}

/* mean +- deviation */
static double uniform(const lh_init *init, uint32_t word) {
    return init->mean + init->deviation * (2.0 * lh_random_open_unit(word) - 1.0);
}

/* The lowest bit is the sign. */
static double either_sign(const lh_init *init, uint32_t word) {
    return (word & 1) != 0 ? -uniform(init, word) : uniform(init, word);
}

static double draw(const lh_param *param, lh_random_key key, uint64_t index) {
    const lh_init *init = &param->init;
    switch (init->kind) {
    case LH_INIT_NORMAL:
        return init->mean + init->deviation * lh_random_normal(key, index);
    case LH_INIT_TRUNCATED_NORMAL:
        return init->mean + init->deviation * truncated_normal(key, index);
    case LH_INIT_UNIFORM:
        return uniform(init, lh_random_word(key, index));
    case LH_INIT_EITHER_SIGN:
        return either_sign(init, lh_random_word(key, index));
    case LH_INIT_SINUSOIDS:
        return sinusoid(param->shape[param->rank - 1], index);
    case LH_INIT_CONSTANT:
        break;
    }
    return init->mean;
}

lh_status lh_params_initialize(lh_params *params, uint64_t seed) {
    for (int i = 0; i < params->count; ++i) {
        const lh_param *param = &params->item[i];
        real *host = lh_allocate((size_t)param->count * sizeof *host);
        if (host == NULL) return LH_EMEMORY;
        const lh_random_key key = {.seed = seed, .stream = LH_STREAM_INIT, .op = (uint32_t)i};
#pragma omp parallel for schedule(static)
        for (int64_t e = 0; e < param->count; ++e) {
            host[e] =
                (real)(param->initial != NULL ? param->initial[e] : draw(param, key, (uint64_t)e));
        }
        const lh_status status = lh_tensor_write(param->value, host, param->count);
        free(host);
        LH_TRY(status);
    }
    return LH_OK;
}

lh_tensor *lh_params_get(const lh_params *params, int index) {
    return index >= 0 && index < params->count ? params->item[index].value : NULL;
}

int64_t lh_params_offset(const lh_params *params, int index) {
    return index < params->count ? params->offset[index] : params->extent;
}

lh_tensor *lh_params_values(const lh_params *params) {
    return params->values;
}

lh_tensor *lh_params_gradients(const lh_params *params) {
    return params->gradients;
}

void lh_params_clear_gradients(lh_params *params) {
    for (int i = 0; i < params->count; ++i)
        lh_tensor_clear_gradient(params->item[i].value);
}

lh_status lh_params_settle_gradients(lh_params *params) {
    for (int i = 0; i < params->count; ++i)
        LH_TRY(lh_gradient_settle(params->item[i].value->gradient));
    return LH_OK;
}
