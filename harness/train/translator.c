#include "harness/train/translator.h"

#include "harness/train/loss.h"
#include "harness/train/session_inside.h"

#include <stdlib.h>
#include <string.h>

/* Sources on the host, each as often as its beam is wide, and what goes to the device. */
typedef struct translation {
    lh_session *session;
    lh_state *state;
    lh_batch batch;
    lh_tensor *encoded; /* the sources of all steps; NULL before the first one */
    int64_t rows, longest;
    lh_host_batch host;
    int32_t *source, *counts, *starts, *tokens;
} translation;

static lh_status open_translation(translation *t, const lh_pair *pairs, int64_t count,
                                  int64_t beam) {
    int64_t longest = 0;
    for (int64_t i = 0; i < count; ++i)
        longest = pairs[i].source_count > longest ? pairs[i].source_count : longest;
    t->rows = count * beam;
    const size_t rows = (size_t)t->rows;
    t->source = lh_allocate_zeroed(rows * (size_t)longest, sizeof *t->source);
    t->counts = lh_allocate(rows * sizeof *t->counts);
    t->starts = lh_allocate(rows * sizeof *t->starts);
    t->tokens = lh_allocate(rows * (size_t)t->longest * sizeof *t->tokens);
    if (!t->source || !t->counts || !t->starts || !t->tokens) return LH_EMEMORY;
    for (int64_t r = 0; r < t->rows; ++r) {
        const lh_pair *pair = &pairs[r / beam];
        memcpy(t->source + r * longest, pair->source,
               (size_t)pair->source_count * sizeof *t->source);
        t->counts[r] = (int32_t)pair->source_count;
        t->starts[r] = 1;
    }
    t->host = (lh_host_batch){.rows = t->rows,
                              .source_length = longest,
                              .source_tokens = t->source,
                              .source_count = t->counts,
                              .starts = t->starts,
                              .tokens = t->tokens};
    return lh_state_create(t->session->model, t->session->pool, t->rows, &t->state);
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

static lh_status run_model(translation *t, real *logits) {
    lh_session *session = t->session;
    lh_output output = {0};
    LH_TRY(lh_batch_upload(session->pool, &session->setup, &t->host, &t->batch));
    lh_tape_begin(session->tape, false, session->seed, 0);
    const lh_scope scope = lh_scope_open(session->tape);
    t->batch.encoded = t->encoded;
    LH_TRY(lh_model_forward(session->model, session->tape, t->state, &t->batch, false, &output));
    if (t->encoded == NULL && output.encoded != NULL) t->encoded = lh_tensor_retain(output.encoded);
    const lh_tensor *last = lh_loss_last_logits(session->tape, &output);
    if (last == NULL) return lh_failed();
    LH_TRY(lh_tensor_read(last, logits, t->rows * session->setup.vocabulary));
    lh_scope_close(session->tape, scope, NULL);
    return LH_OK;
}

/* The decoder reads a 0 and the prefix. */
static lh_status step(void *context, const int32_t *prefix, int64_t length, const int64_t *parent,
                      real *logits) {
    translation *t = context;
    (void)parent;
    t->host.length = length + 1;
    for (int64_t r = 0; r < t->rows; ++r) {
        int32_t *row = t->tokens + r * (length + 1);
        row[0] = 0;
        memcpy(row + 1, prefix + r * length, (size_t)length * sizeof *row);
    }
    return run_model(t, logits);
}

lh_status lh_translate(lh_session *session, const lh_translator_spec *spec, const lh_pair *pairs,
                       int64_t count, lh_beam_result *results) {
    translation t = {.session = session, .longest = spec->longer};
    for (int64_t i = 0; i < count; ++i) {
        const int64_t longest = pairs[i].source_count + spec->longer;
        t.longest = longest > t.longest ? longest : t.longest;
    }
    const lh_beam_spec search = {.sequences = count,
                                 .beam = spec->beam,
                                 .vocabulary = session->setup.vocabulary,
                                 .end = spec->end,
                                 .length_penalty = spec->length_penalty,
                                 .longest = t.longest};
    lh_status status = open_translation(&t, pairs, count, spec->beam);
    if (status == LH_OK) status = lh_beam_search(&search, step, &t, results);
    close_translation(&t);
    return status;
}
