/* Costs of kernels against counts by hand, and of whole steps against what models say. */
#include "harness/bench/step_cost.h"

#include "harness/bench/sizes_task.h"
#include "harness/engine/plugin.h"
#include "harness/tasks/tasks.h"
#include "harness/train/evaluate.h"
#include "harness/train/train_options.h"
#include "tests/test.h"

static _Alignas(16) float memory[4];

static lh_act act(lh_dtype dtype) {
    return (lh_act){.data = memory, .dtype = dtype};
}

/* act([6][8] [8][16] + bias) in bf16, where B is real. */
static lh_cost layer_cost(lh_unary_op activation) {
    const lh_matmul_args args = {.batch = 1,
                                 .m = 6,
                                 .n = 16,
                                 .k = 8,
                                 .a = act(LH_BF16),
                                 .b = act(LH_REAL),
                                 .c = act(LH_BF16),
                                 .bias = memory,
                                 .activation = activation,
                                 .precision = LH_PRECISION_BF16};
    return lh_cost_matmul(&args);
}

TEST(a_product_in_bf16_rounds_what_is_f32_and_takes_the_bias_along) {
    const lh_cost cost = layer_cost(LH_UNARY_RELU);
    CHECK_EQ_INT(cost.launches, 3); /* rounding both, product */
    CHECK_NEAR(cost.products, 2.0 * 6 * 16 * 8, 0);
    CHECK_NEAR(cost.read, 6 * 8 * 2 + 8 * 16 * (4 + 2) + 16 * (4 + 2), 0);
    CHECK_NEAR(cost.written, 8 * 16 * 2 + 16 * 2 + 6 * 16 * 2, 0);
}

TEST(an_activation_that_no_epilogue_knows_is_a_pass) {
    const lh_cost cost = layer_cost(LH_UNARY_TANH);
    CHECK_EQ_INT(cost.launches, 3); /* rounding, product, pass */
    CHECK_NEAR(cost.read, 6 * 8 * 2 + 8 * 16 * (4 + 2) + 16 * 4 + 6 * 16 * 2, 0);
    CHECK_NEAR(cost.written, 8 * 16 * 2 + 2 * 6 * 16 * 2, 0);
}

TEST(what_adds_reads_its_result) {
    lh_linear_combination_args args = {.count = 10, .a = act(LH_BF16), .y = act(LH_BF16)};
    CHECK_NEAR(lh_cost_linear_combination(&args).read, 20, 0);
    args.write = LH_ADD;
    CHECK_NEAR(lh_cost_linear_combination(&args).read, 40, 0);
    CHECK_NEAR(lh_cost_linear_combination(&args).written, 20, 0);
}

TEST(a_long_row_of_logits_is_read_twice) {
    lh_cross_entropy_args args = {.rows = 3,
                                  .vocabulary = 4096,
                                  .leading = 4096,
                                  .x = memory,
                                  .gradient = true,
                                  .loss = memory};
    CHECK_NEAR(lh_cost_cross_entropy(&args).read, 3 * (2 * 4096 * 4 + 4), 0);
    CHECK_NEAR(lh_cost_cross_entropy(&args).written, 3 * (4096 * 4 + 4), 0);
    args.vocabulary = 100;
    CHECK_NEAR(lh_cost_cross_entropy(&args).read, 3 * (100 * 4 + 4), 0);
}

/* Six queries that see themselves and the token before: 11 pairs. */
TEST(attention_multiplies_the_pairs_that_see_each_other) {
    const lh_heads heads = {.act = act(LH_BF16)};
    const lh_key_source keys = {.count = 6, .k = heads, .v = heads, .dk = heads, .dv = heads};
    const lh_attention_spec spec = {.batch = 2,
                                    .heads = 3,
                                    .queries = 6,
                                    .head_width = 8,
                                    .max_distance = 1,
                                    .precision = LH_PRECISION_BF16,
                                    .source_count = 1,
                                    .source = {keys}};
    const lh_attention_forward_args forward = {.spec = spec, .q = heads, .out = heads};
    const lh_attention_backward_args backward = {
        .spec = spec, .q = heads, .out = heads, .dout = heads, .dq = heads};
    CHECK_NEAR(lh_cost_attention_forward(&forward).products, 2.0 * 2 * 11 * 2 * 3 * 8, 0);
    CHECK_NEAR(lh_cost_attention_forward(&forward).read, 3.0 * 2 * 6 * 3 * 8 * 2, 0);
    CHECK_NEAR(lh_cost_attention_backward(&backward).products, 7.0 * 2 * 11 * 2 * 3 * 8, 0);
    CHECK_EQ_INT(lh_cost_attention_backward(&backward).launches, 3);
}

/* A word of 20 FLOPs for each of the 11 pairs and each pass of tiles, four of them without tiles;
 * with a period one for each distance, 32 at a time, in a launch more. */
TEST(attention_draws_for_its_dropout) {
    static const lh_random_key key;
    const double word = 80, pairs = 11 * 2 * 3;
    const lh_heads heads = {.act = act(LH_BF16)};
    const lh_key_source keys = {.count = 6, .k = heads, .v = heads, .dk = heads, .dv = heads};
    lh_attention_forward_args forward = {.q = heads, .out = heads};
    lh_attention_backward_args backward = {.q = heads, .out = heads, .dout = heads, .dq = heads};
    lh_attention_spec spec = {.batch = 2,
                              .heads = 3,
                              .queries = 6,
                              .head_width = 8,
                              .max_distance = 1,
                              .dropout = 0.1,
                              .key = &key,
                              .precision = LH_PRECISION_BF16,
                              .source_count = 1,
                              .source = {keys}};
    forward.spec = backward.spec = spec;
    CHECK_NEAR(lh_cost_attention_forward(&forward).flops, word * pairs, 0);
    CHECK_NEAR(lh_cost_attention_backward(&backward).flops, word * 2 * pairs, 0);
    forward.spec.precision = LH_PRECISION_F32;
    CHECK_NEAR(lh_cost_attention_forward(&forward).flops, word * 4 * pairs, 0);
    spec.dropout_period = 4;
    forward.spec = backward.spec = spec;
    CHECK_NEAR(lh_cost_attention_forward(&forward).flops, word * 3 * 4 * 32, 0);
    CHECK_NEAR(lh_cost_attention_backward(&backward).flops, word * 3 * 4 * 32, 0);
    CHECK_EQ_INT(lh_cost_attention_forward(&forward).launches, 2);
    CHECK_EQ_INT(lh_cost_attention_backward(&backward).launches, 4);
}

/* ---- whole steps ---- */

typedef struct step {
    lh_options *model, *task, *train;
    lh_session_spec spec;
} step;

static bool step_open(step *s, const char *name, const char *options, const char *precision) {
    const lh_model_class *class = lh_model_class_find(name);
    *s = (step){0};
    if (!CHECK_OK(lh_options_create(name, class->options, &s->model)) ||
        !CHECK_OK(lh_options_parse(s->model, options)) ||
        !CHECK_OK(lh_options_create("sizes", lh_sizes_task.options, &s->task)) ||
        !CHECK_OK(lh_options_parse(s->task, "vocabulary=64 segment=64 batch=2")) ||
        !CHECK_OK(lh_options_create("train", lh_train_options, &s->train)) ||
        !CHECK_OK(lh_options_set(s->train, "precision", precision)))
        return false;
    s->spec = (lh_session_spec){.model = class,
                                .model_options = s->model,
                                .task = &lh_sizes_task,
                                .task_options = s->task,
                                .train_options = s->train,
                                .seed = 1};
    return true;
}

static void step_close(step *s) {
    lh_options_destroy(s->model);
    lh_options_destroy(s->task);
    lh_options_destroy(s->train);
}

static double products_of(const lh_ledger *ledger) {
    double sum = 0;
    for (int64_t i = 0; i < ledger->count; ++i)
        sum += ledger->call[i].cost.products;
    return sum;
}

/* A forward pass over one batch. */
static void check_forward(const char *name, const char *options) {
    step s;
    lh_ledger ledger = {0};
    lh_session *session = NULL;
    lh_metrics metrics;
    REQUIRE(step_open(&s, name, options, "bf16"));
    REQUIRE_OK(lh_ledger_device(&ledger, &s.spec.opened));
    REQUIRE_OK(lh_session_create(&s.spec, &session));
    lh_ledger_clear(&ledger);
    REQUIRE_OK(lh_session_evaluate(session, LH_VALID, &metrics));
    const double expected = 2 * 64 * lh_session_flops_per_token(session);
    CHECK_NEAR(products_of(&ledger) / expected, 1, 1e-12);
    lh_session_destroy(session);
    lh_ledger_free(&ledger);
    step_close(&s);
}

TEST(products_of_a_pass_are_what_the_model_says) {
    check_forward("slide", "layers=3 width=32 heads=2 window=16");
    check_forward("brt", "layers=3 width=32 heads=2 window=16 recurrence=fixed:skip "
                         "recurrent_layers=2");
    check_forward("xl", "layers=2 width=32 heads=2 window=64");
    check_forward("gpt2", "layers=2 width=32 heads=2 window=64 context=64");
    check_forward("transformer", "layers=2 width=32 heads=2");
    check_forward("reformer", "layers=2 width=32 heads=2 positions=64 chunk=8 rounds=2");
    check_forward("lstm", "layers=2 width=16 hidden=16");
}

/* Whether documents begin with their windows is nothing that a step on no device can read. */
TEST(windows_that_are_whole_documents_have_a_cost) {
    step s;
    lh_step_cost cost;
    REQUIRE(
        step_open(&s, "gpt2_recurrent", "layers=2 width=32 heads=2 window=64 context=64", "bf16"));
    lh_options_destroy(s.task);
    s.spec.task = &lh_recall_class;
    REQUIRE_OK(lh_options_create("recall", lh_recall_class.options, &s.task));
    s.spec.task_options = s.task;
    if (CHECK_OK(lh_step_cost_count(&s.spec, &cost))) CHECK(products_of(&cost.ledger) > 0);
    lh_step_cost_clear(&cost);
    step_close(&s);
}

/* Three times the forward pass of each segment, but for what attention makes again. */
static void check_step(const char *segments, int64_t tokens) {
    step s;
    lh_step_cost cost;
    double products = 0;
    REQUIRE(step_open(&s, "slide", "layers=3 width=32 heads=2 window=16", "bf16"));
    REQUIRE_OK(lh_options_set(s.train, "segments_per_step", segments));
    REQUIRE_OK(lh_step_cost_count(&s.spec, &cost));
    for (int64_t i = 0; i < cost.ledger.count; ++i) {
        const lh_ledger_call *call = &cost.ledger.call[i];
        if (call->kernel == LH_KERNEL_attention_backward) continue;
        products += (call->kernel == LH_KERNEL_attention_forward ? 3 : 1) * call->cost.products;
    }
    CHECK_NEAR(products / cost.model_flops, 1, 1e-12);
    CHECK_EQ_INT(cost.tokens, tokens);
    CHECK(cost.peak_bytes > 0);
    lh_step_cost_clear(&cost);
    step_close(&s);
}

TEST(a_step_is_three_passes_of_each_segment) {
    check_step("1", 128);
    check_step("3", 384);
}

/* How many calls of attention are of these classes. */
static int count_attention(const char *model, const char *options, const char *precision,
                           lh_cost_class forward, lh_cost_class backward) {
    step s;
    lh_step_cost cost;
    int count = 0;
    if (!step_open(&s, model, options, precision) || !CHECK_OK(lh_step_cost_count(&s.spec, &cost)))
        return -1;
    for (int64_t i = 0; i < cost.ledger.count; ++i) {
        const lh_ledger_call *call = &cost.ledger.call[i];
        if (call->kernel == LH_KERNEL_attention_forward) count += call->cost.kind == forward;
        if (call->kernel == LH_KERNEL_attention_backward) count += call->cost.kind == backward;
    }
    lh_step_cost_clear(&cost);
    step_close(&s);
    return count;
}

TEST(a_bias_makes_attention_another_kernel) {
    static const char *const without = "layers=3 width=32 heads=2 window=16 position_bias=false";
    static const char *const with = "layers=3 width=32 heads=2 window=16";
    CHECK_EQ_INT(
        count_attention("slide", with, "bf16", LH_COST_FORWARD_BIASED, LH_COST_BACKWARD_BIASED), 6);
    CHECK_EQ_INT(count_attention("slide", with, "bf16", LH_COST_FORWARD, LH_COST_BACKWARD), 0);
    CHECK_EQ_INT(count_attention("slide", without, "bf16", LH_COST_FORWARD, LH_COST_BACKWARD), 6);
}

/* Also beside a bias that learns; in tf32 heads of more than 64 elements have no room for both. */
TEST(attention_with_position_vectors_goes_by_tiles) {
    static const char *const roomy = "layers=3 width=64 heads=1",
                             *wide = "layers=3 width=128 heads=1";
    CHECK_EQ_INT(count_attention("dai_xl", roomy, "tf32", LH_COST_TILE, LH_COST_TILE), 6);
    CHECK_EQ_INT(count_attention("dai_xl", wide, "bf16", LH_COST_TILE, LH_COST_TILE), 6);
    CHECK_EQ_INT(count_attention("dai_xl", wide, "tf32", LH_COST_REFERENCE, LH_COST_REFERENCE), 6);
}

TEST(what_a_session_refuses_is_told) {
    step s;
    lh_step_cost cost;
    REQUIRE(step_open(&s, "xl", "layers=3 width=32 heads=2 window=16", "bf16"));
    CHECK(lh_step_cost_count(&s.spec, &cost) != LH_OK);
    lh_error_clear();
    lh_step_cost_clear(&cost);
    step_close(&s);
}

/* A GPU's attention has registers for 256 elements: who asks for more is told which option. */
static void check_widest(const char *model, const char *widest, const char *wider) {
    step s;
    lh_step_cost cost;
    REQUIRE(step_open(&s, model, widest, "f32"));
    CHECK_OK(lh_step_cost_count(&s.spec, &cost));
    lh_step_cost_clear(&cost);
    step_close(&s);
    REQUIRE(step_open(&s, model, wider, "f32"));
    CHECK_EQ_INT(lh_step_cost_count(&s.spec, &cost), LH_ESHAPE);
    CHECK(strstr(lh_error_text(), "a GPU takes up to 256; more 'heads'") != NULL);
    lh_error_clear();
    lh_step_cost_clear(&cost);
    step_close(&s);
}

TEST(heads_that_are_too_wide_for_a_gpu_are_refused) {
    check_widest("slide", "layers=2 width=256 heads=1 window=16",
                 "layers=2 width=320 heads=1 window=16");
    check_widest("memorizing",
                 "layers=2 width=256 heads=1 window=16 memory=64 top=8 memory_layer=1",
                 "layers=2 width=320 heads=1 window=16 memory=64 top=8 memory_layer=1");
    check_widest("reformer", "layers=2 width=256 heads=1 positions=64 chunk=16",
                 "layers=2 width=320 heads=1 positions=64 chunk=16");
}
