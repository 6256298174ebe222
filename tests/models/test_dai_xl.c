/* The language models of Huang et al. 2023: parameter counts of Table 7, and the adaptive softmax.
 */
#include <math.h>

#include "harness/train/adaptive_softmax.h"
#include "harness/train/loss.h"
#include "tests/test.h"

#include "harness/ops/ops.h"
#include "tests/models/model_bench.h"

/* ---- Table 7, to the unit ---- */

#define BYTES   "layers=14"
#define WORDS   "layers=16 width=410 heads=12 head_width=41 hidden=2100"
#define ENCODED " rsa_kinds=0,0,0,0,2,2 rsa_dilation=3,6,9,12"

static int64_t count_of(int64_t vocabulary, const char *text) {
    return count_parameters("dai_xl", text, (lh_model_setup){.vocabulary = vocabulary});
}

TEST(parameter_counts_of_table_7) {
    static const struct {
        const char *row, *options;
        int64_t vocabulary, count;
    } rows[] = {
        {"Text8 | XL", BYTES, 27, 47789595},
        {"Text8 | RSA-XL", BYTES " rsa_kinds=0,0,0,0,2,2 rsa_dilation=6,6,12,12", 27, 47789665},
        {"Enwik8 | XL", BYTES, 204, 47880396},
        {"Enwik8 | RSA-XL", BYTES ENCODED, 204, 47880466},
        {"Enwik8 | BRT", BYTES " recurrent_layer=-3", 204, 55555788},
        {"Enwik8 | RSA-BRT", BYTES " recurrent_layer=-3" ENCODED, 204, 55555853},
        {"WikiText-103 | XL", WORDS " cutoffs=20000,40000,200000", 267735, 153797302},
        {"WikiText-103 | RSA-XL",
         WORDS " cutoffs=20000,40000,200000 rsa_kinds=0,0,0,2,2,2 rsa_dilation=12,24,12,24,12,24",
         267735, 153797414},
        {"WikiText-103 | BRT", WORDS " recurrent_layer=-3 state_head_width=64", 267735, 159627039},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const int64_t count = count_of(rows[i].vocabulary, rows[i].options);
        test_check(count == rows[i].count, __FILE__, __LINE__,
                   "%s: %lld parameters, published %lld", rows[i].row, (long long)count,
                   (long long)rows[i].count);
    }
}

/* The sum over the tensors of transformers' TransfoXLLMHeadModel as configured for the released
 * transfo-xl-wt103; and with embeddings of one width and shared biases (untie_r=False). */
TEST(parameter_counts_of_the_released_model) {
    const char *release = "layers=18 width=1024 heads=16 head_width=64 hidden=4096 memory=1600 "
                          "same_length=true longest_distance=1000 cutoffs=20000,40000,200000 ";
    char options[256];
    (void)snprintf(options, sizeof options, "%s%s", release,
                   "cluster_divisor=4 share_biases=false");
    CHECK_EQ_INT(count_of(267735, options), 285205322);
    (void)snprintf(options, sizeof options, "%s%s", release, "cluster_divisor=1");
    CHECK_EQ_INT(count_of(267735, options), 519966170);
}

/* Dai XL's, and a convolution of c d^2 weights and d biases in each layer; pooling has none. */
TEST(compression_adds_a_convolution) {
    const lh_model_setup setup = {.vocabulary = 204};
    const int64_t plain = count_of(204, BYTES);
    CHECK_EQ_INT(count_parameters("compressive", BYTES " compression_rate=4", setup) - plain,
                 14 * (4 * 512 * 512 + 512));
    CHECK_EQ_INT(count_parameters("compressive", BYTES " compression=mean", setup), plain);
}

/* Dai XL's and the memory tokens. */
TEST(a_recurrent_memory_adds_its_tokens) {
    CHECK_EQ_INT(count_parameters("rmt", BYTES " memory_tokens=25 memory=100",
                                  (lh_model_setup){.vocabulary = 204}),
                 count_of(204, BYTES) + 25 * 512);
}

TEST(memory_tokens_without_a_cache_read_none) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("rmt", "memory_reads_cache=true", &model), LH_EOPTION,
                "needs option 'memory'");
    REQUIRE_OK(create_model("rmt", "block=8", &model));
    CHECK_FAILS(lh_model_check(model, 20), LH_ESHAPE, "8 does not divide segment 20 (try 16)");
    lh_model_destroy(model);
}

TEST(compression_that_the_task_never_reaches_is_refused) {
#define SMALL "layers=2 width=8 heads=2 block=4 memory=4 compressed_memory=2 "
    CHECK_FAILS(bench_train_documents("compressive", SMALL "compression_loss=task", 4), LH_EOPTION,
                "learns nothing from a segment of one block");
    CHECK_OK(bench_train_documents("compressive", SMALL "compression_loss=task", 8));
    CHECK_OK(bench_train_documents("compressive", SMALL "compression_loss=attention", 4));
#undef SMALL
}

TEST(compression_that_does_not_fit_is_refused) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("compressive", "block=8 compression_rate=3", &model), LH_EOPTION,
                "3 does not divide block, 8");
    REQUIRE_OK(create_model("compressive", "block=8", &model));
    CHECK_FAILS(lh_model_check(model, 20), LH_ESHAPE, "8 does not divide segment 20 (try 16)");
    lh_model_destroy(model);
}

/* N(0, 0.02), gains N(1, 0.02), biases 0, as released. */
TEST(first_values_are_the_released_ones) {
    static const drawn_from expected[] = {
        {"embedding.weight", 0, 0.02},
        {"head.bias", 0, 0},
        {"clusters.weight", 0, 0.02},
        {"layers.1.attention.query", 0, 0.02},
        {"layers.1.attention.relative.projection", 0, 0.02},
        {"layers.0.attention.relative.position", 0, 0.02},
        {"layers.1.attention.norm.gain", 1, 0.02},
        {"layers.1.attention.norm.bias", 0, 0},
        {"layers.1.feed_forward.in.weight", 0, 0.02},
        {"layers.1.feed_forward.in.bias", 0, 0},
        {"layers.1.feed_forward.norm.gain", 1, 0.02},
    };
    static const drawn_from narrower[] = {
        {"embedding.weight", 0, 0.02},
        {"embedding.2.weight", 0, 0.02},
        {"embedding.projection", 0, 0.01},
        {"embedding.2.projection", 0, 0.01},
        {"head.projection", 0, 0.01},
        {"head.2.bias", 0, 0},
        {"layers.1.attention.relative.content", 0, 0.02},
    };
    check_first_values("dai_xl", "layers=2 width=64 heads=4 cutoffs=4,7", expected,
                       sizeof expected / sizeof *expected);
    check_first_values("dai_xl",
                       "layers=2 width=64 heads=4 cutoffs=4,7 cluster_divisor=2 share_biases=false",
                       narrower, sizeof narrower / sizeof *narrower);
}

TEST(options_that_do_not_fit_are_refused) {
    static const struct {
        const char *options, *message;
    } wrong[] = {{"layers=3 recurrent_layer=4", "names layer 4, but there are 3"},
                 {"layers=3 recurrent_layer=-4", "names layer -4, but there are 3"},
                 {"cutoffs=5,5", "5 does not lie between 5"},
                 {"cutoffs=4,11", "11 does not lie between 4"},
                 {"cutoffs=1,2,3,4,5,6,7,8,9", "has 9 numbers, at most 8"},
                 {"cluster_divisor=2", "'cluster_divisor' needs 'cutoffs'"},
                 {"width=8 heads=2 cutoffs=4,7 cluster_divisor=4", "leaves the last one none"},
                 {"memory=0 same_length=true", "needs a memory"},
                 {"segment=8 rsa_matrix=learned", "rsa_matrix=learned needs rsa_kinds"},
                 {"segment=8 rsa_matrix=toeplitz", "rsa_matrix=toeplitz needs rsa_kinds"},
                 {"rsa_kinds=1,0,0,0,0,0 rsa_matrix=learned", "needs option 'segment'"},
                 {"rsa_kinds=1,0,0,0,0,0 rsa_matrix=toeplitz segment=1 memory=0",
                  "needs a memory, or a segment of 2"}};
    lh_model *model = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        CHECK_FAILS(create_model("dai_xl", wrong[i].options, &model), LH_EOPTION, wrong[i].message);
}

/* ---- the adaptive softmax ---- */

enum { ROWS = 2, LENGTH = 6, TOKENS = ROWS * LENGTH };

static const int32_t fresh[] = {1, 1};
static const int32_t words[TOKENS] = {0, 4, 2, 9, 10, 3, 7, 1, 6, 5, 8, 3};
static const real weights[TOKENS] = {1, 1, 0, 1, 1, 1, 1, LH_R(0.5), 1, 1, 1, 0};

/* The output of a pass over `words` with targets that are the words themselves. */
static bool run_pass(model_bench *b, bool recording, lh_output *out, lh_batch *batch) {
    const int64_t shape[] = {ROWS, LENGTH};
    lh_tape_begin(b->tape, recording, 3, 1);
    if (bench_forward(b, LENGTH, words, fresh, false, out) == NULL) return false;
    *batch = (lh_batch){.rows = ROWS,
                        .length = LENGTH,
                        .target = bench_integers(b, LENGTH, words),
                        .weights = lh_reals(b->tape, 2, shape, weights)};
    return batch->target != NULL && batch->weights != NULL;
}

/* exp of what lh_loss_logits gives sums to 1, and the loss is minus its entries at the targets.
 * `bias`: of the last cluster, whose words are as likely as it says. */
static void check_log_probabilities(const char *options, double bias) {
    model_bench b;
    lh_output out;
    lh_batch batch;
    lh_loss_sums sums;
    lh_tensor *loss = NULL;
    double expected = 0, total = 0;
    REQUIRE(bench_open(&b, "dai_xl", options, ROWS));
    const int biases = lh_params_find(b.model->params, "clusters.bias");
    REQUIRE(biases >= 0);
    lh_tensor_real(lh_params_get(b.model->params, biases))[0] = (real)bias;
    REQUIRE(run_pass(&b, false, &out, &batch));
    const lh_tensor *log_p = lh_loss_logits(b.tape, &out);
    REQUIRE(log_p != NULL);
    for (int t = 0; t < TOKENS; ++t) {
        double sum = 0;
        for (int w = 0; w < BENCH_VOCABULARY; ++w)
            sum += exp((double)lh_tensor_real(log_p)[t * BENCH_VOCABULARY + w]);
        CHECK_NEAR(sum, 1.0, 1e-5);
        expected -=
            (double)weights[t] * (double)lh_tensor_real(log_p)[t * BENCH_VOCABULARY + words[t]];
        total += (double)weights[t];
    }
    REQUIRE_OK(lh_loss_forward(b.tape, &out, &batch, total, &loss, &sums));
    CHECK_NEAR(sums.nats, expected, 1e-4 + 1e-6 * expected);
    CHECK_NEAR(sums.weight, total, 1e-6);
    CHECK_NEAR((double)*lh_tensor_real(loss), expected / total, 1e-5 + 1e-6 * expected);
    bench_close(&b);
}

TEST(log_probabilities_and_loss_agree) {
    check_log_probabilities(DAI " cutoffs=4,6,9 initial_deviation=0.5", 0);
    check_log_probabilities(DAI " cutoffs=4,6,9 cluster_divisor=2 initial_deviation=0.5", 0);
    /* words less likely than any real says are so by their logarithms */
    check_log_probabilities(DAI " cutoffs=4,6,9 initial_deviation=0.5", 200);
}

/* One head of the model's width predicts what the clusters' narrower words do. */
TEST(a_widened_head_predicts_the_same) {
    model_bench b;
    lh_output out;
    lh_batch batch;
    REQUIRE(
        bench_open(&b, "dai_xl", DAI " cutoffs=4,7 cluster_divisor=2 initial_deviation=0.5", ROWS));
    REQUIRE(run_pass(&b, false, &out, &batch));
    const lh_tensor *narrow = lh_loss_logits(b.tape, &out);
    REQUIRE_OK(lh_adaptive_widen(b.tape, &out));
    CHECK_EQ_INT(out.head_weight->shape[0], BENCH_VOCABULARY);
    CHECK_EQ_INT(out.head_weight->shape[1], 8);
    const lh_tensor *wide = lh_loss_logits(b.tape, &out);
    REQUIRE(narrow != NULL && wide != NULL);
    for (int i = 0; i < TOKENS * BENCH_VOCABULARY; ++i)
        CHECK_NEAR((double)lh_tensor_real(wide)[i], (double)lh_tensor_real(narrow)[i], 1e-5);
    bench_close(&b);
}

/* A word that is given as a vector with one 1 is embedded as its number is. */
TEST(words_as_vectors_have_the_embeddings_of_their_clusters) {
    static real ones[TOKENS * BENCH_VOCABULARY];
    const int64_t shape[] = {ROWS, LENGTH, BENCH_VOCABULARY};
    model_bench b;
    lh_output out, as_vectors;
    lh_batch batch;
    REQUIRE(
        bench_open(&b, "dai_xl", DAI " cutoffs=4,7 cluster_divisor=2 initial_deviation=0.5", ROWS));
    REQUIRE(run_pass(&b, false, &out, &batch));
    for (int t = 0; t < TOKENS; ++t)
        ones[t * BENCH_VOCABULARY + words[t]] = 1;
    const lh_batch vectors = {.rows = ROWS,
                              .length = LENGTH,
                              .tokens = lh_reals(b.tape, 3, shape, ones),
                              .starts = bench_integers(&b, 0, fresh)};
    REQUIRE_OK(lh_model_forward(b.model, b.tape, b.state, &vectors, false, &as_vectors));
    for (int64_t i = 0; i < lh_tensor_count(out.hidden); ++i)
        CHECK_NEAR((double)lh_tensor_real(as_vectors.hidden)[i],
                   (double)lh_tensor_real(out.hidden)[i], 1e-5);
    bench_close(&b);
}

/* The released code gives cluster i the i-th of the head's last entries, from the end. */
TEST(clusters_stand_in_reverse_order) {
    model_bench b;
    lh_output out;
    lh_batch batch;
    REQUIRE(bench_open(&b, "dai_xl", DAI " cutoffs=4,6,9", ROWS));
    const int bias = lh_params_find(b.model->params, "clusters.bias");
    REQUIRE(bias >= 0);
    lh_tensor_real(lh_params_get(b.model->params, bias))[2] = 30; /* the last: cluster 4 .. 5 */
    REQUIRE(run_pass(&b, false, &out, &batch));
    const lh_tensor *log_p = lh_loss_logits(b.tape, &out);
    REQUIRE(log_p != NULL);
    const real *row = lh_tensor_real(log_p);
    CHECK_NEAR(exp((double)row[4]) + exp((double)row[5]), 1.0, 1e-5);
    bench_close(&b);
}

/* A token of weight 0 and nothing else: no loss, no failure. */
TEST(no_token_that_counts) {
    static const real none[TOKENS] = {0};
    const int64_t shape[] = {ROWS, LENGTH};
    model_bench b;
    lh_output out;
    lh_batch batch;
    lh_tensor *loss = NULL;
    REQUIRE(bench_open(&b, "dai_xl", DAI " cutoffs=4", ROWS));
    REQUIRE(run_pass(&b, true, &out, &batch));
    batch.weights = lh_reals(b.tape, 2, shape, none);
    REQUIRE_OK(lh_loss_forward(b.tape, &out, &batch, 0, &loss, NULL));
    CHECK(*lh_tensor_real(loss) == 0);
    REQUIRE_OK(lh_tape_backward(b.tape, loss));
    lh_tape_begin(b.tape, false, 1, 0);
    bench_close(&b);
}

/* As with one softmax, targets count as words or not at all. */
TEST(targets_that_are_no_words_are_refused) {
    int32_t beyond[TOKENS];
    model_bench b;
    lh_output out;
    lh_batch batch;
    lh_tensor *loss = NULL;
    REQUIRE(bench_open(&b, "dai_xl", DAI " cutoffs=4", ROWS));
    REQUIRE(run_pass(&b, false, &out, &batch));
    memcpy(beyond, words, sizeof beyond);
    beyond[2] = -100; /* of weight 0 */
    batch.target = bench_integers(&b, LENGTH, beyond);
    REQUIRE_OK(lh_loss_forward(b.tape, &out, &batch, 1, &loss, NULL));
    beyond[3] = BENCH_VOCABULARY;
    batch.target = bench_integers(&b, LENGTH, beyond);
    CHECK_FAILS(lh_loss_forward(b.tape, &out, &batch, 1, &loss, NULL), LH_EOPTION,
                "target 11 is none of the 11 words");
    lh_tape_begin(b.tape, false, 1, 0);
    bench_close(&b);
}

/* Gradients flow to frequent words, tails and clusters: a small step against them helps. */
TEST(a_step_down_the_gradient_lowers_the_loss) {
    model_bench b;
    lh_output out;
    lh_batch batch;
    lh_tensor *loss = NULL;
    double before[2] = {0};
    REQUIRE(bench_open(&b, "dai_xl", DAI " cutoffs=4,6,9", ROWS));
    for (int turn = 0; turn < 2; ++turn) {
        REQUIRE(run_pass(&b, turn == 0, &out, &batch));
        REQUIRE_OK(lh_loss_forward(b.tape, &out, &batch, 10, &loss, NULL));
        before[turn] = (double)*lh_tensor_real(loss);
        if (turn == 1) break;
        REQUIRE_OK(lh_tape_backward(b.tape, loss));
        for (int i = 0; i < lh_params_count(b.model->params); ++i) {
            const lh_param *param = lh_params_at(b.model->params, i);
            const lh_tensor *flowed = lh_tensor_gradient(param->value);
            test_check(flowed != NULL, __FILE__, __LINE__, "no gradient reaches %s", param->name);
            for (int64_t e = 0; flowed != NULL && e < param->count; ++e)
                lh_tensor_real(param->value)[e] -= LH_R(0.01) * lh_tensor_real(flowed)[e];
        }
        lh_params_clear_gradients(b.model->params);
    }
    CHECK(before[1] < before[0]);
    bench_close(&b);
}
