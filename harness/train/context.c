/* Losses position by position, and passages of which a part is kept or one token is changed. */
#include "harness/train/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/draw.h"
#include "harness/train/adapter.h"
#include "harness/train/adapter_pass.h"
#include "harness/train/batch.h"
#include "harness/train/interrupt.h"
#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

const char *const lh_context_names[LH_CONTEXT_PARTS] = {"position", "recall", "kept", "changed"};

/* Where documents are read, row by row. */
typedef struct reading {
    int64_t rows, vocabulary;
    int64_t *read;   /* [rows] tokens of its document so far */
    int64_t *repeat; /* [rows] tokens with which a segment repeats the one before */
    int64_t *seen;   /* [rows][vocabulary] how many had been read when a token was, 0: never */
    int32_t *piece;  /* [rows][length + 1] the passage under way */
    int64_t *filled; /* [rows] of it */
} reading;

typedef struct context {
    lh_session *session;
    lh_context *out;
    int64_t length, most;
    lh_state *state;
    lh_batch batch;
    real *logits;
    double *bits; /* [rows][length] of the batch that was scored last */
    uint8_t *right;
    int64_t logit_room, room;
    reading reading;
    int32_t *passage; /* [most][length + 1] */
    int64_t passages;
    /* A segment of passages, rows of the training's batch. */
    int32_t *tokens, *target, *starts;
    int32_t *past, *past_count; /* what is kept of the passage before it */
    double *before, *after;     /* [rows][length] bits as they are, and with a token changed */
} context;

/* The k of the greatest 2^k that a distance reaches. */
static int point_of(int64_t distance) {
    int k = 0;
    while (k + 1 < LH_CONTEXT_POINTS && distance >> (k + 1) > 0)
        ++k;
    return k;
}

static void add(context *c, lh_context_part part, int64_t distance, double value) {
    const int k = point_of(distance);
    c->out->sum[part][k] += value;
    c->out->count[part][k] += 1;
}

double lh_context_error(const lh_context *found, int k) {
    const double *sum = found->sum[LH_CONTEXT_KEPT];
    const double count = (double)found->count[LH_CONTEXT_KEPT][k];
    if (count < 2.0) return INFINITY;
    const double mean = (sum[0] - sum[k]) / count;
    const double squares = found->saved_squares[k] - count * mean * mean;
    return sqrt(fmax(squares, 0.0) / (count - 1.0) / count);
}

/* ---- scoring a batch ---- */

static lh_status make_room(context *c, int64_t positions, int64_t columns) {
    if (positions > c->room) {
        double *bits = lh_reallocate(c->bits, (size_t)positions * sizeof *bits);
        if (bits != NULL) c->bits = bits;
        uint8_t *right = lh_reallocate(c->right, (size_t)positions);
        if (right != NULL) c->right = right;
        if (bits == NULL || right == NULL) return LH_EMEMORY;
        c->room = positions;
    }
    if (positions * columns <= c->logit_room) return LH_OK;
    real *logits = lh_reallocate(c->logits, (size_t)(positions * columns) * sizeof *logits);
    if (logits == NULL) return LH_EMEMORY;
    c->logits = logits;
    c->logit_room = positions * columns;
    return LH_OK;
}

/* Whether token i of a batch has a target; of the others it may be anything. */
static bool predicts(const lh_host_batch *host, int64_t i) {
    return host->weights == NULL || host->weights[i] > 0;
}

/* Bits of `target` under a softmax of logits, and whether it is the likeliest. */
static double bits_of(const real *logits, int64_t columns, int32_t target, uint8_t *right) {
    int64_t best = 0;
    double sum = 0.0;
    for (int64_t v = 1; v < columns; ++v)
        if (logits[v] > logits[best]) best = v;
    for (int64_t v = 0; v < columns; ++v)
        sum += exp((double)logits[v] - (double)logits[best]);
    *right = best == target;
    return (log(sum) + (double)logits[best] - (double)logits[target]) / log(2.0);
}

static lh_status read_scores(context *c, const lh_host_batch *host, const lh_tensor *logits) {
    const int64_t positions = host->rows * host->length, columns = logits->shape[2];
    LH_TRY(make_room(c, positions, columns));
    LH_TRY(lh_tensor_read(logits, c->logits, positions * columns));
    for (int64_t i = 0; i < positions; ++i) {
        if (!predicts(host, i)) continue;
        if (host->target[i] < 0 || host->target[i] >= columns)
            return lh_fail(LH_EOPTION, "context: target %d is none of the %lld tokens",
                           host->target[i], (long long)columns);
        c->bits[i] = bits_of(c->logits + i * columns, columns, host->target[i], &c->right[i]);
    }
    return LH_OK;
}

static lh_status forward(context *c, const lh_host_batch *host) {
    lh_session *session = c->session;
    lh_output output = {0};
    LH_TRY(lh_model_upload(session->pool, session->model, host, &c->batch));
    lh_tape_set_rows(session->tape, 0, host->rows);
    lh_tape_begin(session->tape, false, session->seed, 0);
    const lh_scope scope = lh_scope_open(session->tape);
    LH_TRY(lh_model_forward(session->model, session->tape, c->state, &c->batch, false, &output));
    const lh_tensor *logits = lh_loss_logits(session->tape, &output);
    if (logits == NULL) return lh_failed();
    LH_TRY(read_scores(c, host, logits));
    LH_TRY(lh_state_commit(c->state));
    lh_scope_close(session->tape, scope, NULL);
    return LH_OK;
}

/* Fills `bits` and `right` of a batch, where it predicts. */
static lh_status score(context *c, const lh_host_batch *host) {
    if (lh_interrupt_requested()) return lh_fail(LH_EINTERRUPT, "context: stopped by a signal");
    if (c->state != NULL && !lh_state_takes(c->state, host->rows)) {
        lh_state_destroy(c->state);
        c->state = NULL;
    }
    if (c->state == NULL)
        LH_TRY(lh_state_create(c->session->model, c->session->pool, host->rows, &c->state));
    return forward(c, host);
}

/* ---- a pass over the documents ---- */

static lh_status open_reading(context *c, int64_t rows) {
    reading *r = &c->reading;
    if (r->read != NULL) return LH_OK;
    *r = (reading){.rows = rows, .vocabulary = c->session->setup.vocabulary};
    r->read = lh_allocate_zeroed((size_t)rows, sizeof *r->read);
    r->repeat = lh_allocate_zeroed((size_t)rows, sizeof *r->repeat);
    r->filled = lh_allocate_zeroed((size_t)rows, sizeof *r->filled);
    r->seen = lh_allocate_zeroed((size_t)(rows * r->vocabulary), sizeof *r->seen);
    r->piece = lh_allocate((size_t)(rows * (c->length + 1)) * sizeof *r->piece);
    return r->read && r->repeat && r->filled && r->seen && r->piece ? LH_OK : LH_EMEMORY;
}

static void close_reading(reading *r) {
    free(r->read);
    free(r->repeat);
    free(r->filled);
    free(r->seen);
    free(r->piece);
}

static void begin_document(reading *r, int64_t row) {
    r->read[row] = r->repeat[row] = r->filled[row] = 0;
    memset(r->seen + row * r->vocabulary, 0, (size_t)r->vocabulary * sizeof *r->seen);
}

/* Adds a token to the passage under way, which is complete with the target of its last token; what
 * is not followed by its target ends it. */
static void extend_piece(context *c, int64_t row, int32_t token, int32_t target, bool targeted) {
    reading *r = &c->reading;
    int32_t *piece = r->piece + row * (c->length + 1);
    const bool follows = r->filled[row] == 0 || piece[r->filled[row]] == token;
    if (!targeted || !follows) r->filled[row] = 0;
    if (!targeted || c->passages == c->most) return;
    piece[r->filled[row]] = token;
    piece[++r->filled[row]] = target;
    if (r->filled[row] < c->length) return;
    memcpy(c->passage + c->passages * (c->length + 1), piece,
           (size_t)(c->length + 1) * sizeof *piece);
    c->passages += 1;
    r->filled[row] = 0;
}

static void read_token(context *c, const lh_host_batch *host, int64_t row, int64_t t) {
    reading *r = &c->reading;
    const int64_t i = row * host->length + t;
    const int32_t token = host->tokens[i];
    const bool targeted = predicts(host, i);
    int64_t *seen = &r->seen[row * r->vocabulary + token];
    r->read[row] += 1;
    if (targeted) add(c, LH_CONTEXT_POSITION, r->read[row], c->bits[i]);
    if (targeted && *seen > 0) add(c, LH_CONTEXT_RECALL, r->read[row] - *seen, c->right[i]);
    *seen = r->read[row];
    extend_piece(c, row, token, host->target[i], targeted);
}

/* Where segments overlap, fewer tokens lie before one than were read; what was is not read again.
 * The second segment tells how many: its past is not yet so long that the oldest are left out. */
static void read_row(context *c, const lh_host_batch *host, int64_t row) {
    reading *r = &c->reading;
    const bool starts = host->starts != NULL && host->starts[row];
    const bool tells = host->past_count != NULL && !starts &&
                       host->past_count[row] < c->session->setup.past_length;
    if (starts) begin_document(r, row);
    if (tells) r->repeat[row] = r->read[row] - host->past_count[row];
    for (int64_t t = r->repeat[row]; t < host->length; ++t)
        read_token(c, host, row, t);
}

static lh_status read_documents(context *c) {
    const lh_task *task = c->session->task;
    LH_TRY(task->class->evaluate_begin(task->instance, LH_VALID));
    while (true) {
        lh_host_batch host;
        LH_TRY(task->class->evaluate_batch(task->instance, &host));
        if (host.rows == 0) return LH_OK;
        LH_TRY(open_reading(c, host.rows));
        LH_TRY(score(c, &host));
        for (int64_t row = 0; row < host.rows; ++row)
            read_row(c, &host, row);
    }
}

/* ---- passages ---- */

/* Tokens of a segment for `kept` tokens: the fewest, in powers of two, that the model takes. */
static int64_t segment_for(const context *c, int64_t kept) {
    const lh_session *session = c->session;
    const lh_model *model = session->model;
    int64_t segment = 1;
    while (segment < kept)
        segment *= 2;
    if ((model->class->abilities & LH_NEEDS_ONE_LENGTH) != 0) return session->length;
    while (segment < session->length && lh_model_check(model, segment) != LH_OK) {
        lh_error_clear();
        segment *= 2;
    }
    return lh_min(segment, session->length);
}

/* Of what is kept of each row's passage, the tokens `first` to `first + count`, behind them 0s that
 * no earlier output sees. */
static void fill_segment(context *c, int64_t passage, int64_t kept, int64_t first, int64_t count,
                         int64_t length) {
    const int64_t rows = c->session->rows, most = c->session->setup.past_length;
    memset(c->tokens, 0, (size_t)(rows * length) * sizeof *c->tokens);
    memset(c->target, 0, (size_t)(rows * length) * sizeof *c->target);
    for (int64_t row = 0; row < rows; ++row) {
        const int32_t *read = c->passage + (passage + row + 1) * (c->length + 1) - 1 - kept;
        const int32_t *from = read + first;
        c->starts[row] = first == 0;
        c->past_count[row] = lh_copy_past(read, first, most, c->past + row * most);
        memcpy(c->tokens + row * length, from, (size_t)count * sizeof *from);
        memcpy(c->target + row * length, from + 1, (size_t)count * sizeof *from);
    }
}

/* Reads the last `kept` tokens of a batch of passages, from `passage` on, from a fresh start:
 * bits[row * kept + t]. */
static lh_status score_kept(context *c, int64_t passage, int64_t kept, double *bits) {
    const int64_t rows = c->session->rows, segment = segment_for(c, kept);
    for (int64_t at = 0; at < kept; at += segment) {
        const int64_t count = lh_min(kept - at, segment);
        fill_segment(c, passage, kept, at, count, segment);
        const lh_host_batch host = {.rows = rows,
                                    .length = segment,
                                    .tokens = c->tokens,
                                    .target = c->target,
                                    .past = c->past,
                                    .past_count = c->past_count,
                                    .starts = c->starts};
        LH_TRY(score(c, &host));
        for (int64_t row = 0; row < rows; ++row)
            memcpy(bits + row * kept + at, c->bits + row * segment, (size_t)count * sizeof *bits);
    }
    return LH_OK;
}

static lh_status measure_kept(context *c, int64_t passage) {
    double *first = c->before; /* bits of each row's last token when one is kept */
    for (int64_t kept = 1; kept <= c->length; kept *= 2) {
        LH_TRY(score_kept(c, passage, kept, c->after));
        for (int64_t row = 0; row < c->session->rows; ++row) {
            const double bits = c->after[row * kept + kept - 1];
            if (kept == 1) first[row] = bits;
            add(c, LH_CONTEXT_KEPT, kept, bits);
            c->out->saved_squares[point_of(kept)] += (first[row] - bits) * (first[row] - bits);
        }
    }
    return LH_OK;
}

/* Exchanges one token in the second quarter of a passage for another of the same passage; -1 where
 * none that was drawn differs. Gives its place, and what stood there. */
static int64_t change_token(context *c, int64_t passage, int32_t *kept) {
    enum { DRAWS = 16 };
    int32_t *tokens = c->passage + passage * (c->length + 1);
    lh_draws draws = {
        .key = {.seed = c->session->seed, .step = (uint64_t)passage, .stream = LH_STREAM_SAMPLE}};
    const int64_t quarter = c->length / 4, at = quarter + lh_draw(&draws, quarter);
    *kept = tokens[at];
    for (int i = 0; i < DRAWS; ++i) {
        tokens[at] = tokens[lh_draw(&draws, c->length)];
        if (tokens[at] != *kept) return at;
    }
    return -1;
}

/* The change's own target, of the token before it, is left out. */
static void add_changes(context *c, int64_t row, int64_t at) {
    for (int64_t t = at; at >= 0 && t < c->length; ++t) {
        const int64_t i = row * c->length + t;
        add(c, LH_CONTEXT_CHANGED, t + 1 - at, c->after[i] - c->before[i]);
    }
}

static lh_status measure_changed(context *c, int64_t passage) {
    const int64_t rows = c->session->rows;
    LH_TRY(score_kept(c, passage, c->length, c->before));
    int64_t *at = lh_allocate((size_t)rows * sizeof *at);
    int32_t *kept = lh_allocate((size_t)rows * sizeof *kept);
    lh_status status = at != NULL && kept != NULL ? LH_OK : LH_EMEMORY;
    for (int64_t row = 0; row < rows && status == LH_OK; ++row)
        at[row] = change_token(c, passage + row, &kept[row]);
    if (status == LH_OK) status = score_kept(c, passage, c->length, c->after);
    for (int64_t row = 0; row < rows && status == LH_OK; ++row)
        add_changes(c, row, at[row]);
    free(at);
    free(kept);
    return status;
}

/* What is kept first: changes stay in the passage. */
static lh_status read_passages(context *c) {
    const int64_t rows = c->session->rows;
    for (int64_t passage = 0; passage + rows <= c->passages; passage += rows)
        LH_TRY(measure_kept(c, passage));
    for (int64_t passage = 0; c->length >= 4 && passage + rows <= c->passages; passage += rows)
        LH_TRY(measure_changed(c, passage));
    return LH_OK;
}

/* ---- the whole ---- */

/* Fails for passages that no distance reaches to the end of, or no memory is counted for. */
static lh_status check_passages(const context *c) {
    const int64_t longest = (int64_t)1 << (LH_CONTEXT_POINTS - 1), rows = c->session->rows;
    int64_t tokens = 0;
    const bool whole = c->length >= 1 && c->length <= longest && (c->length & (c->length - 1)) == 0;
    const int64_t shape[] = {lh_max(c->most, rows), whole ? c->length + 1 : 0};
    if (whole && c->most >= 1 && lh_shape_count(2, shape, LH_TENSOR_ELEMENTS, &tokens))
        return LH_OK;
    return lh_fail(
        LH_EOPTION,
        "context: %lld passages of %lld tokens; a length is a power of 2 up to 2^%d, and "
        "all together are at most 2^48",
        (long long)c->most, (long long)c->length, LH_CONTEXT_POINTS - 1);
}

static lh_status open_context(context *c) {
    const lh_session *session = c->session;
    const size_t positions = (size_t)(session->rows * session->length),
                 whole = (size_t)(session->rows * c->length),
                 past = (size_t)(session->rows * session->setup.past_length);
    if (session->setup.vocabulary == 0 || session->setup.output_features > 0 ||
        session->setup.source_vocabulary > 0)
        return lh_fail(LH_EOPTION, "context: the task %s predicts no tokens one after the other",
                       session->task->class->name);
    LH_TRY(check_passages(c));
    c->passage = lh_allocate((size_t)(c->most * (c->length + 1)) * sizeof *c->passage);
    c->tokens = lh_allocate(positions * sizeof *c->tokens);
    c->target = lh_allocate(positions * sizeof *c->target);
    c->starts = lh_allocate((size_t)session->rows * sizeof *c->starts);
    c->past = lh_allocate(past * sizeof *c->past);
    c->past_count = lh_allocate((size_t)session->rows * sizeof *c->past_count);
    c->before = lh_allocate(whole * sizeof *c->before);
    c->after = lh_allocate(whole * sizeof *c->after);
    const bool complete = c->passage && c->tokens && c->target && c->starts && c->past &&
                          c->past_count && c->before && c->after;
    return complete ? LH_OK : LH_EMEMORY;
}

static void close_context(context *c) {
    lh_batch_clear(&c->batch);
    lh_state_destroy(c->state);
    close_reading(&c->reading);
    free(c->logits);
    free(c->bits);
    free(c->right);
    free(c->passage);
    free(c->tokens);
    free(c->target);
    free(c->starts);
    free(c->past);
    free(c->past_count);
    free(c->before);
    free(c->after);
}

lh_status lh_session_context(lh_session *session, int64_t length, int64_t passages,
                             lh_context *out) {
    context c = {.session = session, .out = out, .length = length, .most = passages};
    *out = (lh_context){0};
    lh_status status = open_context(&c);
    if (status == LH_OK) status = read_documents(&c);
    if (status == LH_OK) status = read_passages(&c);
    close_context(&c);
    return status;
}
