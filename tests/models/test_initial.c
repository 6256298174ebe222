/* First values of parameters, model by model, against what the papers' code draws from. Uniform
 * within b: deviation b / sqrt(3); a truncated normal is scaled to its deviation. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

#define CHECK_FIRST_VALUES(model, options, expected)                                               \
    check_first_values(model, options, expected, sizeof(expected) / sizeof *(expected))

static const double third = 0.57735026918962573; /* sqrt(1 / 3) */

/* Hutchins et al., the released code: normal of variance 1 / fan_in, sections 3.5 and 4 for gates.
 */
TEST(the_block_stack) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 1},
        {"layers.0.attention.norm.gain", 1, 0},
        {"layers.0.attention.key", 0, 1.0 / 8},
        {"layers.0.attention.value", 0, 1.0 / 8},
        {"layers.0.attention.query", 0, 1.0 / 8},
        {"layers.0.attention.scale", 1, 0},
        {"layers.0.attention.position_bias", 0, 0.17677669529663687},
        {"layers.0.attention.out", 0, 1.0 / 8},
        {"layers.0.feed_forward.in", 0, 1.0 / 8},
        {"layers.0.feed_forward.out", 0, 1.0 / 16},
    };
    const drawn_from recurrent[] = {
        {"layers.1.attention.query_state", 0, 1.0 / 8},
        {"layers.1.attention.out", 0, 0.0883883476483184}, /* fan-in: both attentions */
        {"layers.1.state.initial", 0, 0.1},
        {"layers.1.state.ids", 0, 1},
        {"layers.1.state.query_self", 0, 1.0 / 8},
        {"layers.1.state.attention_gate.z", 0, 0.0883883476483184},
        {"layers.1.state.attention_gate.bias", 0, 0.1},
        {"layers.1.state.feed_forward.in", 0, 1.0 / 8},
        {"layers.1.state.feed_forward_gate.z", 0, 1.0 / 16},
    };
    const drawn_from lstm[] = {
        {"layers.1.state.attention_gate.forget", 0, 0.0279508497187474}, /* variance 0.1 / 128 */
        {"layers.1.state.attention_gate.input", 0, 0.0279508497187474},
        {"layers.1.state.attention_gate.forget_bias", 0, 0.1},
        {"layers.1.state.attention_gate.input_bias", 0, 0.1},
    };
    const drawn_from memory[] = {{"layers.1.attention.memory_gate", 0, 0}};
    CHECK_FIRST_VALUES("slide", "layers=2 width=64 heads=4", expected);
    CHECK_FIRST_VALUES(
        "brt", "layers=2 width=64 heads=4 recurrence=fixed:dual recurrent_layers=2 states=32",
        recurrent);
    CHECK_FIRST_VALUES(
        "brt", "layers=2 width=64 heads=4 recurrence=lstm:skip recurrent_layers=2 states=32", lstm);
    CHECK_FIRST_VALUES("memorizing", "layers=2 width=64 heads=4 memory=8 top=2 memory_layer=2",
                       memory);
}

/* transformer-sequential: nn.Linear's, divided by sqrt(2 L) where a product joins the residual
 * stream. */
TEST(the_staircase_core) {
    const double joining = third / (8 * sqrt(2.0 * 3));
    const drawn_from expected[] = {
        {"embedding.weight", 0, 1},
        {"positions", 0, 1},
        {"layers.2.attention.query", 0, third / 8},
        {"layers.2.attention.key", 0, third / 8},
        {"layers.2.attention.value", 0, third / 8},
        {"layers.2.attention.out", 0, joining},
        {"layers.2.attention.norm.gain", 1, 0},
        {"layers.2.attention.norm.bias", 0, 0},
        {"layers.2.feed_forward.in", 0, third / 8},
        {"layers.2.feed_forward.in_bias", 0, third / 8},
        {"layers.2.feed_forward.out", 0, joining / 2},
        {"layers.2.feed_forward.out_bias", 0, joining / 2},
        {"head.weight", 0, third / 8},
        {"head.bias", 0, third / 8},
    };
    CHECK_FIRST_VALUES("transformer_xl", "layers=3 width=64 heads=4 hidden=256 span=8", expected);
}

/* Radford et al. 2019: 0.02, and 0.02 / sqrt(2 L) for what joins the residual stream; positions as
 * in the first GPT-2 code. */
TEST(gpt2) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 0.02},
        {"positions.weight", 0, 0.01},
        {"layers.1.attention.joined", 0, 0.02},
        {"layers.1.attention.out", 0, 0.02 / 2},
        {"layers.1.feed_forward.in", 0, 0.02},
        {"layers.1.feed_forward.out", 0, 0.02 / 2},
        {"norm.gain", 1, 0},
    };
    CHECK_FIRST_VALUES("gpt2", "layers=2 width=64 heads=4 context=32", expected);
}

/* The summary network is Glorot uniform. */
TEST(gpt2_recurrent) {
    const drawn_from expected[] = {
        {"layers.0.attention.out", 0, 0.02 / sqrt(6.0)},
        {"summary.layer_weights", 0, 0},
        {"summary.0.weight", 0, sqrt(6.0 / (64 + 32)) * third},
        {"summary.1.weight", 0, sqrt(6.0 / (32 + 32)) * third},
        {"summary.3.weight", 0, sqrt(6.0 / (32 + 64)) * third},
        {"summary.0.bias", 0, 0},
    };
    CHECK_FIRST_VALUES("gpt2_recurrent", "layers=3 width=64 heads=4 context=32 summary_hidden=32",
                       expected);
}

/* Mesh TensorFlow's: by the fan-in, and queries take up the 1 / sqrt(head_width) of the scores. */
TEST(t5) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 1},
        {"encoder.bias", 0, 1.0 / 8},
        {"encoder.layers.0.attention.query", 0, 1.0 / (8 * 4)},
        {"encoder.layers.0.attention.key", 0, 1.0 / 8},
        {"encoder.layers.0.attention.out", 0, 1.0 / 8},
        {"decoder.layers.0.cross.query", 0, 1.0 / (8 * 4)},
        {"decoder.layers.0.cross.value", 0, 1.0 / 8},
        {"decoder.layers.0.feed_forward.in", 0, 1.0 / 8},
        {"decoder.layers.0.feed_forward.out", 0, 1.0 / 16},
    };
    CHECK_FIRST_VALUES("t5", "layers=1 width=64 heads=4 hidden=256", expected);
}

/* trax: Glorot uniform, biases of 1e-6. */
TEST(reformer) {
    const double glorot = sqrt(6.0 / (64 + 256)) * third, square = sqrt(6.0 / (64 + 64)) * third;
    const drawn_from expected[] = {
        {"embedding.weight", 0, sqrt(6.0 / (11 + 64)) * third},
        {"layers.0.attention.query_key", 0, square},
        {"layers.0.attention.value", 0, square},
        {"layers.0.attention.out", 0, square},
        {"layers.0.feed_forward.in", 0, glorot},
        {"layers.0.feed_forward.in_bias", 0, 1e-6},
        {"layers.0.feed_forward.out", 0, glorot},
        {"head.weight", 0, sqrt(6.0 / (11 + 128)) * third},
    };
    const drawn_from both[] = {
        {"encoder.layers.0.attention.key", 0, square},
        {"decoder.layers.0.cross.out", 0, square},
        {"decoder.layers.0.feed_forward.out", 0, glorot},
    };
    CHECK_FIRST_VALUES("reformer", "layers=1 width=64 heads=4 hidden=256 positions=32", expected);
    CHECK_FIRST_VALUES("reformer_encoder_decoder", "layers=1 width=64 heads=4 hidden=256", both);
}

/* tensor2tensor's uniform_unit_scaling with a gain of 0.2, and centroids of about unit length. */
TEST(routing) {
    const double square = sqrt(0.2 / 64), network = sqrt(0.2 / 160);
    const drawn_from expected[] = {
        {"embedding.weight", 0, sqrt(0.2 / 37.5)},
        {"layers.0.attention.query", 0, square},
        {"layers.0.attention.key", 0, sqrt(0.2 / 48)},
        {"layers.0.attention.positions", 0, sqrt(0.2 / 264)},
        {"layers.0.attention.routing_positions", 0, sqrt(0.2 / 264.5)},
        {"layers.0.attention.centroids", 0, 0.25},
        {"layers.0.feed_forward.gate", 0, network},
        {"layers.0.feed_forward.out", 0, network},
        {"head.weight", 0, sqrt(0.2 / 37.5)},
        {"head.bias", 0, 0},
    };
    CHECK_FIRST_VALUES("routing", "layers=1 width=64 heads=4 hidden=256", expected);
}

/* PyTorch's modules, as fast-transformers leaves them. */
TEST(linear_attention) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 1},
        {"layers.0.attention.query.weight", 0, third / 8},
        {"layers.0.attention.value.bias", 0, third / 8},
        {"layers.0.attention.out.weight", 0, third / 8},
        {"layers.0.attention.norm.gain", 1, 0},
        {"layers.0.feed_forward.in.weight", 0, third / 8},
        {"layers.0.feed_forward.out.weight", 0, third / 16},
        {"norm.gain", 1, 0},
        {"head.weight", 0, third / 8},
    };
    CHECK_FIRST_VALUES("linear_attention", "layers=1 width=64 heads=4 hidden=256", expected);
}

/* mamba_ssm's: PyTorch's Linear and Conv1d, what joins the residual stream divided by sqrt(L). */
TEST(mamba2) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 0.02},
        {"layers.0.norm.gain", 1, 0},
        {"layers.0.in", 0, third / 8},
        {"layers.0.convolution", 0, third / 2},
        {"layers.0.convolution_bias", 0, third / 2},
        {"layers.0.skip", 1, 0},
        {"layers.0.gated_norm.gain", 1, 0},
        {"layers.0.out", 0, third / sqrt(128.0 * 4)},
        {"head.weight", 0, third / 8},
    };
    CHECK_FIRST_VALUES("mamba2", "layers=4 width=64 head_width=16 state=32 tied=false", expected);
}

/* softplus of the bias lies log-uniformly within the steps' bounds, exp of the rate uniformly
 * within [1, 16]: each quarter of either interval has a quarter of the heads, give or take two. */
TEST(mamba2_spreads_steps_and_rates_over_its_heads) {
    enum { HEADS = 32 };
    int steps[4] = {0}, rates[4] = {0};
    model_bench bench;
    REQUIRE(bench_open(&bench, "mamba2", "layers=1 width=64 head_width=4 state=2", 1));
    const lh_params *params = bench.model->params;
    const real *bias =
        lh_tensor_real(lh_params_get(params, lh_params_find(params, "layers.0.step_bias")));
    const real *rate =
        lh_tensor_real(lh_params_get(params, lh_params_find(params, "layers.0.rate")));
    for (int h = 0; h < HEADS; ++h) {
        const double step = (log(log1p(exp((double)bias[h]))) - log(0.001)) / log(100.0);
        const double a = (exp((double)rate[h]) - 1) / 15;
        REQUIRE(step >= 0 && step < 1 && a >= 0 && a < 1);
        steps[(int)(4 * step)] += 1;
        rates[(int)(4 * a)] += 1;
    }
    for (int i = 0; i < 4; ++i)
        CHECK(abs(steps[i] - HEADS / 4) <= 2 && abs(rates[i] - HEADS / 4) <= 2);
    bench_close(&bench);
}

/* flash-linear-attention's: N(0, 0.02^2) for all that is a matrix, taps included. */
TEST(gated_deltanet) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 0.02}, {"layers.0.norm.gain", 1, 0},
        {"layers.0.query", 0, 0.02},   {"layers.0.value_convolution", 0, 0.02},
        {"layers.0.gate", 0, 0.02},    {"layers.0.memory_norm.gain", 1, 0},
        {"layers.0.out", 0, 0.02},     {"layers.0.feed_forward.in", 0, 0.02},
        {"head.weight", 0, 0.02},
    };
    CHECK_FIRST_VALUES("gated_deltanet", "layers=1 width=64 heads=2 head_width=32", expected);
}

/* Transformer-XL's, and PyTorch's for a convolution over 2 * 64 numbers. */
TEST(compressive) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 0.02},
        {"layers.0.attention.key_value", 0, 0.02},
        {"layers.0.compression.weight", 0, third / sqrt(128.0)},
        {"layers.0.compression.bias", 0, third / sqrt(128.0)},
        {"layers.0.feed_forward.norm.gain", 1, 0.02},
    };
    CHECK_FIRST_VALUES("compressive", "layers=1 width=64 heads=2 compression_rate=2", expected);
}

/* Transformer-XL's, and memory tokens of N(0, 1). */
TEST(recurrent_memory) {
    const drawn_from expected[] = {{"embedding.weight", 0, 0.02},
                                   {"memory_tokens", 0, 1},
                                   {"layers.0.attention.query", 0, 0.02}};
    CHECK_FIRST_VALUES("rmt", "layers=1 width=64 heads=2", expected);
}

/* PyTorch's: all of a recurrent network uniform by its hidden size. */
TEST(recurrent_networks) {
    const drawn_from expected[] = {
        {"embedding.weight", 0, 1},           {"layers.0.input", 0, third / 8},
        {"layers.0.recurrent", 0, third / 8}, {"layers.0.bias", 0, third / 8},
        {"head.weight", 0, third / 8},
    };
    CHECK_FIRST_VALUES("lstm", "layers=1 width=32 hidden=64", expected);
    CHECK_FIRST_VALUES("rnn", "layers=1 width=32 hidden=64", expected);
}

/* Informer2020: He's normal for the values' convolution, PyTorch's Linear elsewhere; a convolution
 * of three taps for LogSparse's queries and keys. */
TEST(forecasters) {
    const drawn_from expected[] = {
        {"encoder.embedding.value.weight", 0, sqrt(2.0 / 24)},
        {"encoder.embedding.value.bias", 0, third / sqrt(24.0)},
        {"encoder.layers.0.attention.query.weight", 0, third / 8},
        {"encoder.layers.0.attention.out.bias", 0, third / 8},
        {"decoder.layers.0.cross.key.weight", 0, third / 8},
        {"decoder.layers.0.feed_forward.in.weight", 0, third / 8},
        {"decoder.layers.0.feed_forward.out.weight", 0, third / 16},
        {"decoder.norm.gain", 1, 0},
        {"projection.weight", 0, third / 8},
    };
    const drawn_from causal[] = {
        {"encoder.layers.0.attention.query.weight", 0, third / sqrt(192.0)},
        {"encoder.layers.0.attention.key.weight", 0, third / sqrt(192.0)},
        {"encoder.layers.0.attention.value.weight", 0, third / 8},
    };
    CHECK_FIRST_VALUES("informer", "layers=1 width=64 heads=4 hidden=256 decoder_layers=1",
                       expected);
    CHECK_FIRST_VALUES("logsparse",
                       "layers=1 width=64 heads=4 hidden=256 decoder_layers=1 kernel=3", causal);
}

/* What logits are divided by: the released code takes the vocabulary's root. */
TEST(logit_divisors) {
    static const struct {
        const char *options;
        double scale;
    } cases[] = {{"", 0.30151134457776362}, /* 1 / sqrt(11) */
                 {" logit_divisor=sqrt_width", 0.125},
                 {" logit_divisor=one", 1}};
    for (int i = 0; i < 3; ++i) {
        model_bench bench;
        char options[96];
        const int32_t tokens[4] = {1, 2, 3, 4}, starts[] = {1};
        lh_output out = {0};
        (void)snprintf(options, sizeof options, "layers=1 width=64 heads=4 window=4%s",
                       cases[i].options);
        REQUIRE(bench_open(&bench, "slide", options, 1));
        lh_tape_begin(bench.tape, false, 1, 0);
        CHECK(bench_forward(&bench, 4, tokens, starts, false, &out) != NULL);
        CHECK_NEAR(out.logit_scale, cases[i].scale, 1e-15);
        bench_close(&bench);
    }
}

/* Huang et al.'s linear networks: PyTorch's Linear by the fan-in. */
TEST(rsa) {
    const drawn_from expected[] = {
        {"layers.0.out", 0, third / sqrt(12.0)},
        {"head.weight", 0, third / sqrt(8.0)},
    };
    CHECK_FIRST_VALUES("rsa", "layers=1 width=8 heads=4", expected);
}

/* Two parameters of one shape and one kind are drawn apart; the embedding has 11 rows of 64. */
TEST(parameters_are_drawn_apart_and_counted) {
    model_bench bench;
    REQUIRE(bench_open(&bench, "slide", "layers=2 width=64 heads=4", 1));
    const lh_params *params = bench.model->params;
    const lh_tensor *of[2];
    for (int i = 0; i < 2; ++i)
        of[i] = lh_params_get(params, lh_params_find(params, i == 0 ? "layers.0.attention.key"
                                                                    : "layers.1.attention.key"));
    CHECK(memcmp(lh_tensor_real(of[0]), lh_tensor_real(of[1]), 64 * sizeof(real)) != 0);
    CHECK_EQ_INT(lh_params_elements(params, true) - lh_params_elements(params, false), 11 * 64);
    bench_close(&bench);
}
