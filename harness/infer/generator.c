/* A model that reads prompts piece by piece, window by window, and the choice of the next token. */
#include "harness/infer/generator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/state.h"
#include "harness/ops/ops.h"
#include "harness/train/adapter.h"
#include "harness/train/batch.h"
#include "harness/train/loss.h"
#include "kernels/random.h"

/* Prompts are read in pieces of this many tokens where no window says otherwise; no segment that is
 * read anew is longer than MOST. */
enum { PIECE = 256, MOST = 65536 };

struct lh_generator {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    lh_batch batch;
    lh_model_setup setup;
    uint64_t seed;
    lh_window window; /* of 0 tokens: the model needs none */
    int64_t segment;  /* > 0: what of it there is is read anew for each token */
    bool began;       /* something was carried over */
    int64_t position; /* tokens of the window, or of the segment, that were read */
    int64_t read, drawn;
    int32_t *last; /* the window's, or the segment's, tokens */
    int32_t *past; /* those before the segment, for what encodes them */
    int32_t past_count;
    real *logits;   /* [vocabulary] */
    int32_t *order; /* what sampling works in */
    double *weight;
};

/* ---- life ---- */

static bool takes(const lh_generator *g, int64_t length) {
    const bool good = lh_model_check(g->model, length) == LH_OK;
    lh_error_clear();
    return good;
}

/* The longest segment up to PIECE that the model takes, or else the shortest beyond. */
static int64_t find_segment(const lh_generator *g) {
    for (int64_t length = PIECE; length > 0; --length)
        if (takes(g, length)) return length;
    for (int64_t length = PIECE + 1; length <= MOST; ++length)
        if (takes(g, length)) return length;
    return 0;
}

/* An adapter gives models of vectors nothing of later tokens. */
static bool is_causal(const lh_model *model) {
    return (model->class->abilities & (LH_ABLE_CAUSAL | LH_ABLE_CAUSAL_BY_MASK)) != 0 ||
           (model->adapter.ways & LH_ADAPT_EMBED) != 0;
}

static lh_status choose_segment(lh_generator *g, int64_t asked) {
    const char *name = g->model->class->name;
    if (!is_causal(g->model))
        return lh_fail(LH_EOPTION, "%s cannot generate: its answers know later tokens", name);
    const bool encodes = (g->model->adapter.ways & LH_ADAPT_PAST) != 0;
    g->segment = asked > 0 ? asked : encodes ? g->setup.past_length : find_segment(g);
    if (g->segment > MOST)
        return lh_fail(LH_EOPTION, "generate: a segment of %lld tokens is above %d",
                       (long long)g->segment, MOST);
    return lh_model_check(g->model, g->segment > 0 ? g->segment : PIECE);
}

/* What has a cache reads windows; what carries state and takes single tokens goes on for ever;
 * anything else reads its segment anew. */
static lh_status create_model(lh_generator *g, const lh_generator_spec *spec) {
    const lh_model_class *class = spec->model;
    const bool caches = (class->abilities & LH_ABLE_CACHE) != 0;
    lh_model_setup setup = g->setup;
    setup.generates = true;
    if (caches && class->window == NULL)
        return lh_fail(LH_EINTERNAL, "%s has a cache, but its class does not say its window",
                       class->name);
    LH_TRY(lh_model_create_for(class, spec->options, &setup, &g->model));
    if (caches) g->window = class->window(g->model->instance);
    if (caches || (lh_model_splits(g->model) && takes(g, 1))) return LH_OK;
    return choose_segment(g, spec->segment);
}

static lh_status create_buffers(lh_generator *g) {
    const size_t vocabulary = (size_t)g->setup.vocabulary,
                 longest = (size_t)(g->segment > 0 ? g->segment : g->window.tokens),
                 piece = longest > 0 ? longest : PIECE;
    g->last = lh_allocate_zeroed(piece, sizeof *g->last);
    g->logits = lh_allocate(vocabulary * sizeof *g->logits);
    g->order = lh_allocate(vocabulary * sizeof *g->order);
    g->weight = lh_allocate(vocabulary * sizeof *g->weight);
    const bool complete = g->last && g->logits && g->order && g->weight;
    if (!complete) return LH_EMEMORY;
    if ((g->model->adapter.ways & LH_ADAPT_PAST) == 0) return LH_OK;
    g->past = lh_allocate_zeroed((size_t)g->setup.past_length, sizeof *g->past);
    return g->past != NULL ? LH_OK : LH_EMEMORY;
}

static lh_status open_generator(lh_generator *g, const lh_generator_spec *spec) {
    g->setup = spec->setup;
    if (g->setup.past_length == 0) g->setup.past_length = spec->segment > 0 ? spec->segment : PIECE;
    g->seed = spec->seed;
    LH_TRY(lh_pool_open_device(spec->device, &g->device));
    LH_TRY(lh_pool_create(g->device, &g->pool));
    LH_TRY(lh_tape_create(g->pool, &g->tape));
    LH_TRY(create_model(g, spec));
    LH_TRY(lh_params_allocate(g->model->params, g->pool));
    LH_TRY(lh_params_initialize(g->model->params, spec->seed));
    if (spec->weights != NULL)
        LH_TRY(lh_params_load(g->model->params, spec->weights, spec->model->published_names,
                              g->model->options, false));
    LH_TRY(lh_state_create(g->model, g->pool, 1, &g->state));
    return create_buffers(g);
}

lh_status lh_generator_create(const lh_generator_spec *spec, lh_generator **out) {
    *out = NULL;
    lh_generator *g = lh_allocate_zeroed(1, sizeof *g);
    if (g == NULL) return LH_EMEMORY;
    const lh_status status = open_generator(g, spec);
    if (status != LH_OK) {
        lh_generator_destroy(g);
        return status;
    }
    *out = g;
    return LH_OK;
}

void lh_generator_destroy(lh_generator *g) {
    if (g == NULL) return;
    lh_batch_clear(&g->batch);
    lh_tape_destroy(g->tape);
    lh_state_destroy(g->state);
    lh_model_destroy(g->model);
    lh_pool_destroy(g->pool);
    lh_device_close(g->device);
    free(g->last);
    free(g->past);
    free(g->logits);
    free(g->order);
    free(g->weight);
    free(g);
}

/* ---- reading ---- */

/* One call of the model. What it carries is kept where the tokens will not be read again; `at`: the
 * place of the last token, behind which there may be others. */
static lh_status call_model(lh_generator *g, const int32_t *tokens, int64_t count, int64_t at,
                            bool keeps) {
    const int32_t start = !g->began;
    const lh_host_batch host = {.rows = 1,
                                .length = count,
                                .tokens = tokens,
                                .past = g->past,
                                .past_count = &g->past_count,
                                .starts = &start};
    lh_output output = {0};
    LH_TRY(lh_model_upload(g->pool, g->model, &host, &g->batch));
    g->batch.position = g->segment > 0 ? 0 : g->position;
    lh_tape_begin(g->tape, false, g->seed, 0);
    const lh_scope scope = lh_scope_open(g->tape);
    LH_TRY(lh_model_forward(g->model, g->tape, g->state, &g->batch, false, &output));
    LH_TRY(lh_model_pick(g->tape, g->model, &host, at, 1, &output));
    const lh_tensor *logits = lh_loss_logits(g->tape, &output);
    if (logits == NULL) return lh_failed();
    LH_TRY(lh_tensor_read(logits, g->logits, g->setup.vocabulary));
    if (keeps) LH_TRY(lh_state_commit(g->state));
    g->began = g->began || keeps;
    lh_scope_close(g->tape, scope, NULL);
    return LH_OK;
}

/* Tokens that fit into one call. */
static lh_status run(lh_generator *g, const int32_t *tokens, int64_t count) {
    LH_TRY(call_model(g, tokens, count, count - 1, true));
    if (g->window.tokens > 0) memcpy(g->last + g->position, tokens, (size_t)count * sizeof *tokens);
    g->position += count;
    g->read += count;
    return LH_OK;
}

/* ---- segments ---- */

/* What there is of the segment, filled up with tokens that no earlier one sees to a length that the
 * model takes. */
static lh_status read_segment(lh_generator *g) {
    int64_t length = g->position;
    while (length < g->segment && !takes(g, length))
        g->last[length++] = 0;
    return call_model(g, g->last, length, g->position - 1, g->position == g->segment);
}

/* What hands nothing to its next segment begins that with the second half of the full one. */
static void turn_segment(lh_generator *g) {
    const int64_t kept = g->model->state_count > 0 || g->past != NULL ? 0 : g->segment / 2;
    if (g->position < g->segment) return;
    if (g->past != NULL)
        g->past_count = lh_copy_past(g->last, g->segment, g->setup.past_length, g->past);
    memmove(g->last, g->last + g->segment - kept, (size_t)kept * sizeof *g->last);
    g->position = kept;
}

static lh_status feed_segments(lh_generator *g, const int32_t *tokens, int64_t count) {
    while (count > 0) {
        turn_segment(g);
        const int64_t room = g->segment - g->position, piece = count < room ? count : room;
        memcpy(g->last + g->position, tokens, (size_t)piece * sizeof *tokens);
        g->position += piece;
        g->read += piece;
        tokens += piece;
        count -= piece;
        if (count == 0 || g->model->state_count > 0) LH_TRY(read_segment(g));
    }
    return LH_OK;
}

/* ---- windows and streams ---- */

/* A new window repeats the end of the full one. */
static lh_status turn_page(lh_generator *g) {
    const int64_t window = g->window.tokens, overlap = g->window.overlap;
    if (window == 0 || g->position < window) return LH_OK;
    memmove(g->last, g->last + window - overlap, (size_t)overlap * sizeof *g->last);
    g->position = 0;
    return overlap > 0 ? run(g, g->last, overlap) : LH_OK;
}

static lh_status check_tokens(const lh_generator *g, const int32_t *tokens, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        if (tokens[i] < 0 || tokens[i] >= g->setup.vocabulary)
            return lh_fail(LH_EOPTION, "generate: token %d is outside the vocabulary of %lld",
                           (int)tokens[i], (long long)g->setup.vocabulary);
    }
    return LH_OK;
}

/* How many of `count` tokens one call takes: a cached window's rest; otherwise whole pieces where
 * the model takes them, else single tokens. */
static int64_t piece_of(const lh_generator *g, int64_t count) {
    const int64_t room = g->window.tokens > 0 ? g->window.tokens - g->position : PIECE;
    if (count >= room) count = room;
    return g->window.tokens > 0 || takes(g, count) ? count : 1;
}

lh_status lh_generator_feed(lh_generator *g, const int32_t *tokens, int64_t count) {
    LH_TRY(check_tokens(g, tokens, count));
    if (g->segment > 0) return feed_segments(g, tokens, count);
    while (count > 0) {
        LH_TRY(turn_page(g));
        const int64_t piece = piece_of(g, count);
        LH_TRY(run(g, tokens, piece));
        tokens += piece;
        count -= piece;
    }
    return LH_OK;
}

/* ---- choosing ---- */

static int32_t likeliest(const real *logits, int64_t count) {
    int32_t best = 0;
    for (int64_t i = 1; i < count; ++i)
        best = logits[i] > logits[best] ? (int32_t)i : best;
    return best;
}

/* Moves the element that belongs at the top of the heap order[begin ..) down. */
static void sift(const real *logits, int32_t *order, int64_t count, int64_t hole) {
    const int32_t moving = order[hole];
    for (int64_t down = 2 * hole + 1; down < count; down = 2 * hole + 1) {
        if (down + 1 < count && logits[order[down + 1]] > logits[order[down]]) down += 1;
        if (!(logits[order[down]] > logits[moving])) break;
        order[hole] = order[down];
        hole = down;
    }
    order[hole] = moving;
}

/* Takes tokens from the likeliest down, until top_k or top_p is reached; their weights add up to
 * *total. A heap, since few are taken. The ones taken are at the end of `order`, the last first. */
static int64_t take(const real *logits, int64_t count, const lh_sampling *sampling, int32_t *order,
                    double *weight, double *total) {
    const int64_t most = sampling->top_k > 0 && sampling->top_k < count ? sampling->top_k : count;
    double all = 0;
    for (int64_t i = 0; i < count; ++i)
        order[i] = (int32_t)i;
    for (int64_t i = count / 2; i-- > 0;)
        sift(logits, order, count, i);
    const double highest = (double)logits[order[0]];
    for (int64_t i = 0; i < count; ++i)
        all += exp(((double)logits[i] - highest) / sampling->temperature);
    int64_t taken = 0;
    for (*total = 0; taken < most && (taken == 0 || *total < sampling->top_p * all); ++taken) {
        const int64_t left = count - taken;
        const int32_t next = order[0];
        weight[taken] = exp(((double)logits[next] - highest) / sampling->temperature);
        *total += weight[taken];
        order[0] = order[left - 1];
        order[left - 1] = next;
        sift(logits, order, left - 1, 0);
    }
    return taken;
}

int32_t lh_sample(const real *logits, int64_t count, const lh_sampling *sampling, double uniform,
                  int32_t *order, double *weight) {
    double total = 0;
    if (sampling->temperature == 0) return likeliest(logits, count);
    const int64_t taken = take(logits, count, sampling, order, weight, &total);
    double left = uniform * total;
    int64_t chosen = 0;
    while (chosen + 1 < taken && left >= weight[chosen])
        left -= weight[chosen++];
    return order[count - 1 - chosen];
}

/* Where a logit is no number or +infinity, none could be told from the likeliest. */
static lh_status check_logits(const lh_generator *g) {
    for (int64_t i = 0; i < g->setup.vocabulary; ++i) {
        if (!((double)g->logits[i] < HUGE_VAL))
            return lh_fail(LH_EINTERNAL,
                           "generate: behind %lld tokens the logit of token %lld is %g: with these "
                           "weights the model's numbers overflow",
                           (long long)g->read, (long long)i, (double)g->logits[i]);
    }
    return LH_OK;
}

lh_status lh_generator_next(lh_generator *g, const lh_sampling *sampling, int32_t *token) {
    if (g->read == 0) return lh_fail(LH_ESTATE, "generate: a prompt comes first");
    LH_TRY(check_logits(g));
    const lh_random_key key = {.seed = g->seed, .stream = LH_STREAM_SAMPLE};
    const double uniform = (double)lh_random_word(key, (uint64_t)g->drawn++) / 4294967296.0;
    *token = lh_sample(g->logits, g->setup.vocabulary, sampling, uniform, g->order, g->weight);
    return lh_generator_feed(g, token, 1);
}

int64_t lh_generator_segment(const lh_generator *g) {
    return g->segment;
}

const real *lh_generator_logits(const lh_generator *g) {
    return g->read > 0 ? g->logits : NULL;
}
