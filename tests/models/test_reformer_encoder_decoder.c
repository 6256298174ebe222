/* What Kitaev et al. 2020 promise of an encoder-decoder whose layers are reversible (section 5). */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, LENGTH = 8, WIDTH = 8, GRADIENTS = 65536 };

static const char name[] = "reformer_encoder_decoder";

/* ---- parameters ---- */

static int64_t count_of(const char *text) {
    return count_parameters("reformer_encoder_decoder", text,
                            (lh_model_setup){.vocabulary = 33300, .source_vocabulary = 33300});
}

/* The base model of table 4: six layers of an encoder with one attention, 4 D^2, and of a decoder
 * with two; a network of 2 D d_ff + d_ff + D; norms of 2 D before each branch and after a stack. */
TEST(parameters_of_the_base_model) {
    const int64_t d = 512, hidden = 2048, vocabulary = 33300, table = vocabulary * d;
    const int64_t network = 2 * d * hidden + hidden + d;
    const int64_t encoder = 4 * d * d + network + 2 * 2 * d;
    const int64_t decoder = 2 * 4 * d * d + network + 3 * 2 * d;
    const int64_t rest = 6 * (encoder + decoder) + 2 * 2 * d + 2 * 2048 * d + vocabulary;
    static const char base[] = "layers=6 width=512 heads=8 hidden=2048";
    CHECK_EQ_INT(count_of(base), table + rest);
    char separate[128];
    (void)snprintf(separate, sizeof separate, "%s shared=false residual=plain", base);
    CHECK_EQ_INT(count_of(separate), 3 * table + rest);
}

/* ---- one step ---- */

typedef struct outcome {
    real hidden[ROWS * LENGTH * WIDTH], gradient[GRADIENTS];
    int64_t gradients, peak_bytes;
} outcome;

static bool train_step(const char *options, outcome *out) {
    model_bench bench;
    int32_t tokens[ROWS * LENGTH];
    const int32_t starts[ROWS] = {1, 1};
    bool good = bench_open(&bench, name, options, ROWS);
    for (int32_t i = 0; i < ROWS * LENGTH; ++i)
        tokens[i] = (i * i + 3 * i) % BENCH_VOCABULARY;
    for (int step = 0; step < 2 && good; ++step) { /* the first one fills the pool */
        lh_output forward;
        lh_tape_begin(bench.tape, true, 1, 0);
        lh_params_clear_gradients(bench.model->params);
        const int64_t before = lh_pool_get_stats(bench.pool).used_bytes;
        lh_pool_reset_peak(bench.pool);
        const lh_tensor *hidden = bench_forward(&bench, LENGTH, tokens, starts, true, &forward);
        if (hidden == NULL) break;
        memcpy(out->hidden, lh_tensor_real(hidden), sizeof out->hidden);
        lh_tensor *loss = bench_loss(&bench, &forward, LENGTH, tokens, 1.0 / (ROWS * LENGTH));
        good = CHECK_OK(lh_tape_backward(bench.tape, loss)) &&
               CHECK_OK(lh_params_settle_gradients(bench.model->params));
        out->peak_bytes = lh_pool_get_stats(bench.pool).peak_bytes - before;
    }
    const lh_tensor *gradients = lh_params_gradients(bench.model->params);
    out->gradients = lh_tensor_count(gradients);
    good = good && CHECK(out->gradients <= GRADIENTS);
    if (good)
        memcpy(out->gradient, lh_tensor_real(gradients), (size_t)out->gradients * sizeof(real));
    bench_close(&bench);
    return good;
}

#define SIZES "width=8 heads=2 hidden=12 positions=24 dropout=0.1 "

/* An odd number of branches leaves one over, an even number none; dropout replays. */
TEST(reversible_layers_equal_those_that_keep_their_activations) {
    static outcome reversible, kept;
    for (int layers = 1; layers <= 4; ++layers) {
        char options[2][128];
        (void)snprintf(options[0], 128, SIZES "layers=%d residual=reversible", layers);
        (void)snprintf(options[1], 128, SIZES "layers=%d residual=two_streams", layers);
        REQUIRE(train_step(options[0], &reversible) && train_step(options[1], &kept));
        CHECK(memcmp(reversible.hidden, kept.hidden, sizeof kept.hidden) == 0);
        CHECK(largest_difference(reversible.gradient, kept.gradient, kept.gradients) < 1e-5);
    }
}

/* Twice as many layers need no byte more, in encoder and decoder together. */
TEST(memory_of_reversible_layers_is_constant_in_depth) {
    static outcome shallow, deep, kept_shallow, kept_deep;
    REQUIRE(train_step(SIZES "layers=2", &shallow) && train_step(SIZES "layers=4", &deep));
    CHECK_EQ_INT(deep.peak_bytes, shallow.peak_bytes);
    REQUIRE(train_step(SIZES "layers=2 residual=plain", &kept_shallow) &&
            train_step(SIZES "layers=4 residual=plain", &kept_deep));
    CHECK(kept_deep.peak_bytes > kept_shallow.peak_bytes * 3 / 2);
}

/* ---- sources ---- */

static bool run_source(int64_t length, const int32_t *source, const int32_t *counts, real *hidden) {
    model_bench bench;
    const int32_t tokens[ROWS * 4] = {0, 1, 2, 3, 4, 5, 6, 7};
    bool good = bench_open(&bench, name, SIZES "layers=2", ROWS);
    if (good) {
        lh_output out;
        lh_tape_begin(bench.tape, false, 1, 0);
        const lh_batch batch = {.rows = ROWS,
                                .length = 4,
                                .tokens = bench_integers(&bench, 4, tokens),
                                .source_tokens = bench_integers(&bench, length, source),
                                .source_count = bench_integers(&bench, 0, counts)};
        good =
            CHECK_OK(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out));
        if (good) memcpy(hidden, lh_tensor_real(out.hidden), sizeof(real) * ROWS * 4 * WIDTH);
    }
    bench_close(&bench);
    return good;
}

TEST(padding_of_a_source_is_seen_by_nobody) {
    int32_t source[ROWS * 9], cut[ROWS * 5], counts[ROWS] = {5, 9};
    real hidden[ROWS * 4 * WIDTH], other[ROWS * 4 * WIDTH];
    random_tokens(source, ROWS * 9);
    REQUIRE(run_source(9, source, counts, hidden));
    for (int i = 5; i < 9; ++i)
        source[i] = (source[i] + 1) % BENCH_VOCABULARY;
    REQUIRE(run_source(9, source, counts, other));
    CHECK(memcmp(hidden, other, sizeof hidden) == 0);
    memcpy(cut, source, sizeof cut);
    counts[1] = 5;
    REQUIRE(run_source(5, cut, counts, other));
    CHECK(largest_difference(hidden, other, 4 * WIDTH) < 1e-5);
    counts[1] = 9;
    source[4] = (source[4] + 1) % BENCH_VOCABULARY;
    REQUIRE(run_source(9, source, counts, other));
    CHECK(largest_difference(hidden, other, 4 * WIDTH) > 1e-3);
    CHECK(memcmp(hidden + 4 * WIDTH, other + 4 * WIDTH, sizeof hidden / 2) == 0);
}

/* What the encoder gave serves again, bit for bit, and then the source itself is not read. */
TEST(an_encoded_source_serves_again) {
    model_bench bench;
    int32_t source[ROWS * 9];
    const int32_t tokens[ROWS * 4] = {0, 1, 2, 3, 4, 5, 6, 7}, counts[ROWS] = {5, 9};
    random_tokens(source, ROWS * 9);
    static const char *const models[] = {name, "t5"};
    static const char *const options[] = {SIZES "layers=2", "width=8 heads=2 layers=2"};
    for (int i = 0; i < 2 && bench_open(&bench, models[i], options[i], ROWS); ++i) {
        lh_output first, again;
        lh_tape_begin(bench.tape, false, 1, 0);
        lh_batch batch = {.rows = ROWS,
                          .length = 4,
                          .tokens = bench_integers(&bench, 4, tokens),
                          .source_tokens = bench_integers(&bench, 9, source),
                          .source_count = bench_integers(&bench, 0, counts)};
        REQUIRE_OK(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &first));
        REQUIRE(first.encoded != NULL && first.encoded->shape[1] == 9);
        batch.encoded = first.encoded;
        for (int t = 0; t < 9; ++t)
            source[t] = (source[t] + 1) % BENCH_VOCABULARY;
        batch.source_tokens = bench_integers(&bench, 9, source);
        REQUIRE_OK(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &again));
        CHECK(memcmp(lh_tensor_real(first.hidden), lh_tensor_real(again.hidden),
                     sizeof(real) * ROWS * 4 * WIDTH) == 0);
        bench_close(&bench);
    }
}

TEST(longer_sources_than_positions_are_refused) {
    model_bench bench;
    const int32_t tokens[ROWS * 30] = {0};
    lh_output out;
    if (bench_open(&bench, name, SIZES "layers=1", ROWS)) {
        lh_tape_begin(bench.tape, false, 1, 0);
        lh_batch batch = {.rows = ROWS, .length = 4, .tokens = bench_integers(&bench, 4, tokens)};
        CHECK_FAILS(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out),
                    LH_EOPTION, "source sequence");
        batch.source_tokens = bench_integers(&bench, 30, tokens);
        CHECK_FAILS(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out),
                    LH_ESHAPE, "a source of 30 tokens is longer than the 24");
        batch.length = 25;
        CHECK_FAILS(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out),
                    LH_ESHAPE, "a target of 25 tokens");
    }
    bench_close(&bench);
}
