/* The steps of a beam search as forward passes of a model: each reads the prefixes anew, the
 * sources are encoded once. */
#include "harness/infer/translator.h"

#include "harness/engine/state.h"
#include "harness/train/adapter_pass.h"
#include "harness/train/batch.h"
#include "harness/train/loss.h"

#include <stdlib.h>
#include <string.h>

/* Sources on the host, each as often as its beam is wide, and what goes to the device. */
typedef struct translation {
    const lh_scored *scored;
    lh_state *state;
    lh_batch batch;
    lh_tensor *encoded; /* the sources of all steps; NULL before the first one */
    int64_t rows, longest;
    lh_host_batch host;
    int32_t *source, *counts, *starts, *tokens;
} translation;

/* Where source and target are one sequence many models take whole chunks of it alone: it gets the
 * lengths of training, 16, 32, 64 ... Here the target's share of such a length. */
static int64_t target_share(const translation *t, int64_t source, int64_t target) {
    int64_t whole = 16;
    if ((t->scored->model->adapter.ways & LH_ADAPT_JOIN) == 0) return target;
    while (whole < source + target)
        whole *= 2;
    return whole - source;
}

static lh_status open_translation(translation *t, const lh_source_text *sources, int64_t count,
                                  int64_t beam) {
    int64_t longest = 0;
    for (int64_t i = 0; i < count; ++i)
        longest = lh_max(longest, sources[i].count);
    t->rows = count * beam;
    t->longest = target_share(t, longest, t->longest);
    const size_t rows = (size_t)t->rows;
    t->source = lh_allocate_zeroed(rows * (size_t)longest, sizeof *t->source);
    t->counts = lh_allocate(rows * sizeof *t->counts);
    t->starts = lh_allocate(rows * sizeof *t->starts);
    t->tokens = lh_allocate(rows * (size_t)t->longest * sizeof *t->tokens);
    if (!t->source || !t->counts || !t->starts || !t->tokens) return LH_EMEMORY;
    for (int64_t r = 0; r < t->rows; ++r) {
        const lh_source_text *source = &sources[r / beam];
        memcpy(t->source + r * longest, source->tokens, (size_t)source->count * sizeof *t->source);
        t->counts[r] = (int32_t)source->count;
        t->starts[r] = 1;
    }
    t->host = (lh_host_batch){.rows = t->rows,
                              .source_length = longest,
                              .source_tokens = t->source,
                              .source_count = t->counts,
                              .starts = t->starts,
                              .tokens = t->tokens};
    return lh_state_create(t->scored->model, t->scored->pool, t->rows, &t->state);
}

static void close_translation(translation *t) {
    lh_tensor_release(t->encoded);
    lh_batch_clear(&t->batch);
    lh_state_destroy(t->state);
    free(t->source);
    free(t->counts);
    free(t->starts);
    free(t->tokens);
}

/* `last`: the place of the prefix's last token. */
static lh_status run_model(translation *t, int64_t last, real *logits) {
    const lh_scored *scored = t->scored;
    const lh_model_setup *setup = &scored->model->setup;
    lh_output output = {0};
    LH_TRY(lh_model_upload(scored->pool, scored->model, &t->host, &t->batch));
    lh_tape_begin(scored->tape, false, scored->seed, 0);
    const lh_scope scope = lh_scope_open(scored->tape);
    t->batch.encoded = t->encoded;
    LH_TRY(lh_model_forward(scored->model, scored->tape, t->state, &t->batch, false, &output));
    if (t->encoded == NULL && output.encoded != NULL) t->encoded = lh_tensor_retain(output.encoded);
    LH_TRY(lh_model_pick(scored->tape, scored->model, &t->host, last, 1, &output));
    const lh_tensor *next = lh_loss_logits(scored->tape, &output);
    if (next == NULL) return lh_failed();
    LH_TRY(lh_tensor_read(next, logits, t->rows * setup->vocabulary));
    lh_scope_close(scored->tape, scope, NULL);
    return LH_OK;
}

/* The decoder reads a 0 and the prefix. */
static lh_status step(void *context, const int32_t *prefix, int64_t length, const int64_t *parent,
                      real *logits) {
    translation *t = context;
    (void)parent;
    const int64_t share = target_share(t, t->host.source_length, length + 1);
    t->host.length = share;
    for (int64_t r = 0; r < t->rows; ++r) {
        int32_t *row = t->tokens + r * share;
        memset(row, 0, (size_t)share * sizeof *row);
        memcpy(row + 1, prefix + r * length, (size_t)length * sizeof *row);
    }
    return run_model(t, length, logits);
}

/* The sources' own lengths limit their translations: what else is in a group plays no part. */
static lh_status search_all(const lh_scored *scored, const lh_translator_spec *spec,
                            const lh_source_text *sources, int64_t count, int64_t *limits,
                            lh_beam_result *results) {
    translation t = {.scored = scored};
    for (int64_t i = 0; i < count; ++i) {
        limits[i] = sources[i].count + spec->longer;
        t.longest = lh_max(t.longest, limits[i]);
    }
    const lh_beam_spec search = {.sequences = count,
                                 .beam = spec->beam,
                                 .vocabulary = scored->model->setup.vocabulary,
                                 .end = spec->end,
                                 .length_penalty = spec->length_penalty,
                                 .longest = t.longest,
                                 .limits = limits};
    lh_status status = open_translation(&t, sources, count, spec->beam);
    if (status == LH_OK) status = lh_beam_search(&search, step, &t, results);
    close_translation(&t);
    return status;
}

lh_status lh_translate(const lh_scored *scored, const lh_translator_spec *spec,
                       const lh_source_text *sources, int64_t count, lh_beam_result *results) {
    int64_t *limits = lh_allocate((size_t)count * sizeof *limits);
    if (limits == NULL) return LH_EMEMORY;
    const lh_status status = search_all(scored, spec, sources, count, limits, results);
    free(limits);
    return status;
}
