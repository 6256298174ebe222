/* What the transformer says of itself and what it refuses; its equations are held against the
 * oracle in tests/gradients/test_oracle.c. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

typedef struct seen {
    const char *name;
    double value;
    int count;
} seen;

static void look_for(void *context, const char *name, double value) {
    seen *s = context;
    s->count += 1;
    if (strcmp(name, s->name) == 0) s->value = value;
}

static double probed(const model_bench *bench, const char *name, int count) {
    seen s = {.name = name, .value = (double)NAN};
    const lh_model *model = bench->model;
    const lh_report report = {look_for, &s};
    CHECK_OK(model->class->probe(model->instance, model->params, &report));
    CHECK_EQ_INT(s.count, count);
    return s.value;
}

/* Initial eta is 1.5 for one regular head, nu 1.5 and theta pi / 4 for one pair. */
TEST(gates_and_heads_are_reported) {
    model_bench bench;
    REQUIRE(bench_open(&bench, "transformer",
                       "layers=2 width=8 heads=4 positions=none rsa_kinds=1,1,1,0,0,0 rsa_gate=1",
                       1));
    const int count = 2 * (1 + 1 + 2 + 2);
    const double sigmoid = 1 / (1 + exp(-1));
    CHECK_NEAR(probed(&bench, "layer_2_rsa_gate", count), sigmoid, 1e-6);
    CHECK_NEAR(probed(&bench, "layer_1_rsa_head_1_lambda", count), tanh(1.5), 1e-6);
    CHECK_NEAR(probed(&bench, "layer_2_rsa_head_2_gamma", count), 1 / (1 + exp(-1.5)), 1e-6);
    CHECK_NEAR(probed(&bench, "layer_1_rsa_head_3_theta", count), 0.7853981634, 1e-6);
    bench_close(&bench);
}

TEST(without_encodings_there_is_nothing_to_report) {
    model_bench bench;
    REQUIRE(bench_open(&bench, "transformer", "layers=2 width=8 heads=4", 1));
    CHECK(isnan(probed(&bench, "layer_1_rsa_gate", 0)));
    bench_close(&bench);
}

TEST(zero_memory_and_a_longest_distance_belong_to_relative_positions) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("transformer", "width=8 heads=2 zero_memory=4", &model), LH_EOPTION,
                "positions=relative");
    CHECK_FAILS(create_model("transformer", "longest_distance=4 positions=none", &model),
                LH_EOPTION, "'longest_distance' needs positions=relative");
    CHECK_FAILS(create_model("transformer", "width=8 heads=3", &model), LH_EOPTION, "heads");
}

/* Whether a model can tell the second of two equal letters from the first. */
static bool counts_letters(const char *options) {
    enum { WIDTH = 8 };
    static const int32_t same[] = {3, 3}, starts[] = {1};
    model_bench bench;
    bool differ = false;
    if (bench_open(&bench, "transformer", options, 1)) {
        lh_output out;
        lh_tape_begin(bench.tape, false, 1, 0);
        const lh_tensor *hidden = bench_forward(&bench, 2, same, starts, false, &out);
        const real *x = hidden != NULL ? lh_tensor_real(hidden) : NULL;
        for (int i = 0; CHECK(x != NULL) && i < WIDTH; ++i)
            differ = differ || fabs((double)(x[i] - x[WIDTH + i])) > 1e-5;
    }
    bench_close(&bench);
    return differ;
}

/* Relative positions weigh equal values, which sum to the same: only something that stands before
 * the string shows where it begins, as D_2 demands of its first letter. */
TEST(only_zero_states_show_relative_positions_where_a_string_begins) {
    CHECK(!counts_letters("layers=2 width=8 heads=2 positions=relative"));
    CHECK(counts_letters("layers=2 width=8 heads=2 positions=relative zero_memory=4"));
    CHECK(counts_letters("layers=2 width=8 heads=2"));
    CHECK(counts_letters("layers=2 width=8 heads=2 positions=none rsa_kinds=1,0,0,0,0,0"));
}

/* Three layers of width 20 with five heads and 64 hidden units over two letters: embedding and head
 * 82; a layer 1260 + 420 of attention, 1344 + 1300 of feed-forward, 80 of norms. A relative layer
 * has 1200 + 400 + 400 + 40, the embedding 400 more. */
TEST(parameters_of_table_2) {
#define TABLE_2 "layers=3 width=20 heads=5 hidden=64"
    static const struct {
        const char *options;
        int64_t count;
    } rows[] = {
        {TABLE_2, 82 + 3 * 4404},
        {TABLE_2 " positions=relative", 482 + 3 * (2040 + 2644 + 80)},
        {TABLE_2 " positions=none rsa_kinds=3,0,0,0,1,1 rsa_dilation=2", 82 + 3 * (4404 + 6)}};
    const lh_model_setup setup = {.vocabulary = 2, .output_features = 2};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i)
        CHECK_EQ_INT(count_parameters("transformer", rows[i].options, setup), rows[i].count);
}

static void check_first_etas(const char *options, const double *expected) {
    model_bench bench;
    real eta[5];
    REQUIRE(bench_open(&bench, "transformer", options, 1));
    const lh_params *params = bench.model->params;
    REQUIRE_OK(lh_tensor_read(
        lh_params_get(params, lh_params_find(params, "layers.0.recurrence.eta")), eta, 5));
    for (int i = 0; i < 5; ++i)
        CHECK_NEAR(eta[i], expected[i], 1e-6);
    bench_close(&bench);
}

TEST(signs_of_first_encodings_are_an_option) {
#define FIVE_REGULAR "layers=1 width=20 heads=5 rsa_kinds=5,0,0,0,0,0 "
    check_first_etas(FIVE_REGULAR "rsa_spread=even", (double[]){1, -1, 1.5, -1.5, 2});
    check_first_etas(FIVE_REGULAR "rsa_spread=negative", (double[]){-1, -1.25, -1.5, -1.75, -2});
    check_first_etas(FIVE_REGULAR "rsa_spread=mirrored", (double[]){-2, 2, -1.5, 1.5, -1});
}

/* Drawn sizes stay in the paper's intervals, with both signs of eta; evenly spread ones are given.
 */
TEST(first_encodings_can_be_drawn) {
    enum { HEADS = 16 };
    model_bench bench;
    real eta[HEADS], nu[HEADS / 2];
    int negative = 0;
    REQUIRE(bench_open(&bench, "transformer",
                       "layers=1 width=32 heads=32 positions=none rsa_kinds=16,8,8,0,0,0 "
                       "rsa_spread=random",
                       1));
    const lh_params *params = bench.model->params;
    REQUIRE_OK(lh_tensor_read(
        lh_params_get(params, lh_params_find(params, "layers.0.recurrence.eta")), eta, HEADS));
    REQUIRE_OK(lh_tensor_read(
        lh_params_get(params, lh_params_find(params, "layers.0.recurrence.nu")), nu, HEADS / 2));
    for (int i = 0; i < HEADS; ++i) {
        CHECK(fabs((double)eta[i]) >= 1 && fabs((double)eta[i]) <= 2);
        negative += eta[i] < 0;
        CHECK(nu[i / 2] >= 1 && nu[i / 2] <= 2);
        CHECK(i == 0 || eta[i] != eta[i - 1]);
    }
    CHECK(negative > 0 && negative < HEADS);
    bench_close(&bench);
}

/* PyTorch's TransformerEncoderLayer below a head that the wrapper draws. Uniform within b:
 * deviation b / sqrt(3). */
TEST(a_plain_model_begins_as_pytorch_does) {
    const double third = sqrt(1.0 / 3.0);
    const drawn_from expected[] = {
        {"embedding.weight", 0, 0.1 * third},
        {"layers.1.attention.joined", 0, sqrt(6.0 / (4 * 64)) * third},
        {"layers.1.attention.joined_bias", 0, 0},
        {"layers.1.attention.out", 0, third / 8},
        {"layers.1.attention.out_bias", 0, 0},
        {"layers.1.attention.norm.gain", 1, 0},
        {"layers.1.feed_forward.in.weight", 0, third / 8},
        {"layers.1.feed_forward.out.bias", 0, third / 16},
        {"head.weight", 0, 0.1 * third},
        {"head.bias", 0, 0},
    };
    check_first_values("transformer", "layers=2 width=64 heads=4 hidden=256", expected,
                       sizeof expected / sizeof *expected);
}

/* transformers' TransfoXLModel below PyTorch's Linear. */
TEST(a_relative_model_begins_as_transformers_does) {
    const double third = sqrt(1.0 / 3.0);
    const drawn_from expected[] = {
        {"embedding.weight", 0, 0.02},
        {"embedding.projection", 0, 0.01},
        {"layers.1.attention.joined", 0, 0.02},
        {"layers.1.attention.out", 0, 0.02},
        {"layers.1.attention.relative.projection", 0, 0.02},
        {"layers.1.attention.relative.content", 0, 0.02},
        {"layers.1.attention.relative.position", 0, 0.02},
        {"layers.1.attention.norm.gain", 1, 0.02},
        {"layers.1.attention.norm.bias", 0, 0},
        {"layers.1.feed_forward.in.weight", 0, 0.02},
        {"layers.1.feed_forward.in.bias", 0, 0},
        {"layers.1.feed_forward.norm.gain", 1, 0.02},
        {"head.weight", 0, third / 8},
        {"head.bias", 0, third / 8},
    };
    check_first_values("transformer", "layers=2 width=64 heads=4 hidden=256 positions=relative",
                       expected, sizeof expected / sizeof *expected);
}
