/* Segments of the given input go through a model; what comes out is put together on the host. */
#include "harness/infer/forward.h"

#include "harness/engine/state.h"
#include "harness/train/adapter.h"
#include "harness/train/batch.h"
#include "harness/train/loss.h"

#include <stdlib.h>
#include <string.h>

/* Everything that one call holds. */
typedef struct forward {
    const lh_forward_spec *spec;
    int64_t segment;
    int64_t length;   /* of the pass under way, filled up */
    lh_window window; /* of a model with a cache */
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    lh_batch batch;
    int32_t *tokens, *starts; /* host side of a segment */
    int32_t *past, *past_count;
    real *vectors;
    real *piece; /* outputs of a segment */
    lh_forward_result result;
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

static lh_status check_inputs(const lh_forward_spec *spec) {
    if (spec->rows < 1 || spec->length < 1 || spec->segment < 0)
        return lh_fail(LH_ESHAPE, "forward: %lld rows of %lld inputs in segments of %lld",
                       (long long)spec->rows, (long long)spec->length, (long long)spec->segment);
    return spec->vectors != NULL ? LH_OK : check_rows(spec, spec->tokens, spec->length);
}

static lh_status check_heads(const lh_forward_spec *spec) {
    if (!spec->shows_heads || spec->segment == 0 || spec->segment >= spec->length) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "forward: heads are shown of one segment, not of %lld inputs in "
                   "segments of %lld",
                   (long long)spec->length, (long long)spec->segment);
}

static lh_status check_source(const lh_forward_spec *spec) {
    const bool encodes = (spec->model->abilities & LH_ABLE_SEQUENCE_TO_SEQUENCE) != 0 &&
                         (spec->setup.source_vocabulary > 0 || spec->setup.past_length == 0);
    if (encodes && spec->segment > 0 && spec->segment < spec->length)
        return lh_fail(LH_EOPTION,
                       "forward: the decoder of %s would begin anew in each segment of %lld: read "
                       "all %lld tokens as one",
                       spec->model->name, (long long)spec->segment, (long long)spec->length);
    if (encodes && spec->source == NULL && spec->vectors == NULL)
        return lh_fail(LH_EOPTION, "forward: %s needs a source for its encoder", spec->model->name);
    return spec->source != NULL ? check_rows(spec, spec->source, spec->setup.source_length) : LH_OK;
}

/* Appends an attention's heads; of `shown` [rows][length][encoded][width] the first row, without
 * what fills the segment up. */
static lh_status keep_heads(void *context, const lh_tensor *shown) {
    forward *f = context;
    lh_forward_result *result = &f->result;
    const int64_t length = f->spec->length, encoded = shown->shape[2], width = shown->shape[3];
    const bool is_like = result->attentions == 0 || encoded == result->encoded;
    if (shown->shape[1] != f->length || !is_like)
        return lh_fail(LH_EOPTION,
                       "forward: %s has attentions of unlike lengths or heads, which "
                       "one array cannot hold",
                       f->spec->model->name);
    const int64_t old = result->attentions * encoded * length, count = encoded * length;
    real *heads = lh_reallocate(result->heads, (size_t)(old + count) * sizeof *heads);
    real *all = lh_allocate((size_t)lh_tensor_count(shown) * sizeof *all);
    lh_status status = heads != NULL && all != NULL ? LH_OK : LH_EMEMORY;
    if (heads != NULL) result->heads = heads;
    if (status == LH_OK) status = lh_tensor_read(shown, all, lh_tensor_count(shown));
    for (int64_t i = 0; status == LH_OK && i < count; ++i) {
        const real *from = all + (i % length * encoded + i / length) * width;
        double sum = 0.0;
        for (int64_t c = 0; c < width; ++c)
            sum += (double)from[c];
        heads[old + i] = (real)(sum / (double)width);
    }
    free(all);
    result->encoded = encoded;
    result->attentions += 1;
    return status;
}

/* A row of any length is one segment where none is given, which windows need not divide. */
static lh_status check_segment(const forward *f) {
    const lh_status status = lh_model_check(f->model, f->segment);
    if (status != LH_OK && f->spec->segment == 0)
        lh_note("forward: all %lld inputs are one segment without --segment N",
                (long long)f->segment);
    return status;
}

static lh_status open_model(forward *f) {
    const lh_forward_spec *spec = f->spec;
    LH_TRY(lh_pool_open_device(spec->device, &f->device));
    LH_TRY(lh_pool_create(f->device, &f->pool));
    LH_TRY(lh_tape_create(f->pool, &f->tape));
    if (spec->shows_heads) lh_tape_set_viewer(f->tape, keep_heads, f);
    LH_TRY(lh_model_create_for(spec->model, spec->options, &spec->setup, &f->model));
    if (spec->model->window != NULL) f->window = spec->model->window(f->model->instance);
    LH_TRY(check_segment(f));
    LH_TRY(lh_params_allocate(f->model->params, f->pool));
    LH_TRY(lh_params_initialize(f->model->params, spec->seed));
    if (spec->weights != NULL)
        LH_TRY(lh_params_load(f->model->params, spec->weights, spec->model->published_names,
                              f->model->options, false));
    return lh_state_create(f->model, f->pool, spec->rows, &f->state);
}

/* Step `at` of row r goes to place t of a segment of `length`. */
static void copy_input(forward *f, int64_t r, int64_t at, int64_t t, int64_t length) {
    const lh_forward_spec *spec = f->spec;
    const int64_t width = spec->setup.input_features, from = r * spec->length + at,
                  to = r * length + t;
    if (spec->vectors != NULL) {
        memcpy(f->vectors + to * width, spec->vectors + from * width, (size_t)width * sizeof(real));
    } else {
        f->tokens[to] = spec->tokens[from];
    }
}

/* Inputs first .. first + length - 1 of every row; past the end token 0, or zeros. */
static lh_status upload_segment(forward *f, int64_t first, int64_t length, lh_host_batch *host) {
    const lh_forward_spec *spec = f->spec;
    const size_t steps = (size_t)(spec->rows * length);
    if (f->tokens != NULL) memset(f->tokens, 0, steps * sizeof *f->tokens);
    if (f->vectors != NULL)
        memset(f->vectors, 0, steps * (size_t)spec->setup.input_features * sizeof(real));
    for (int64_t r = 0; r < spec->rows; ++r) {
        for (int64_t t = 0; t < length && first + t < spec->length; ++t)
            copy_input(f, r, first + t, t, length);
        f->starts[r] = first == 0;
        if (f->past != NULL)
            f->past_count[r] =
                lh_copy_past(spec->tokens + r * spec->length, first, spec->setup.past_length,
                             f->past + r * spec->setup.past_length);
    }
    *host = (lh_host_batch){.rows = spec->rows,
                            .length = length,
                            .source_length = spec->setup.source_length,
                            .tokens = f->tokens,
                            .source_tokens = spec->source,
                            .source_count = spec->source_count,
                            .vectors = f->vectors,
                            .past = f->past,
                            .past_count = f->past_count,
                            .starts = f->starts};
    return lh_model_upload(f->pool, f->model, host, &f->batch);
}

/* Room for what all segments give, of which one has `given` steps. */
static lh_status allocate_result(forward *f, const lh_tensor *y, bool every_step) {
    const lh_forward_spec *spec = f->spec;
    const int64_t segments = lh_chunk_count(spec->length, f->segment);
    f->result.rows = spec->rows;
    f->result.length = every_step ? spec->length : segments * y->shape[1];
    f->result.columns = y->shape[2];
    const size_t numbers = (size_t)(f->result.rows * f->result.length * f->result.columns);
    f->result.values = lh_allocate_zeroed(numbers, sizeof(real));
    f->piece = lh_allocate((size_t)lh_tensor_count(y) * sizeof(real));
    return f->result.values != NULL && f->piece != NULL ? LH_OK : LH_EMEMORY;
}

/* Copies a segment's outputs [rows][given][columns] to their place. */
static lh_status keep_outputs(forward *f, const lh_tensor *y, int64_t first, int64_t length) {
    const int64_t given = y->shape[1], columns = y->shape[2];
    const bool every_step = given == length;
    if (f->result.values == NULL) LH_TRY(allocate_result(f, y, every_step));
    const int64_t at = every_step ? first : first / f->segment * given,
                  left = f->result.length - at, kept = given < left ? given : left;
    LH_TRY(lh_tensor_read(y, f->piece, lh_tensor_count(y)));
    for (int64_t r = 0; r < f->result.rows; ++r)
        memcpy(f->result.values + (r * f->result.length + at) * columns,
               f->piece + r * given * columns, (size_t)(kept * columns) * sizeof(real));
    return LH_OK;
}

/* Where in the model's window the segment from `first` on begins, which a cache continues. Windows
 * that overlap read tokens again, which segments do not. */
static int64_t position_of(const forward *f, int64_t first) {
    const bool goes_on = f->window.tokens > 0 && f->window.overlap == 0;
    return goes_on ? first % f->window.tokens : 0;
}

static lh_status run_segment(forward *f, int64_t first, int64_t length) {
    lh_output output = {0};
    lh_host_batch host;
    LH_TRY(upload_segment(f, first, length, &host));
    f->batch.position = position_of(f, first);
    f->length = length;
    lh_tape_begin(f->tape, false, f->spec->seed, 0);
    const lh_scope scope = lh_scope_open(f->tape);
    LH_TRY(lh_model_forward(f->model, f->tape, f->state, &f->batch, false, &output));
    if ((f->model->adapter.ways & LH_ADAPT_JOIN) != 0)
        LH_TRY(lh_model_pick(f->tape, f->model, &host, 0, length, &output));
    const lh_tensor *logits = lh_loss_logits(f->tape, &output);
    if (logits == NULL) return lh_failed();
    LH_TRY(keep_outputs(f, logits, first, length));
    LH_TRY(lh_state_commit(f->state));
    lh_scope_close(f->tape, scope, NULL);
    return LH_OK;
}

static lh_status allocate_past(forward *f) {
    const size_t rows = (size_t)f->spec->rows;
    f->past = lh_allocate(rows * (size_t)f->spec->setup.past_length * sizeof *f->past);
    f->past_count = lh_allocate(rows * sizeof *f->past_count);
    return f->past != NULL && f->past_count != NULL ? LH_OK : LH_EMEMORY;
}

static lh_status run_segments(forward *f) {
    const lh_forward_spec *spec = f->spec;
    const bool fill_up = (spec->model->abilities & LH_ABLE_CAUSAL) != 0;
    const size_t steps = (size_t)(spec->rows * f->segment);
    if (spec->vectors == NULL) f->tokens = lh_allocate(steps * sizeof *f->tokens);
    if (spec->vectors != NULL)
        f->vectors = lh_allocate(steps * (size_t)spec->setup.input_features * sizeof(real));
    f->starts = lh_allocate_zeroed((size_t)spec->rows, sizeof *f->starts);
    if ((f->tokens == NULL && f->vectors == NULL) || f->starts == NULL) return LH_EMEMORY;
    if ((f->model->adapter.ways & LH_ADAPT_PAST) != 0) LH_TRY(allocate_past(f));
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
    free(f->past);
    free(f->past_count);
    free(f->vectors);
    free(f->piece);
    free(f->result.values);
    free(f->result.heads);
}

lh_status lh_forward_run(const lh_forward_spec *spec, lh_forward_result *out) {
    *out = (lh_forward_result){0};
    forward f = {.spec = spec, .segment = spec->segment > 0 ? spec->segment : spec->length};
    lh_status status = check_inputs(spec);
    if (status == LH_OK) status = check_source(spec);
    if (status == LH_OK) status = check_heads(spec);
    if (status == LH_OK) status = open_model(&f);
    if (status == LH_OK) status = run_segments(&f);
    if (status == LH_OK && spec->shows_heads && f.result.attentions == 0)
        status =
            lh_fail(LH_EOPTION, "forward: %s has no recurrence encodings to show; set rsa_kinds",
                    spec->model->name);
    if (status == LH_OK) {
        *out = f.result;
        f.result.values = f.result.heads = NULL;
    }
    close_forward(&f);
    return status;
}
