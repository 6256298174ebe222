/* Sizes of the forecasting models, what they refuse, and what their attention reads. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

/* ETTh1 at horizon 24 as Informer's scripts have it. */
static const lh_model_setup etth1 = {.input_features = 11,
                                     .output_features = 7,
                                     .time_features = 4,
                                     .seq_len = 48,
                                     .label_len = 48,
                                     .pred_len = 24,
                                     .stride = 32};

static int64_t count_of(const char *name, const char *text) {
    return count_parameters(name, text, etth1);
}

/* By hand, from the layers of the released code without distilling. */
TEST(informer_has_the_parameters_of_its_layers) {
    const int64_t d = 512, f = 2048, c = 7, t = 4;
    const int64_t embedding = 3 * c * d + d + t * d + d, attention = 4 * (d * d + d), norm = 2 * d,
                  network = d * f + f + f * d + d;
    const int64_t encoder = 2 * (attention + network + 2 * norm) + norm,
                  decoder = 2 * attention + network + 3 * norm + norm;
    const int64_t whole = 2 * embedding + encoder + decoder + d * c + c;
    CHECK_EQ_INT(whole, 10542087);
    CHECK_EQ_INT(count_of("informer", ""), whole);
    /* Convolved queries and keys of three self-attentions: two more taps each. */
    CHECK_EQ_INT(count_of("logsparse", ""), whole + 3 * 2 * 2 * d * d);
}

/* Each attention has a gate and as many numbers as heads of its kinds. */
TEST(recurrence_encoding_adds_nine_numbers_an_attention) {
    const char *rsa = "rsa_kinds=0,2,2,0,2,2 rsa_dilation=24";
    CHECK_EQ_INT(count_of("informer", rsa) - count_of("informer", ""), 4 * 9);
    CHECK_EQ_INT(count_of("logsparse", rsa) - count_of("logsparse", ""), 4 * 9);
}

/* Section 4.1: RSA-XL drops the learned relative encoding, hence has fewer parameters. */
TEST(rsa_xl_is_smaller_than_xl) {
    const int64_t xl = count_of("series_xl", ""),
                  rsa = count_of("series_xl", "positions=none rsa_kinds=4,0,0,4,0,0 "
                                              "rsa_dilation=24");
    CHECK_EQ_INT(xl - rsa, 3 * (512 * 512 - 9) + 2 * 512);
}

/* The layers as Transformer-XL's release draws them, the embedding as Informer's. */
TEST(series_xl_begins_as_released) {
    static const drawn_from expected[] = {
        {"layers.1.attention.query", 0, 0.02},
        {"layers.1.attention.key_value", 0, 0.02},
        {"layers.1.attention.relative.projection", 0, 0.02},
        {"layers.0.attention.relative.content", 0, 0.02},
        {"layers.1.attention.norm.gain", 1, 0.02},
        {"layers.1.attention.norm.bias", 0, 0},
        {"layers.1.feed_forward.out.weight", 0, 0.02},
        {"layers.1.feed_forward.out.bias", 0, 0},
        {"layers.1.feed_forward.norm.gain", 1, 0.02},
        {"embedding.value.weight", 0, 0.28867513459481287}, /* sqrt(2 / (3 channels)) */
    };
    check_first_values("series_xl", "layers=2 width=64 heads=4", expected,
                       sizeof expected / sizeof *expected);
}

TEST(what_does_not_fit_is_refused) {
    lh_model *model = NULL;
    lh_model_setup other = etth1;
    other.stride = 0;
    CHECK_FAILS(create_model_for("series_xl", "", &other, &model), LH_EOPTION,
                "sampler=sequential");
    other.stride = 49;
    CHECK_FAILS(create_model_for("series_xl", "", &other, &model), LH_EOPTION, "smaller batch");
    CHECK_FAILS(create_model_for("informer", "width=12 heads=5", &etth1, &model), LH_EOPTION,
                "heads");
    CHECK_FAILS(create_model_for("informer", "attention=sparse", &etth1, &model), LH_EOPTION,
                "prob");
    other = etth1;
    other.time_features -= 1;
    CHECK_FAILS(create_model_for("informer", "", &other, &model), LH_EOPTION, "forecasting task");
    CHECK_FAILS(create_model_for("series_xl", "", &other, &model), LH_EOPTION, "forecasting task");
    REQUIRE_OK(create_model_for("informer", "width=8 heads=2", &etth1, &model));
    CHECK_FAILS(model->class->check(model->instance, 71), LH_ESHAPE, "71 steps");
    lh_model_destroy(model);
}

/* ---- what predictions depend on ---- */

enum { LENGTH = BENCH_SEQ_LEN + BENCH_PRED_LEN, NUMBERS = BENCH_PRED_LEN * BENCH_CHANNELS };

/* Predictions of one window of random tokens, `changed` (or -1) with another token. */
static bool predict(const char *name, const char *options, int changed, real *out) {
    static const int32_t starts[] = {1};
    model_bench bench;
    int32_t tokens[LENGTH];
    for (int i = 0; i < LENGTH; ++i)
        tokens[i] = (3 * i + 1 + (i == changed)) % BENCH_VOCABULARY;
    const bool good = bench_open(&bench, name, options, 1);
    lh_output output;
    lh_tensor *y = NULL;
    if (good) {
        lh_tape_begin(bench.tape, false, 1, 0);
        y = bench_forward(&bench, LENGTH, tokens, starts, false, &output);
    }
    if (y != NULL) memcpy(out, lh_tensor_real(y), NUMBERS * sizeof *out);
    bench_close(&bench);
    return y != NULL;
}

/* Every observed step reaches every prediction, also where ProbSparse chooses few queries. */
TEST(predictions_depend_on_all_that_is_observed) {
    static const struct {
        const char *name, *options;
    } models[] = {{"informer", "width=8 heads=2 hidden=12 factor=1"},
                  {"logsparse", "width=8 heads=2 hidden=12"},
                  {"series_xl", "width=8 heads=2 hidden=12"}};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; ++m) {
        real plain[NUMBERS], changed[NUMBERS];
        REQUIRE(predict(models[m].name, models[m].options, -1, plain));
        for (int step = 0; step < BENCH_SEQ_LEN; ++step) {
            REQUIRE(predict(models[m].name, models[m].options, step, changed));
            for (int p = 0; p < BENCH_PRED_LEN; ++p)
                CHECK(memcmp(plain + p * BENCH_CHANNELS, changed + p * BENCH_CHANNELS,
                             BENCH_CHANNELS * sizeof(real)) != 0);
        }
    }
}

/* With factor large enough ProbSparse chooses every query and is dense attention. */
TEST(prob_sparse_with_every_query_is_dense) {
    real sparse[NUMBERS], dense[NUMBERS];
    REQUIRE(predict("informer", "width=8 heads=2 hidden=12 factor=9", -1, sparse));
    REQUIRE(predict("informer", "width=8 heads=2 hidden=12 attention=full", -1, dense));
    for (int i = 0; i < NUMBERS; ++i)
        CHECK_NEAR(sparse[i], dense[i], 1e-5);
}
