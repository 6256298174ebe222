/* Uploading a host batch, and a rank's rows of one. */
#include "harness/train/batch.h"

#include <string.h>

static bool has_shape(const lh_tensor *tensor, int rank, const int64_t *shape) {
    if (tensor == NULL || tensor->rank != rank) return false;
    for (int i = 0; i < rank; ++i) {
        if (tensor->shape[i] != shape[i]) return false;
    }
    return true;
}

/* Makes *tensor hold `host`; a tensor of another shape is replaced, one of the same is reused. */
static lh_status upload(lh_pool *pool, lh_dtype dtype, int rank, const int64_t *shape,
                        const void *host, lh_tensor **tensor) {
    if (host == NULL || !has_shape(*tensor, rank, shape)) {
        lh_tensor_release(*tensor);
        *tensor = NULL;
    }
    if (host == NULL) return LH_OK;
    if (*tensor == NULL) LH_TRY(lh_tensor_create(pool, dtype, rank, shape, tensor));
    return lh_tensor_write(*tensor, host, lh_tensor_count(*tensor));
}

lh_status lh_batch_upload(lh_pool *pool, const lh_model_setup *setup, const lh_host_batch *host,
                          lh_batch *batch) {
    const int64_t rows = host->rows, length = host->length;
    const int64_t position[] = {rows, length};
    const int64_t source[] = {rows, host->source_length};
    const int64_t label[] = {rows};
    const int64_t input[] = {rows, length, setup->input_features};
    const int64_t output[] = {rows, host->target_length, setup->output_features};
    batch->rows = rows;
    batch->length = length;
    LH_TRY(upload(pool, LH_I32, 2, position, host->tokens, &batch->tokens));
    LH_TRY(upload(pool, LH_I32, 2, source, host->source_tokens, &batch->source_tokens));
    LH_TRY(upload(pool, LH_I32, 1, label, host->source_count, &batch->source_count));
    LH_TRY(upload(pool, LH_I32, 2, position, host->target, &batch->target));
    LH_TRY(upload(pool, LH_I32, 1, label, host->starts, &batch->starts));
    LH_TRY(upload(pool, LH_REAL, 3, input, host->vectors, &batch->vectors));
    LH_TRY(upload(pool, LH_REAL, 3, output, host->target_vectors, &batch->target_vectors));
    if (setup->output_features > 0)
        return upload(pool, LH_REAL, 3, output, host->weights, &batch->weights);
    return upload(pool, LH_REAL, 2, position, host->weights, &batch->weights);
}

void lh_batch_clear(lh_batch *batch) {
    lh_tensor_release(batch->tokens);
    lh_tensor_release(batch->source_tokens);
    lh_tensor_release(batch->source_count);
    lh_tensor_release(batch->target);
    lh_tensor_release(batch->starts);
    lh_tensor_release(batch->vectors);
    lh_tensor_release(batch->target_vectors);
    lh_tensor_release(batch->weights);
    *batch = (lh_batch){0};
}

int32_t lh_copy_past(const int32_t *tokens, int64_t at, int64_t most, int32_t *past) {
    const int64_t count = at < most ? at : most;
    memcpy(past, tokens + at - count, (size_t)count * sizeof *past);
    memset(past + count, 0, (size_t)(most - count) * sizeof *past);
    return (int32_t)count;
}

/* How many numbers a row has in each array. */
typedef struct row_sizes {
    int64_t position, source, past, vectors, target_vectors, weights;
} row_sizes;

static row_sizes row_sizes_of(const lh_model_setup *setup, const lh_host_batch *host) {
    const int64_t outputs = host->target_length * setup->output_features;
    return (row_sizes){.position = host->length,
                       .source = host->source_length,
                       .past = setup->past_length,
                       .vectors = host->length * setup->input_features,
                       .target_vectors = outputs,
                       .weights = setup->output_features > 0 ? outputs : host->length};
}

lh_host_batch lh_host_batch_rows(const lh_model_setup *setup, const lh_host_batch *host,
                                 lh_share rows) {
    const row_sizes size = row_sizes_of(setup, host);
    const int64_t first = rows.first;
    lh_host_batch part = *host;
    part.rows = rows.count;
    part.tokens = lh_integers_from(host->tokens, first * size.position);
    part.source_tokens = lh_integers_from(host->source_tokens, first * size.source);
    part.source_count = lh_integers_from(host->source_count, first);
    part.past = lh_integers_from(host->past, first * size.past);
    part.past_count = lh_integers_from(host->past_count, first);
    part.target = lh_integers_from(host->target, first * size.position);
    part.starts = lh_integers_from(host->starts, first);
    part.vectors = lh_reals_from(host->vectors, first * size.vectors);
    part.target_vectors = lh_reals_from(host->target_vectors, first * size.target_vectors);
    part.weights = lh_reals_from(host->weights, first * size.weights);
    return part;
}

static const int32_t *put_integers(int32_t **next, const int32_t *x, int64_t count) {
    int32_t *at = *next;
    if (x == NULL) return NULL;
    memcpy(at, x, (size_t)count * sizeof *x);
    *next += count;
    return at;
}

static const real *put_reals(real **next, const real *x, int64_t count) {
    real *at = *next;
    if (x == NULL) return NULL;
    memcpy(at, x, (size_t)count * sizeof *x);
    *next += count;
    return at;
}

/* The reals, which may need the wider places, come first. */
lh_status lh_host_batch_copy(const lh_model_setup *setup, const lh_host_batch *host,
                             lh_host_batch *out, void **memory) {
    const row_sizes size = row_sizes_of(setup, host);
    const int64_t rows = host->rows;
    const int64_t reals = rows * (size.vectors + size.target_vectors + size.weights);
    const int64_t integers = rows * (2 * size.position + size.source + size.past + 3);
    *memory = lh_allocate((size_t)reals * sizeof(real) + (size_t)integers * sizeof(int32_t));
    if (*memory == NULL) return LH_EMEMORY;
    real *next_real = *memory;
    int32_t *next = (int32_t *)(next_real + reals);
    *out = *host;
    out->vectors = put_reals(&next_real, host->vectors, rows * size.vectors);
    out->target_vectors = put_reals(&next_real, host->target_vectors, rows * size.target_vectors);
    out->weights = put_reals(&next_real, host->weights, rows * size.weights);
    out->tokens = put_integers(&next, host->tokens, rows * size.position);
    out->target = put_integers(&next, host->target, rows * size.position);
    out->source_tokens = put_integers(&next, host->source_tokens, rows * size.source);
    out->source_count = put_integers(&next, host->source_count, rows);
    out->past = put_integers(&next, host->past, rows * size.past);
    out->past_count = put_integers(&next, host->past_count, rows);
    out->starts = put_integers(&next, host->starts, rows);
    return LH_OK;
}

double lh_host_batch_weight(const lh_model_setup *setup, const lh_host_batch *host) {
    const int64_t positions = setup->output_features > 0
                                  ? host->rows * host->target_length * setup->output_features
                                  : host->rows * host->length;
    if (host->weights == NULL) return (double)positions;
    double weight = 0.0;
    for (int64_t i = 0; i < positions; ++i)
        weight += (double)host->weights[i];
    return weight;
}
