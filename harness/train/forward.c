#include "harness/train/forward.h"

#include "harness/train/batch.h"
#include "harness/train/loss.h"

#include <stdlib.h>
#include <string.h>

/* Everything that one call holds. */
typedef struct forward {
    const lh_forward_spec *spec;
    int64_t segment;
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    lh_batch batch;
    int32_t *tokens, *starts; /* host side of a segment */
    real *piece;              /* logits of a segment */
    real *logits;
    int64_t columns;
} forward;

static lh_status check_rows(const lh_forward_spec *spec, const int32_t *tokens, int64_t length) {
    for (int64_t i = 0; i < spec->rows * length; ++i) {
        if (tokens[i] < 0 || tokens[i] >= spec->setup.vocabulary)
            return lh_fail(LH_EOPTION,
                           "forward: token %d in row %lld, position %lld is outside the "
                           "vocabulary of %lld",
                           (int)tokens[i], (long long)(i / length), (long long)(i % length),
                           (long long)spec->setup.vocabulary);
    }
    return LH_OK;
}

static lh_status check_tokens(const lh_forward_spec *spec) {
    if (spec->rows < 1 || spec->length < 1 || spec->segment < 0)
        return lh_fail(LH_ESHAPE, "forward: %lld rows of %lld tokens in segments of %lld",
                       (long long)spec->rows, (long long)spec->length, (long long)spec->segment);
    if ((spec->model->abilities & LH_ABLE_TOKENS) == 0)
        return lh_fail(LH_EOPTION, "forward: %s does not take tokens", spec->model->name);
    return check_rows(spec, spec->tokens, spec->length);
}

static lh_status check_source(const lh_forward_spec *spec) {
    const bool encodes = (spec->model->abilities & LH_ABLE_SEQUENCE_TO_SEQUENCE) != 0;
    if (encodes && spec->source == NULL)
        return lh_fail(LH_EOPTION, "forward: %s needs a source for its encoder", spec->model->name);
    if (!encodes && spec->source != NULL)
        return lh_fail(LH_EOPTION, "forward: %s reads no source", spec->model->name);
    return encodes ? check_rows(spec, spec->source, spec->setup.source_length) : LH_OK;
}

static lh_status open_model(forward *f) {
    const lh_forward_spec *spec = f->spec;
    LH_TRY(lh_pool_open_device(spec->device, &f->device));
    LH_TRY(lh_pool_create(f->device, &f->pool));
    LH_TRY(lh_tape_create(f->pool, &f->tape));
    LH_TRY(lh_model_create(spec->model, spec->options, &spec->setup, &f->model));
    if (spec->model->check != NULL)
        LH_TRY(spec->model->check(f->model->instance, spec->rows, f->segment));
    LH_TRY(lh_params_allocate(f->model->params, f->pool));
    LH_TRY(lh_params_initialize(f->model->params, spec->seed));
    if (spec->weights != NULL)
        LH_TRY(
            lh_params_load(f->model->params, spec->weights, spec->model->published_names, false));
    return lh_state_create(f->model, f->pool, spec->rows, &f->state);
}

/* Tokens first .. first + length - 1 of every row; past the end token 0. */
static lh_status upload_segment(forward *f, int64_t first, int64_t length) {
    const lh_forward_spec *spec = f->spec;
    for (int64_t r = 0; r < spec->rows; ++r) {
        for (int64_t t = 0; t < length; ++t) {
            const bool inside = first + t < spec->length;
            f->tokens[r * length + t] = inside ? spec->tokens[r * spec->length + first + t] : 0;
        }
        f->starts[r] = first == 0;
    }
    const lh_host_batch host = {.rows = spec->rows,
                                .length = length,
                                .source_length = spec->setup.source_length,
                                .tokens = f->tokens,
                                .source_tokens = spec->source,
                                .source_count = spec->source_count,
                                .starts = f->starts};
    return lh_batch_upload(f->pool, &spec->setup, &host, &f->batch);
}

/* Copies a segment's logits [rows][length][columns] to their place. */
static lh_status keep_logits(forward *f, const lh_tensor *logits, int64_t first, int64_t length) {
    const lh_forward_spec *spec = f->spec;
    const int64_t columns = logits->shape[2];
    const size_t row = (size_t)columns * sizeof(real);
    const int64_t kept = first + length <= spec->length ? length : spec->length - first;
    if (f->logits == NULL) {
        f->columns = columns;
        f->logits = lh_allocate((size_t)(spec->rows * spec->length) * row);
        f->piece = lh_allocate((size_t)(spec->rows * f->segment) * row);
        if (f->logits == NULL || f->piece == NULL) return LH_EMEMORY;
    }
    LH_TRY(lh_tensor_read(logits, f->piece, lh_tensor_count(logits)));
    for (int64_t r = 0; r < spec->rows; ++r)
        memcpy(f->logits + (r * spec->length + first) * columns, f->piece + r * length * columns,
               (size_t)kept * row);
    return LH_OK;
}

static lh_status run_segment(forward *f, int64_t first, int64_t length) {
    lh_output output = {0};
    LH_TRY(upload_segment(f, first, length));
    lh_tape_begin(f->tape, false, f->spec->seed, 0);
    const lh_scope scope = lh_scope_open(f->tape);
    LH_TRY(lh_model_forward(f->model, f->tape, f->state, &f->batch, false, &output));
    const lh_tensor *logits = lh_loss_logits(f->tape, &output);
    if (logits == NULL) return lh_error_get()->status;
    LH_TRY(keep_logits(f, logits, first, length));
    LH_TRY(lh_state_commit(f->state));
    lh_scope_close(f->tape, scope, NULL);
    return LH_OK;
}

static lh_status run_segments(forward *f) {
    const lh_forward_spec *spec = f->spec;
    const bool fill_up = (spec->model->abilities & LH_ABLE_CAUSAL) != 0;
    f->tokens = lh_allocate_zeroed((size_t)(spec->rows * f->segment), sizeof *f->tokens);
    f->starts = lh_allocate_zeroed((size_t)spec->rows, sizeof *f->starts);
    if (f->tokens == NULL || f->starts == NULL) return LH_EMEMORY;
    for (int64_t first = 0; first < spec->length; first += f->segment) {
        const int64_t rest = spec->length - first;
        const int64_t length = rest >= f->segment || fill_up ? f->segment : rest;
        LH_TRY(run_segment(f, first, length));
    }
    return LH_OK;
}

static void close_forward(forward *f) {
    lh_batch_clear(&f->batch);
    if (f->tape != NULL) lh_tape_destroy(f->tape);
    if (f->state != NULL) lh_state_destroy(f->state);
    if (f->model != NULL) lh_model_destroy(f->model);
    if (f->pool != NULL) lh_pool_destroy(f->pool);
    lh_device_close(f->device);
    free(f->tokens);
    free(f->starts);
    free(f->piece);
    free(f->logits);
}

lh_status lh_forward_logits(const lh_forward_spec *spec, real **logits, int64_t *columns) {
    *logits = NULL;
    forward f = {.spec = spec, .segment = spec->segment > 0 ? spec->segment : spec->length};
    lh_status status = check_tokens(spec);
    if (status == LH_OK) status = check_source(spec);
    if (status == LH_OK) status = open_model(&f);
    if (status == LH_OK) status = run_segments(&f);
    if (status == LH_OK) {
        *logits = f.logits;
        *columns = f.columns;
        f.logits = NULL;
    }
    close_forward(&f);
    return status;
}
