/* Pairs behind an adapter, with batches that are drawn, for tests that each pair must pass.
 * Header-only, as model_bench.h is. Include after tests/test.h. */
#ifndef LH_TESTS_ADAPTED_BENCH_H
#define LH_TESTS_ADAPTED_BENCH_H

#include "harness/train/adapter.h"
#include "harness/train/batch.h"
#include "harness/train/loss.h"
#include "tests/models/model_bench.h"

enum { PAIR_ROWS = 2, PAIR_MOST = 1024 };

/* What tasks tell: next tokens, and those before a segment; yes or no of letters; a source and its
 * target; a source and its class; a window of a series; a network to follow. */
#define PAIR_TOKENS                                                                                \
    { .vocabulary = 7 }
#define PAIR_PAST                                                                                  \
    { .vocabulary = 7, .past_length = 6 }
#define PAIR_LETTERS                                                                               \
    { .vocabulary = 3, .output_features = 3 }
#define PAIR_SOURCE                                                                                \
    { .vocabulary = 7, .source_vocabulary = 7, .source_length = 8 }
#define PAIR_CLASSES                                                                               \
    { .vocabulary = 7, .source_vocabulary = 7, .source_length = 8, .classes = 3 }
#define PAIR_SERIES                                                                                \
    {                                                                                              \
        .input_features = 5, .output_features = 3, .time_features = 2, .seq_len = 5,               \
        .label_len = 2, .pred_len = 3                                                              \
    }
#define PAIR_NETWORK                                                                               \
    { .input_features = 3, .output_features = 2 }

typedef struct pair_case {
    const char *name, *options;
    lh_model_setup setup;
} pair_case;

#define PAIR_CORE "width=8 heads=2 hidden=12 layers=1"
static const pair_case pair_cases[] = {
    {"slide", "layers=2 width=8 heads=2 window=4 dropout=0", PAIR_SERIES},
    {"transformer", PAIR_CORE, PAIR_SERIES},
    {"gpt2", "layers=1 width=8 heads=2 context=16 dropout=0", PAIR_NETWORK},
    {"t5", PAIR_CORE " dropout=0", PAIR_SERIES},
    {"reformer_encoder_decoder", PAIR_CORE " dropout=0 positions=16", PAIR_SERIES},
    {"brt", "layers=2 width=8 heads=2 window=4 dropout=0 recurrence=fixed:skip recurrent_layers=1",
     PAIR_SOURCE},
    {"transformer", PAIR_CORE, PAIR_SOURCE},
    {"dai_xl", PAIR_CORE " memory=3 dropout=0 cutoffs=2,4", PAIR_SOURCE},
    {"dai_xl", PAIR_CORE " memory=3 dropout=0 cutoffs=2,4", PAIR_CLASSES},
    {"lstm", "layers=1 width=6 hidden=8", PAIR_CLASSES},
    {"t5", PAIR_CORE " dropout=0", PAIR_PAST},
    {"reformer_encoder_decoder", PAIR_CORE " dropout=0 positions=16", PAIR_PAST},
    {"rsa", "layers=2 width=6 heads=2 rsa_kinds=1,0,0,0,0,0", PAIR_TOKENS},
    {"rsa", "layers=1 width=6 heads=2 rsa_kinds=1,0,0,0,0,0", PAIR_LETTERS},
    {"rsa", "layers=1 width=6 heads=2 rsa_kinds=1,0,0,0,0,0", PAIR_SOURCE},
    {"rsa", "layers=1 width=6 heads=2 rsa_kinds=1,0,0,0,0,0", PAIR_CLASSES},
    {"series_xl", PAIR_CORE " dropout=0", PAIR_TOKENS},
    {"series_xl", PAIR_CORE " dropout=0", PAIR_SOURCE},
    {"series_xl", PAIR_CORE " dropout=0", PAIR_NETWORK},
    {"informer", PAIR_CORE " attention=full mix=false dropout=0", PAIR_TOKENS},
    {"informer", PAIR_CORE " attention=full mix=false dropout=0 rsa_kinds=1,0,0,0,0,0",
     PAIR_SOURCE},
    {"informer", PAIR_CORE " attention=full mix=false dropout=0", PAIR_CLASSES},
    {"logsparse", PAIR_CORE " dropout=0", PAIR_LETTERS},
    {"logsparse", PAIR_CORE " dropout=0", PAIR_NETWORK},
    {"dai_xl", PAIR_CORE " memory=3 dropout=0 cutoffs=2,4 cluster_divisor=2", PAIR_SOURCE},
    {"dai_xl", PAIR_CORE " memory=3 dropout=0 cutoffs=2,4 cluster_divisor=2", PAIR_CLASSES},
    {"dai_xl", PAIR_CORE " memory=3 dropout=0 cutoffs=2,4 cluster_divisor=2", PAIR_SERIES},
};
enum { PAIR_CASES = sizeof pair_cases / sizeof *pair_cases };

/* A batch of the task on the host, with its arrays. */
typedef struct pair_batch {
    lh_host_batch host;
    int32_t tokens[PAIR_MOST], source[PAIR_MOST], target[PAIR_MOST], past[PAIR_MOST],
        counts[PAIR_ROWS], past_counts[PAIR_ROWS], starts[PAIR_ROWS];
    real vectors[PAIR_MOST], targets[PAIR_MOST];
} pair_batch;

static void draw_reals(real *x, int64_t count) {
    for (int64_t i = 0; i < count && i < PAIR_MOST; ++i)
        x[i] = (real)test_uniform();
}

static void draw_integers(int32_t *x, int64_t count, int64_t below) {
    for (int64_t i = 0; i < count && i < PAIR_MOST; ++i)
        x[i] = (int32_t)test_integer(below > 0 ? below : 1);
}

/* Sources of other lengths; of windows the channels to predict are zeros. */
TEST_UNUSED static void draw_pair_batch(const lh_model_setup *setup, pair_batch *batch) {
    const int64_t length = 8, width = setup->input_features,
                  predicted = setup->pred_len > 0 ? setup->pred_len : length;
    const bool vectors = setup->vocabulary == 0;
    draw_integers(batch->tokens, PAIR_ROWS * length, setup->vocabulary);
    draw_integers(batch->source, PAIR_ROWS * length, setup->source_vocabulary);
    draw_integers(batch->target, PAIR_ROWS * length,
                  setup->classes > 0 ? setup->classes : setup->vocabulary);
    draw_integers(batch->past, PAIR_ROWS * setup->past_length, setup->vocabulary);
    draw_reals(batch->vectors, PAIR_ROWS * length * width);
    draw_reals(batch->targets, PAIR_ROWS * predicted * setup->output_features);
    for (int64_t i = 0; i < PAIR_ROWS * length * width && setup->pred_len > 0; ++i)
        if (i / width % length >= setup->seq_len && i % width < setup->output_features)
            batch->vectors[i] = LH_R(0);
    for (int r = 0; r < PAIR_ROWS; ++r) {
        batch->starts[r] = 1;
        batch->counts[r] = 5 + 2 * r;
        batch->past_counts[r] = 3 * r;
    }
    batch->host =
        (lh_host_batch){.rows = PAIR_ROWS,
                        .length = length,
                        .source_length = setup->source_length,
                        .target_length = predicted,
                        .tokens = vectors ? NULL : batch->tokens,
                        .vectors = vectors ? batch->vectors : NULL,
                        .target = setup->output_features > 0 ? NULL : batch->target,
                        .target_vectors = setup->output_features > 0 ? batch->targets : NULL,
                        .past = setup->past_length > 0 ? batch->past : NULL,
                        .past_count = batch->past_counts,
                        .starts = batch->starts};
    if (setup->source_vocabulary == 0) return;
    batch->host.source_tokens = batch->source;
    batch->host.source_count = batch->counts;
}

/* One segment forward; what it computed is uploaded, released by lh_batch_clear. */
TEST_UNUSED static bool run_pair(model_bench *b, const pair_batch *batch, lh_batch *uploaded,
                                 bool recording, lh_output *out) {
    *out = (lh_output){0};
    lh_tape_begin(b->tape, recording, 9, 1);
    return CHECK_OK(lh_model_upload(b->pool, b->model, &batch->host, uploaded)) &&
           CHECK_OK(lh_model_forward(b->model, b->tape, b->state, uploaded, false, out));
}

#endif
