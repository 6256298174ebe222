/* Generation: what is drawn, and that going token by token is reading at once. */
#include "harness/infer/forward.h"
#include "harness/infer/generator.h"

#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { COUNT = 6 };

static int32_t draw(const double *probability, lh_sampling sampling, double uniform) {
    real logits[COUNT];
    int32_t order[COUNT];
    double weight[COUNT];
    for (int i = 0; i < COUNT; ++i)
        logits[i] = (real)log(probability[i]);
    return lh_sample(logits, COUNT, &sampling, uniform, order, weight);
}

static const double odds[COUNT] = {0.05, 0.4, 0.1, 0.25, 0.15, 0.05};

TEST(temperature_zero_takes_the_likeliest) {
    CHECK_EQ_INT(draw(odds, (lh_sampling){0, 0, 1}, 0.99), 1);
}

/* Shares of many evenly spaced numbers. */
static void check_shares(lh_sampling sampling, const double *expected) {
    enum { DRAWS = 20000 };
    int seen[COUNT] = {0};
    for (int n = 0; n < DRAWS; ++n)
        seen[draw(odds, sampling, (n + 0.5) / DRAWS)] += 1;
    for (int i = 0; i < COUNT; ++i)
        CHECK_NEAR((double)seen[i] / DRAWS, expected[i], 2e-3);
}

TEST(draws_follow_the_probabilities) {
    check_shares((lh_sampling){1, 0, 1}, odds);
    const double three[COUNT] = {0, 0.4 / 0.8, 0, 0.25 / 0.8, 0.15 / 0.8, 0};
    check_shares((lh_sampling){1, 3, 1}, three);
    check_shares((lh_sampling){1, 0, 0.7}, three); /* two have 0.65 */
    check_shares((lh_sampling){1, 4, 0.7}, three);
    double squares[COUNT], sum = 0;
    for (int i = 0; i < COUNT; ++i)
        sum += odds[i] * odds[i];
    for (int i = 0; i < COUNT; ++i)
        squares[i] = odds[i] * odds[i] / sum;
    check_shares((lh_sampling){0.5, 0, 1}, squares);
}

static lh_generator *open_generator(const char *name, const char *text) {
    const lh_model_class *class = lh_model_class_find(name);
    lh_options *options = NULL;
    lh_generator *generator = NULL;
    CHECK_OK(lh_options_create(class->name, class->options, &options));
    CHECK_OK(lh_options_parse(options, text));
    const lh_generator_spec spec = {.model = class,
                                    .options = options,
                                    .setup = {.vocabulary = BENCH_VOCABULARY},
                                    .seed = 3,
                                    .device = "cpu"};
    (void)lh_generator_create(&spec, &generator);
    lh_options_destroy(options);
    return generator;
}

/* Logits after 40 tokens that were read in pieces of `piece`. */
static void read_tokens(const char *name, const char *options, int piece, real *logits) {
    int32_t tokens[40];
    lh_generator *generator = open_generator(name, options);
    REQUIRE(generator != NULL);
    CHECK(lh_generator_logits(generator) == NULL);
    for (int i = 0; i < 40; ++i)
        tokens[i] = (7 * i * i + 3 * i) % BENCH_VOCABULARY;
    for (int at = 0; at < 40; at += piece)
        CHECK_OK(lh_generator_feed(generator, tokens + at, piece));
    memcpy(logits, lh_generator_logits(generator), BENCH_VOCABULARY * sizeof *logits);
    lh_generator_destroy(generator);
}

TEST(token_by_token_is_the_same_as_at_once) {
    static const char *const models[][2] = {
        {"gpt2", "layers=2 width=8 heads=2 context=16 window=12 overlap=5"},
        {"gpt2", "layers=2 width=8 heads=2 context=16"},
        {"gpt2_recurrent", "layers=2 width=8 heads=2 context=16 window=8 summary_hidden=4"},
        {"gpt2_recurrent", "layers=2 width=8 heads=2 context=16 window=8 overlap=3"},
        {"transformer_xl", CORE " layers=2 span=5"},
        {"lstm", "layers=1 width=6 hidden=8"},
        {"linear_attention", CORE " layers=2"},
        {"mamba2", "layers=2 width=8 state=6 head_width=4"},
        {"gated_deltanet", "layers=2 width=8 heads=2 head_width=4 hidden=12"},
        {"rmt", "layers=2 width=8 heads=2 block=4 memory_tokens=2 memory=5"},
        {"compressive", "layers=2 width=8 heads=2 block=4 memory=6 compressed_memory=5"},
        {"staircase", CORE " layers=2 forward_size=1 steps=3"}};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; ++m) {
        real whole[BENCH_VOCABULARY], single[BENCH_VOCABULARY];
        read_tokens(models[m][0], models[m][1], 40, whole);
        read_tokens(models[m][0], models[m][1], 1, single);
        for (int i = 0; i < BENCH_VOCABULARY; ++i)
            test_check(fabs((double)whole[i] - (double)single[i]) < 1e-5, __FILE__, __LINE__,
                       "%s %s: %g at once, %g by tokens", models[m][0], models[m][1],
                       (double)whole[i], (double)single[i]);
    }
}

/* Windows of 12 that share 5: after 13 tokens the window holds the last 6 and nothing else. */
TEST(a_new_window_begins_with_the_end_of_the_last) {
    static const char options[] = "layers=2 width=8 heads=2 context=16 window=12 overlap=5";
    lh_generator *whole = open_generator("gpt2", options), *end = open_generator("gpt2", options);
    int32_t tokens[13];
    REQUIRE(whole != NULL && end != NULL);
    for (int i = 0; i < 13; ++i)
        tokens[i] = (7 * i * i + 3 * i) % BENCH_VOCABULARY;
    CHECK_OK(lh_generator_feed(whole, tokens, 13));
    CHECK_OK(lh_generator_feed(end, tokens + 7, 6));
    for (int i = 0; i < BENCH_VOCABULARY; ++i)
        CHECK_NEAR(lh_generator_logits(whole)[i], (double)lh_generator_logits(end)[i], 1e-5);
    lh_generator_destroy(whole);
    lh_generator_destroy(end);
}

TEST(what_is_drawn_is_read_and_a_seed_repeats_it) {
    const lh_sampling sampling = {1, 0, 1};
    int32_t first[30], token = 0;
    for (int round = 0; round < 2; ++round) {
        lh_generator *generator =
            open_generator("gpt2_recurrent", "layers=2 width=8 heads=2 context=16 window=8");
        REQUIRE(generator != NULL);
        CHECK_FAILS(lh_generator_next(generator, &sampling, &token), LH_ESTATE, "a prompt comes");
        CHECK_OK(lh_generator_feed(generator, (const int32_t[]){1, 2, 3}, 3));
        for (int i = 0; i < 30; ++i) {
            CHECK_OK(lh_generator_next(generator, &sampling, &token));
            if (round == 0) first[i] = token;
            CHECK_EQ_INT(token, first[i]);
        }
        token = BENCH_VOCABULARY;
        CHECK_FAILS(lh_generator_feed(generator, &token, 1), LH_EOPTION, "outside the vocabulary");
        lh_generator_destroy(generator);
    }
}

/* ---- segments that are read anew ---- */

/* Logits of `count` tokens, read in whole segments from the first one on. */
static lh_status read_all(const char *name, const char *text, const int32_t *tokens, int64_t count,
                          int64_t segment, lh_forward_result *result) {
    const lh_model_class *class = lh_model_class_find(name);
    lh_options *options = NULL;
    CHECK_OK(lh_options_create(class->name, class->options, &options));
    CHECK_OK(lh_options_parse(options, text));
    const lh_forward_spec spec = {.model = class,
                                  .options = options,
                                  .setup = {.vocabulary = BENCH_VOCABULARY, .past_length = 8},
                                  .seed = 3,
                                  .device = "cpu",
                                  .rows = 1,
                                  .length = count,
                                  .segment = segment,
                                  .tokens = tokens};
    const lh_status status = lh_forward_run(&spec, result);
    lh_options_destroy(options);
    return status;
}

/* Logits behind the last of them. */
static void read_whole(const char *name, const char *text, const int32_t *tokens, int64_t count,
                       int64_t segment, real *logits) {
    lh_forward_result result;
    REQUIRE_OK(read_all(name, text, tokens, count, segment, &result));
    memcpy(logits, result.values + (count - 1) * BENCH_VOCABULARY,
           BENCH_VOCABULARY * sizeof *logits);
    free(result.values);
}

/* Segments of 4 within windows of 8: what a cache holds of a window, and of the window before. */
TEST(forward_goes_on_within_a_cached_window) {
    static const char *const models[] = {"gpt2", "gpt2_recurrent"};
    enum { READ = 24 };
    int32_t tokens[READ];
    random_tokens(tokens, READ);
    for (int i = 0; i < 2; ++i) {
        lh_forward_result windows, segments;
        const char *text = "layers=2 width=8 heads=2 context=16 window=8";
        const char *cached = "layers=2 width=8 heads=2 context=16 window=8 cache=true";
        REQUIRE_OK(read_all(models[i], text, tokens, READ, 8, &windows));
        REQUIRE_OK(read_all(models[i], cached, tokens, READ, 4, &segments));
        for (int64_t e = 0; e < READ * BENCH_VOCABULARY; ++e)
            CHECK_NEAR(segments.values[e], windows.values[e], 1e-5);
        free(windows.values);
        free(segments.values);
        CHECK_FAILS(read_all(models[i], cached, tokens, READ, 6, &segments), LH_ESHAPE,
                    "of a window of 8");
    }
}

/* What carries something from segment to segment, and models of vectors, which read tokens through
 * an adapter; up to three segments of 8. */
static const struct {
    const char *name, *options;
    int64_t count;
} recomputed[] = {
    {"xl", "layers=2 width=8 heads=2 window=8", 20},
    {"brt", "layers=2 width=8 heads=2 window=8 recurrence=fixed:skip recurrent_layers=1", 20},
    {"memorizing", "layers=2 width=8 heads=2 window=4 memory=12 top=3 memory_layer=1", 20},
    {"dai_xl", CORE " layers=2 memory=5", 20},
    {"staircase", CORE " layers=2 forward_size=4 steps=2", 19},
    {"t5", CORE " layers=1", 20},
    {"transformer", CORE " layers=2", 7},
    {"reformer", "layers=1 heads=2 width=4 hidden=8 chunk=4 positions=8 attention=full", 7},
    {"routing", CORE " layers=2 window=2 clusters=2", 7},
    {"rsa", "layers=1 width=8 heads=2 rsa_kinds=1,0,0,0,0,0", 8},
    {"informer", CORE " attention=full mix=false", 8},
    {"logsparse", CORE, 7},
    {"series_xl", CORE, 8}};

static lh_generator *open_in_segments(const char *name, const char *text) {
    const lh_model_class *class = lh_model_class_find(name);
    lh_options *options = NULL;
    lh_generator *generator = NULL;
    CHECK_OK(lh_options_create(class->name, class->options, &options));
    CHECK_OK(lh_options_parse(options, text));
    const lh_generator_spec spec = {.model = class,
                                    .options = options,
                                    .setup = {.vocabulary = BENCH_VOCABULARY},
                                    .seed = 3,
                                    .device = "cpu",
                                    .segment = 8};
    CHECK_OK(lh_generator_create(&spec, &generator));
    lh_options_destroy(options);
    return generator;
}

TEST(a_segment_read_anew_is_the_segment_read_once) {
    int32_t tokens[20];
    for (int i = 0; i < 20; ++i)
        tokens[i] = (7 * i * i + 3 * i) % BENCH_VOCABULARY;
    for (size_t m = 0; m < sizeof recomputed / sizeof *recomputed; ++m) {
        real expected[BENCH_VOCABULARY];
        const char *name = recomputed[m].name;
        const int64_t count = recomputed[m].count;
        lh_generator *single = open_in_segments(name, recomputed[m].options),
                     *whole = open_in_segments(name, recomputed[m].options);
        REQUIRE(single != NULL && whole != NULL);
        for (int64_t i = 0; i < count; ++i)
            CHECK_OK(lh_generator_feed(single, &tokens[i], 1));
        CHECK_OK(lh_generator_feed(whole, tokens, count));
        read_whole(name, recomputed[m].options, tokens, count, 8, expected);
        for (int i = 0; i < BENCH_VOCABULARY; ++i) {
            const double by_token = (double)lh_generator_logits(single)[i];
            test_check(fabs((double)lh_generator_logits(whole)[i] - by_token) < 1e-5 &&
                           fabs((double)expected[i] - by_token) < 1e-5,
                       __FILE__, __LINE__, "%s: %g by tokens, %g at once, %g by forward", name,
                       by_token, (double)lh_generator_logits(whole)[i], (double)expected[i]);
        }
        CHECK_EQ_INT(lh_generator_segment(single), 8);
        lh_generator_destroy(single);
        lh_generator_destroy(whole);
    }
}

/* A full segment of 8 is followed by one that begins with its last 4. */
TEST(what_carries_nothing_begins_with_the_half_before) {
    lh_generator *whole = open_in_segments("transformer", CORE " layers=1"),
                 *end = open_in_segments("transformer", CORE " layers=1");
    int32_t tokens[10];
    REQUIRE(whole != NULL && end != NULL);
    for (int i = 0; i < 10; ++i)
        tokens[i] = (7 * i * i + 3 * i) % BENCH_VOCABULARY;
    CHECK_OK(lh_generator_feed(whole, tokens, 10));
    CHECK_OK(lh_generator_feed(end, tokens + 4, 6));
    for (int i = 0; i < BENCH_VOCABULARY; ++i)
        CHECK_NEAR(lh_generator_logits(whole)[i], (double)lh_generator_logits(end)[i], 1e-5);
    lh_generator_destroy(whole);
    lh_generator_destroy(end);
}

TEST(a_segment_is_found_that_the_model_takes) {
    static const struct {
        const char *name, *options;
        int64_t segment;
    } found[] = {{"transformer", CORE " layers=1", 256},
                 {"xl", "layers=2 width=8 heads=2 window=24", 24},
                 {"xl", "layers=2 width=8 heads=2 window=300", 300},
                 {"lstm", "layers=1 width=6 hidden=8", 0},
                 {"t5", "layers=1 width=8 heads=2", 256},
                 {"gpt2", "layers=1 width=8 heads=2 context=16", 0}};
    for (size_t m = 0; m < sizeof found / sizeof *found; ++m) {
        lh_generator *generator = open_generator(found[m].name, found[m].options);
        REQUIRE(generator != NULL);
        CHECK_EQ_INT(lh_generator_segment(generator), found[m].segment);
        lh_generator_destroy(generator);
    }
}

/* An LSTM whose outputs overflow. */
static lh_status overflow(const void *instance, lh_pass *pass, lh_output *out) {
    LH_TRY(lh_model_class_find("lstm")->forward(instance, pass, out));
    out->hidden = lh_scale(lh_pass_tape(pass), out->hidden, HUGE_VAL);
    return LH_OK;
}

TEST(what_is_no_number_draws_no_token) {
    lh_model_class class = *lh_model_class_find("lstm");
    lh_options *options = NULL;
    lh_generator *generator = NULL;
    int32_t token = 0;
    class.forward = overflow;
    REQUIRE_OK(lh_options_create(class.name, class.options, &options));
    const lh_generator_spec spec = {.model = &class,
                                    .options = options,
                                    .setup = {.vocabulary = BENCH_VOCABULARY},
                                    .device = "cpu"};
    REQUIRE_OK(lh_generator_create(&spec, &generator));
    CHECK_OK(lh_generator_feed(generator, (const int32_t[]){1, 2, 3}, 3));
    for (int temperature = 0; temperature < 2; ++temperature)
        CHECK_FAILS(lh_generator_next(generator, &(lh_sampling){temperature, 0, 1}, &token),
                    LH_EINTERNAL, "behind 3 tokens the logit of token");
    lh_generator_destroy(generator);
    lh_options_destroy(options);
}

TEST(what_knows_later_tokens_cannot_generate) {
    lh_model_class looks = *lh_model_class_find("transformer");
    lh_options *options = NULL;
    lh_generator *generator = NULL;
    looks.abilities = LH_ABLE_TOKENS;
    REQUIRE_OK(lh_options_create(looks.name, looks.options, &options));
    const lh_generator_spec spec = {.model = &looks,
                                    .options = options,
                                    .setup = {.vocabulary = BENCH_VOCABULARY},
                                    .device = "cpu"};
    CHECK_FAILS(lh_generator_create(&spec, &generator), LH_EOPTION, "cannot generate");
    lh_options_destroy(options);
}

/* The harness finds nothing out by the names of options. */
TEST(a_cache_needs_a_class_that_says_its_window) {
    lh_model_class silent = *lh_model_class_find("gpt2");
    lh_options *options = NULL;
    lh_generator *generator = NULL;
    silent.window = NULL;
    REQUIRE_OK(lh_options_create(silent.name, silent.options, &options));
    const lh_generator_spec spec = {.model = &silent,
                                    .options = options,
                                    .setup = {.vocabulary = BENCH_VOCABULARY},
                                    .device = "cpu"};
    CHECK_FAILS(lh_generator_create(&spec, &generator), LH_EINTERNAL, "does not say its window");
    lh_options_destroy(options);
}
