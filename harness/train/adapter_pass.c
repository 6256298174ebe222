/* A segment through an adapter: what the model is given to read, and what its answer becomes. */
#include "harness/train/adapter_pass.h"

#include <math.h>
#include <stdlib.h>

#include "harness/engine/state.h"
#include "harness/ops/ops.h"
#include "harness/train/adaptive_softmax.h"
#include "harness/train/batch.h"
#include "harness/train/loss.h"

static bool goes(const lh_model *model, uint32_t way) {
    return (model->adapter.ways & way) != 0;
}

int64_t lh_adapter_length(const lh_model *model, int64_t length) {
    const lh_model_setup *task = &model->setup;
    const bool encodes = model->adapter.inner.source_vocabulary > 0;
    if (goes(model, LH_ADAPT_JOIN)) return task->source_length + length;
    if (goes(model, LH_ADAPT_WINDOW)) return model->adapter.inner.seq_len + length;
    if (goes(model, LH_ADAPT_VECTORS) && encodes) return task->label_len + task->pred_len;
    return length;
}

/* ---- reading ---- */

/* Steps `first` on of [rows][length][width]. */
static lh_tensor *steps(lh_tape *tape, lh_tensor *x, int64_t first, int64_t count) {
    return lh_contiguous(tape, lh_slice(tape, x, 1, first, count));
}

static lh_tensor *embed(const lh_model *model, const lh_pass *pass, lh_tensor *tokens) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *x = lh_gather(tape, lh_pass_param(pass, model->adapter.embedding), tokens);
    return lh_scale(tape, x, sqrt((double)model->adapter.width));
}

/* Vectors in place of tokens; an encoder reads the observed steps, the decoder from the last
 * label_len of them on. */
static void read_vectors(const lh_model *model, const lh_pass *pass, lh_batch *inner) {
    const lh_model_setup *task = &model->setup;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *x = inner->vectors;
    inner->vectors = NULL;
    inner->tokens = x;
    if (model->adapter.inner.source_vocabulary == 0) return;
    inner->source_tokens = steps(tape, x, 0, task->seq_len);
    inner->length = task->label_len + task->pred_len;
    inner->tokens = steps(tape, x, task->seq_len - task->label_len, inner->length);
}

/* Values and, behind them, what is known: [rows][count][values + known]. */
static lh_tensor *beside(lh_tape *tape, lh_tensor *values, lh_tensor *known) {
    lh_tensor *const parts[] = {values, known};
    return lh_concat(tape, 2, parts, 2);
}

static lh_tensor *zeros_of(lh_tape *tape, int64_t rows, int64_t length, int64_t width) {
    const int64_t shape[] = {rows, length, width};
    return lh_zeros(tape, 3, shape);
}

/* A window: `source` [rows][observed][known] (NULL: a step of zeros) and behind it `x`. Of the
 * steps to predict the values are zeros, as in forecasting. */
static void make_window(const lh_model *model, lh_tape *tape, lh_tensor *source, lh_tensor *x,
                        lh_batch *inner) {
    const lh_model_setup *told = &model->adapter.inner;
    const int64_t rows = inner->rows, values = told->output_features;
    inner->vectors = NULL;
    if (x == NULL) return;
    lh_tensor *known = source != NULL ? source : zeros_of(tape, rows, 1, told->time_features);
    lh_tensor *seen = source != NULL ? source : zeros_of(tape, rows, 1, values);
    lh_tensor *const parts[] = {
        beside(tape, seen, known),
        beside(tape, zeros_of(tape, rows, x->shape[1], values), x),
    };
    inner->vectors = lh_concat(tape, 1, parts, 2);
    inner->observed = known != NULL ? known->shape[1] : 0;
    inner->length = inner->observed + x->shape[1];
}

static void read_tokens(const lh_model *model, const lh_pass *pass, lh_batch *inner) {
    const lh_batch *batch = lh_pass_batch(pass);
    lh_tensor *source = NULL;
    if (goes(model, LH_ADAPT_PAST)) return;
    inner->source_tokens = inner->source_count = NULL;
    if (goes(model, LH_ADAPT_CLASSES)) inner->tokens = batch->source_tokens;
    inner->length = inner->tokens->shape[1];
    if (!goes(model, LH_ADAPT_EMBED)) return;
    if (batch->source_tokens != NULL && goes(model, LH_ADAPT_WINDOW))
        source = embed(model, pass, batch->source_tokens);
    inner->vectors = embed(model, pass, inner->tokens);
    inner->tokens = NULL;
    if (goes(model, LH_ADAPT_WINDOW))
        make_window(model, lh_pass_tape(pass), source, inner->vectors, inner);
}

static lh_batch read_batch(const lh_model *model, const lh_pass *pass) {
    lh_batch inner = *lh_pass_batch(pass);
    if (goes(model, LH_ADAPT_VECTORS)) {
        read_vectors(model, pass, &inner);
    } else if (goes(model, LH_ADAPT_EMBED) || !goes(model, LH_ADAPT_WINDOW)) {
        read_tokens(model, pass, &inner);
    } else {
        make_window(model, lh_pass_tape(pass), NULL, inner.vectors, &inner);
    }
    return inner;
}

/* ---- answering ---- */

/* Of the head only these rows. */
static lh_status take_rows(lh_tape *tape, int64_t first, int64_t count, lh_output *out) {
    if (out->head_weight == NULL) return lh_fail(LH_EINTERNAL, "adapter: a model without a head");
    LH_TRY(lh_adaptive_widen(tape, out));
    out->head_weight = lh_contiguous(tape, lh_slice(tape, out->head_weight, 0, first, count));
    if (out->head_weight == NULL) return lh_failed();
    if (out->head_bias == NULL) return LH_OK;
    out->head_bias = lh_contiguous(tape, lh_slice(tape, out->head_bias, 0, first, count));
    return out->head_bias != NULL ? LH_OK : lh_failed();
}

/* What the numbers of a vector are: no head is left to the loss. */
static lh_status answer_vectors(const lh_model *model, lh_tape *tape, lh_output *out) {
    const lh_model_setup *task = &model->setup;
    LH_TRY(take_rows(tape, task->input_features, task->output_features, out));
    out->clusters = 0;
    out->hidden = lh_loss_logits(tape, out);
    out->head_weight = out->head_bias = NULL;
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static lh_status answer_tokens(const lh_model *model, const lh_pass *pass, lh_output *out) {
    const lh_adapter *adapter = &model->adapter;
    const lh_model_setup *task = &model->setup;
    lh_tape *tape = lh_pass_tape(pass);
    if (goes(model, LH_ADAPT_EMBED)) {
        out->head_weight = lh_pass_param(pass, adapter->head);
        out->head_bias = lh_pass_param(pass, adapter->head_bias);
        if (adapter->head != adapter->embedding) return LH_OK;
        out->head_weight = lh_slice(tape, out->head_weight, 0, 0, task->vocabulary);
        out->head_weight = lh_contiguous(tape, out->head_weight);
        return out->head_weight != NULL ? LH_OK : lh_failed();
    }
    if (goes(model, LH_ADAPT_PAST)) return LH_OK;
    if (!goes(model, LH_ADAPT_CLASSES)) return take_rows(tape, 0, task->vocabulary, out);
    LH_TRY(take_rows(tape, task->vocabulary, task->classes, out));
    out->clusters = 0;
    return LH_OK;
}

lh_status lh_adapter_forward(const lh_model *model, lh_pass *pass, lh_output *out) {
    const lh_model_setup *task = &model->setup;
    lh_tape *tape = lh_pass_tape(pass);
    const lh_batch inner = read_batch(model, pass);
    if (inner.tokens == NULL && inner.vectors == NULL) return lh_failed();
    LH_TRY(lh_pass_run(pass, &inner, out));
    if (out->hidden == NULL) return lh_failed();
    const int64_t given = out->hidden->shape[1],
                  asked = task->pred_len > 0 ? task->pred_len : lh_pass_batch(pass)->length;
    if (given > asked) out->hidden = steps(tape, out->hidden, given - asked, asked);
    if (out->hidden == NULL) return lh_failed();
    if (goes(model, LH_ADAPT_VECTORS)) return answer_vectors(model, tape, out);
    return task->vocabulary > 0 ? answer_tokens(model, pass, out) : LH_OK;
}

/* ---- on the host ---- */

/* Arrays of joined rows. */
typedef struct joined {
    int32_t *tokens, *target;
    real *weights;
} joined;

/* Tokens of a row's source, before its padding. */
static int64_t source_tokens_of(const lh_host_batch *host, int64_t r) {
    return host->source_count != NULL ? host->source_count[r] : host->source_length;
}

/* Row r: the source, the target behind it, whose first token, which says begin, gives way to the
 * separator, and separators to the end. What a causal model predicts does not know how many. */
static void join_row(const lh_host_batch *host, int32_t separator, int64_t r, const joined *to) {
    const int64_t count = source_tokens_of(host, r), length = host->length,
                  whole = host->source_length + length, from = r * length, at = r * whole;
    for (int64_t t = 0; t < whole; ++t) {
        const int64_t i = t - count;
        const bool targeted = i >= 0 && i < length;
        to->tokens[at + t] = t < count ? host->source_tokens[r * host->source_length + t]
                             : i > 0 && i < length ? host->tokens[from + i]
                                                   : separator;
        to->target[at + t] = targeted && host->target != NULL ? host->target[from + i] : 0;
        to->weights[at + t] = !targeted               ? LH_R(0)
                              : host->weights != NULL ? host->weights[from + i]
                                                      : LH_R(1);
    }
}

static lh_status upload_joined(lh_pool *pool, const lh_model *model, const lh_host_batch *host,
                               lh_batch *batch) {
    const size_t count = (size_t)(host->rows * (host->source_length + host->length));
    const joined all = {.tokens = lh_allocate(count * sizeof *all.tokens),
                        .target = lh_allocate(count * sizeof *all.target),
                        .weights = lh_allocate(count * sizeof *all.weights)};
    lh_status status = all.tokens && all.target && all.weights ? LH_OK : LH_EMEMORY;
    for (int64_t r = 0; status == LH_OK && r < host->rows; ++r)
        join_row(host, (int32_t)model->setup.vocabulary, r, &all);
    lh_host_batch one = *host;
    one.length = host->source_length + host->length;
    one.tokens = all.tokens;
    one.target = host->target != NULL ? all.target : NULL;
    one.weights = host->target != NULL ? all.weights : NULL;
    one.source_tokens = one.source_count = NULL;
    if (status == LH_OK) status = lh_batch_upload(pool, &model->setup, &one, batch);
    free(all.tokens);
    free(all.target);
    free(all.weights);
    return status;
}

/* [rows][whole][width] -> the places of each row's target, [rows][count][width]. */
static lh_tensor *pick_joined(lh_tape *tape, const lh_host_batch *host, int64_t first,
                              int64_t count, lh_tensor *hidden) {
    const int64_t whole = hidden->shape[1], flat[] = {host->rows * whole, hidden->shape[2]},
                  shape[] = {host->rows, count};
    int32_t *places = lh_allocate((size_t)(host->rows * count) * sizeof *places);
    if (places == NULL) return NULL;
    for (int64_t i = 0; i < host->rows * count; ++i) {
        const int64_t r = i / count;
        places[i] = (int32_t)(r * whole + source_tokens_of(host, r) + first + i % count);
    }
    lh_tensor *table = lh_reshape(tape, lh_contiguous(tape, hidden), 2, flat);
    lh_tensor *y = lh_gather(tape, table, lh_integers(tape, 2, shape, places));
    free(places);
    return y;
}

lh_status lh_model_pick(lh_tape *tape, const lh_model *model, const lh_host_batch *host,
                        int64_t first, int64_t count, lh_output *out) {
    if (out->hidden == NULL) return lh_failed();
    out->hidden = goes(model, LH_ADAPT_JOIN) ? pick_joined(tape, host, first, count, out->hidden)
                                             : steps(tape, out->hidden, first, count);
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* Windows of a series overlap: what a model carries would see steps twice. */
static lh_status upload_afresh(lh_pool *pool, const lh_model *model, const lh_host_batch *host,
                               lh_batch *batch) {
    int32_t *starts = lh_allocate((size_t)host->rows * sizeof *starts);
    if (starts == NULL) return LH_EMEMORY;
    for (int64_t r = 0; r < host->rows; ++r)
        starts[r] = 1;
    lh_host_batch afresh = *host;
    afresh.starts = starts;
    const lh_status status = lh_batch_upload(pool, &model->setup, &afresh, batch);
    free(starts);
    return status;
}

/* The past as the source. Where none came before, a source of padding alone. */
static lh_status upload_past(lh_pool *pool, const lh_model *model, const lh_host_batch *host,
                             lh_batch *batch) {
    const int64_t rows = host->rows, most = model->setup.past_length;
    int32_t *none = lh_allocate_zeroed((size_t)(rows * (most + 1)), sizeof *none);
    if (none == NULL) return LH_EMEMORY;
    lh_host_batch encoded = *host;
    encoded.source_length = most;
    encoded.source_tokens = host->past != NULL ? host->past : none;
    encoded.source_count = host->past != NULL ? host->past_count : none + rows * most;
    const lh_status status = lh_batch_upload(pool, &model->setup, &encoded, batch);
    free(none);
    return status;
}

lh_status lh_model_upload(lh_pool *pool, const lh_model *model, const lh_host_batch *host,
                          lh_batch *batch) {
    if (goes(model, LH_ADAPT_JOIN)) return upload_joined(pool, model, host, batch);
    if (goes(model, LH_ADAPT_PAST)) return upload_past(pool, model, host, batch);
    if (goes(model, LH_ADAPT_VECTORS) && model->setup.pred_len > 0)
        return upload_afresh(pool, model, host, batch);
    return lh_batch_upload(pool, &model->setup, host, batch);
}
