/* Generation: what is drawn, and that going token by token is reading at once. */
#include "harness/train/generator.h"

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

TEST(a_model_that_remembers_nothing_cannot_generate) {
    CHECK(open_generator("memorizing", "layers=3 width=8 heads=2 window=4") == NULL);
    CHECK_CONTAINS(lh_error_get()->message, "cannot generate");
    lh_error_clear();
}
