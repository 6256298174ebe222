/* The identities of Ju et al. 2022, section 3.3, and the sizes of its models. That N = 1 is the
 * plain transformer is a row of tests/golden/staircase.csv. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, COUNT = 16, WIDTH = 8 };

static bool run(const char *name, const char *options, int64_t segment, const int32_t *tokens,
                real *hidden) {
    static const int32_t fresh[ROWS] = {1, 1};
    model_bench bench;
    const bool good = bench_open(&bench, name, options, ROWS) &&
                      bench_run(&bench, tokens, COUNT, segment, fresh, hidden);
    bench_close(&bench);
    return good;
}

/* Largest difference between two models of the same parameters; infinite after a failure. */
static double apart(const char *name, const char *options, const char *other,
                    const char *other_options, int64_t segment) {
    int32_t tokens[ROWS * COUNT];
    real a[ROWS * COUNT * WIDTH], b[ROWS * COUNT * WIDTH];
    random_tokens(tokens, ROWS * COUNT);
    if (!run(name, options, segment, tokens, a) || !run(other, other_options, segment, tokens, b)) {
        return INFINITY;
    }
    return largest_difference(a, b, ROWS * COUNT * WIDTH);
}

#define SIZES "layers=2 width=8 heads=2 hidden=12 "

TEST(feedback_is_a_cached_staircase_of_single_tokens) {
    CHECK_NEAR(apart("cached_staircase", SIZES "forward_size=1 step_size=6", "feedback",
                     SIZES "span=5 memory=top see_self=true", 8),
               0, 1e-6);
}

TEST(memory_is_normed_where_a_norm_stands_before_a_layer) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("feedback", "carry=normed post_norm=true", &model), LH_EOPTION,
                "'carry=normed' and 'post_norm' exclude each other");
}

TEST(nothing_cached_is_the_plain_staircase) {
    CHECK_NEAR(apart("cached_staircase", SIZES "forward_size=4 step_size=12 computed_steps=3",
                     "staircase", SIZES "forward_size=4 steps=3", COUNT),
               0, 1e-6);
}

TEST(more_steps_compute_something_else) {
    const double moved = apart("staircase", SIZES "forward_size=4 steps=2", "staircase",
                               SIZES "forward_size=2 steps=4", COUNT);
    test_check(moved > 1e-3 && moved < 1e3, __FILE__, __LINE__, "moved by %g", moved);
}

static int64_t parameters(const char *name, const char *text, int64_t vocabulary) {
    return count_parameters(name, text, (lh_model_setup){.vocabulary = vocabulary});
}

TEST(recurrent_steps_cost_no_parameters) {
    const int64_t two = parameters("staircase", "layers=8 forward_size=128 steps=2", 8008);
    CHECK_EQ_INT(parameters("staircase", "layers=8 forward_size=64 steps=4", 8008), two);
    CHECK_EQ_INT(parameters("staircase", "layers=8 forward_size=32 steps=8", 8008), two);
    CHECK_EQ_INT(parameters("universal", "steps=2", 8008),
                 parameters("universal", "steps=16", 8008));
}

/* Parameters of the core: embeddings, a head of its own, one table of positions for all heads,
 * and in a layer four square products, a feed-forward network of 4 d and two norms. */
static int64_t core_parameters(int64_t layers, int64_t width, int64_t positions, bool share) {
    enum { VOCABULARY = 8008 };
    const int64_t heads = 8, head_width = width / heads, square = width * width;
    const int64_t attention = 4 * square + 2 * width, network = 8 * square + 7 * width,
                  shared = share ? (layers - 1) * (2 * square + 2 * width) : 0;
    return layers * (attention + network) - shared + 2 * width + positions * head_width +
           2 * VOCABULARY * width + VOCABULARY;
}

/* Table 2: 8 layers of width 1024 over 8,008 sub-words, embeddings included. */
TEST(parameter_counts_of_the_paper) {
    static const struct {
        const char *name, *options;
        int64_t layers, width, positions;
        bool share;
        double millions;
    } rows[] = {
        {"transformer_xl", "layers=8", 8, 1024, 512, false, 117},
        {"transformer_xl", "layers=16", 16, 1024, 512, false, 218},
        {"feedback", "layers=8 share_kv=true", 8, 1024, 512, true, 102},
        {"cached_staircase", "layers=8 forward_size=128 step_size=256", 8, 1024, 256, false, 117},
        {"staircase", "layers=8 forward_size=32 steps=8", 8, 1024, 256, false, 117},
        {"universal", "steps=8", 1, 1024, 512, false, 29},
        {"universal", "width=2560 steps=8", 1, 2560, 512, false, 120}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const int64_t count = parameters(rows[i].name, rows[i].options, 8008);
        const int64_t mix = rows[i].share ? rows[i].layers + 1 : 0; /* Fan et al., eq. 3 */
        CHECK_EQ_INT(count, mix + core_parameters(rows[i].layers, rows[i].width, rows[i].positions,
                                                  rows[i].share));
        CHECK_NEAR((double)count / 1e6, rows[i].millions, 0.6); /* the paper's, in whole millions */
    }
}
