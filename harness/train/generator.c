#include "harness/train/generator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/train/batch.h"
#include "harness/train/loss.h"

/* Prompts are read in pieces of this many tokens where no window says otherwise. */
enum { PIECE = 256 };

struct lh_generator {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    lh_batch batch;
    lh_model_setup setup;
    uint64_t seed;
    int64_t window, overlap; /* window 0: the model needs none */
    int64_t position;        /* tokens of the window that were read */
    int64_t read, drawn;
    int32_t *last;  /* the window's tokens */
    real *logits;   /* [vocabulary] */
    int32_t *order; /* what sampling works in */
    double *weight;
};

/* ---- life ---- */

/* An integer option that a class with a cache has. */
static lh_status read_integer(const lh_options *options, const char *name, int64_t *out) {
    const int index = lh_options_find(options, name);
    if (index < 0 || lh_options_row(options, index)->type != LH_OPTION_INTEGER)
        return lh_fail(LH_EINTERNAL, "a model with a cache needs an integer option '%s'", name);
    *out = lh_options_value(options, index)->integer;
    return LH_OK;
}

/* A cache needs a window: without one it is as long as the context. */
static lh_status set_cache(lh_generator *g, lh_options *options) {
    lh_value context = {0};
    LH_TRY(lh_options_set_value(options, "cache", LH_OPTION_FLAG, (lh_value){.flag = true}));
    LH_TRY(read_integer(options, "context", &context.integer));
    LH_TRY(read_integer(options, "window", &g->window));
    LH_TRY(read_integer(options, "overlap", &g->overlap));
    if (g->window > 0) return LH_OK;
    g->window = context.integer;
    return lh_options_set_value(options, "window", LH_OPTION_INTEGER, context);
}

static lh_status create_model(lh_generator *g, const lh_generator_spec *spec) {
    const bool caches = (spec->model->abilities & LH_ABLE_CACHE) != 0;
    lh_options *options = NULL;
    if (!caches && (spec->model->abilities & LH_ABLE_STATE) == 0)
        return lh_fail(LH_EOPTION, "%s cannot generate: it neither carries state nor has a cache",
                       spec->model->name);
    LH_TRY(lh_options_copy(spec->options, &options));
    lh_status status = caches ? set_cache(g, options) : LH_OK;
    if (status == LH_OK) status = lh_model_create(spec->model, options, &spec->setup, &g->model);
    lh_options_destroy(options);
    return status;
}

static lh_status create_buffers(lh_generator *g) {
    const size_t vocabulary = (size_t)g->setup.vocabulary;
    g->last = lh_allocate_zeroed((size_t)(g->window > 0 ? g->window : PIECE), sizeof *g->last);
    g->logits = lh_allocate(vocabulary * sizeof *g->logits);
    g->order = lh_allocate(vocabulary * sizeof *g->order);
    g->weight = lh_allocate(vocabulary * sizeof *g->weight);
    const bool complete = g->last && g->logits && g->order && g->weight;
    return complete ? LH_OK : LH_EMEMORY;
}

static lh_status open_generator(lh_generator *g, const lh_generator_spec *spec) {
    g->setup = spec->setup;
    g->seed = spec->seed;
    LH_TRY(lh_pool_open_device(spec->device, &g->device));
    LH_TRY(lh_pool_create(g->device, &g->pool));
    LH_TRY(lh_tape_create(g->pool, &g->tape));
    LH_TRY(create_model(g, spec));
    LH_TRY(lh_params_allocate(g->model->params, g->pool));
    LH_TRY(lh_params_initialize(g->model->params, spec->seed));
    if (spec->weights != NULL)
        LH_TRY(
            lh_params_load(g->model->params, spec->weights, spec->model->published_names, false));
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
    free(g->logits);
    free(g->order);
    free(g->weight);
    free(g);
}

/* ---- reading ---- */

static lh_status keep_logits(lh_generator *g, const lh_output *output) {
    const lh_tensor *logits = lh_loss_last_logits(g->tape, output);
    if (logits == NULL) return lh_failed();
    return lh_tensor_read(logits, g->logits, g->setup.vocabulary);
}

/* Tokens that fit into one call. */
static lh_status run(lh_generator *g, const int32_t *tokens, int64_t count) {
    const int32_t start = g->read == 0;
    const lh_host_batch host = {.rows = 1, .length = count, .tokens = tokens, .starts = &start};
    lh_output output = {0};
    LH_TRY(lh_batch_upload(g->pool, &g->setup, &host, &g->batch));
    g->batch.position = g->position;
    lh_tape_begin(g->tape, false, g->seed, 0);
    const lh_scope scope = lh_scope_open(g->tape);
    LH_TRY(lh_model_forward(g->model, g->tape, g->state, &g->batch, false, &output));
    LH_TRY(keep_logits(g, &output));
    LH_TRY(lh_state_commit(g->state));
    lh_scope_close(g->tape, scope, NULL);
    if (g->window > 0) memcpy(g->last + g->position, tokens, (size_t)count * sizeof *tokens);
    g->position += count;
    g->read += count;
    return LH_OK;
}

/* A new window repeats the end of the full one. */
static lh_status turn_page(lh_generator *g) {
    if (g->window == 0 || g->position < g->window) return LH_OK;
    memmove(g->last, g->last + g->window - g->overlap, (size_t)g->overlap * sizeof *g->last);
    g->position = 0;
    return g->overlap > 0 ? run(g, g->last, g->overlap) : LH_OK;
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
    const int64_t room = g->window > 0 ? g->window - g->position : PIECE;
    if (count >= room) count = room;
    if (g->window > 0 || g->model->class->check == NULL) return count;
    const bool fits = g->model->class->check(g->model->instance, 1, count) == LH_OK;
    lh_error_clear();
    return fits ? count : 1;
}

lh_status lh_generator_feed(lh_generator *g, const int32_t *tokens, int64_t count) {
    LH_TRY(check_tokens(g, tokens, count));
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

lh_status lh_generator_next(lh_generator *g, const lh_sampling *sampling, int32_t *token) {
    if (g->read == 0) return lh_fail(LH_ESTATE, "generate: a prompt comes first");
    const lh_random_key key = {.seed = g->seed, .stream = LH_STREAM_SAMPLE};
    const double uniform = (double)lh_random_word(key, (uint64_t)g->drawn++) / 4294967296.0;
    *token = lh_sample(g->logits, g->setup.vocabulary, sampling, uniform, g->order, g->weight);
    return lh_generator_feed(g, token, 1);
}

const real *lh_generator_logits(const lh_generator *g) {
    return g->read > 0 ? g->logits : NULL;
}
