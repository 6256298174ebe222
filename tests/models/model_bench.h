/* A model with parameters, carried state and tape, for tests that every model must pass.
 * Header-only: the gradient checks use it too. Include after tests/test.h. */
#ifndef LH_TESTS_MODEL_BENCH_H
#define LH_TESTS_MODEL_BENCH_H

#include "harness/engine/plugin.h"
#include "harness/engine/state.h"
#include "harness/ops/ops.h"
#include "harness/train/adapter.h"
#include "harness/train/loss.h"
#include "tests/tape_bench.h"

enum { BENCH_VOCABULARY = 11, BENCH_SOURCE = 24 };

/* A model of vectors gets windows of a series in which tokens stand for what happens at a step. */
enum { BENCH_CHANNELS = 8, BENCH_TIMES = 2, BENCH_SEQ_LEN = 4, BENCH_PRED_LEN = 4 };

typedef struct model_bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_model *model;
    lh_state *state;
    int64_t rows;
} model_bench;

static bool reads_source(const lh_model_class *class) {
    return (class->abilities & LH_ABLE_SEQUENCE_TO_SEQUENCE) != 0;
}

static lh_model_setup bench_setup(const lh_model_class *class) {
    if ((class->abilities & LH_ABLE_TOKENS) != 0)
        return (lh_model_setup){.vocabulary = BENCH_VOCABULARY,
                                .source_vocabulary = reads_source(class) ? BENCH_VOCABULARY : 0,
                                .source_length = reads_source(class) ? BENCH_SOURCE : 0};
    return (lh_model_setup){.input_features = BENCH_CHANNELS + BENCH_TIMES,
                            .output_features = BENCH_CHANNELS,
                            .time_features = BENCH_TIMES,
                            .seq_len = BENCH_SEQ_LEN,
                            .label_len = 2,
                            .pred_len = BENCH_PRED_LEN,
                            .stride = 2};
}

static lh_status create_model_of(const lh_model_class *class, const char *text,
                                 const lh_model_setup *setup, lh_model **out) {
    lh_options *options = NULL;
    LH_TRY(lh_options_create(class->name, class->options, &options));
    lh_status status = lh_options_parse(options, text);
    if (status == LH_OK) status = lh_model_create_for(class, options, setup, out);
    lh_options_destroy(options);
    return status;
}

static lh_status create_model_for(const char *name, const char *text, const lh_model_setup *setup,
                                  lh_model **out) {
    const lh_model_class *class = lh_model_class_find(name);
    return class != NULL ? create_model_of(class, text, setup, out) : lh_error_get()->status;
}

TEST_UNUSED static lh_status create_model(const char *name, const char *text, lh_model **out) {
    const lh_model_class *class = lh_model_class_find(name);
    if (class == NULL) return lh_error_get()->status;
    const lh_model_setup setup = bench_setup(class);
    return create_model_for(name, text, &setup, out);
}

/* Parameters, embeddings included; -1 after a message. */
TEST_UNUSED static int64_t count_parameters(const char *name, const char *text,
                                            lh_model_setup setup) {
    lh_model *model = NULL;
    if (!CHECK_OK(create_model_for(name, text, &setup, &model))) return -1;
    const int64_t count = lh_params_elements(model->params, true);
    lh_model_destroy(model);
    return count;
}

/* A class that may stand in no list of models. */
static bool bench_open_of(model_bench *bench, const lh_model_class *class, const char *options,
                          lh_model_setup setup, int64_t rows) {
    *bench = (model_bench){.rows = rows};
    return bench_open_tape("cpu", &bench->device, &bench->pool, &bench->tape) &&
           CHECK_OK(create_model_of(class, options, &setup, &bench->model)) &&
           CHECK_OK(lh_params_allocate(bench->model->params, bench->pool)) &&
           CHECK_OK(lh_params_initialize(bench->model->params, 5)) &&
           CHECK_OK(lh_state_create(bench->model, bench->pool, rows, &bench->state));
}

static bool bench_open_for(model_bench *bench, const char *name, const char *options,
                           lh_model_setup setup, int64_t rows) {
    const lh_model_class *class = lh_model_class_find(name);
    *bench = (model_bench){.rows = rows};
    return CHECK(class != NULL) && bench_open_of(bench, class, options, setup, rows);
}

TEST_UNUSED static bool bench_open(model_bench *bench, const char *name, const char *options,
                                   int64_t rows) {
    const lh_model_class *class = lh_model_class_find(name);
    *bench = (model_bench){.rows = rows};
    return CHECK(class != NULL) && bench_open_for(bench, name, options, bench_setup(class), rows);
}

TEST_UNUSED static void bench_close(model_bench *bench) {
    lh_tape_destroy(bench->tape);
    lh_state_destroy(bench->state);
    lh_model_destroy(bench->model);
    bench_close_pool(bench->device, bench->pool);
}

/* What one training step says of tokens that documents of a longer text have. */
TEST_UNUSED static lh_status bench_train_segment(const char *name, const char *options,
                                                 int64_t length, bool begins) {
    const lh_model_setup setup = {.vocabulary = BENCH_VOCABULARY, .past_length = length};
    const int32_t starts[] = {begins};
    model_bench bench;
    lh_status status = LH_EINTERNAL;
    if (bench_open_for(&bench, name, options, setup, 1)) {
        int32_t *tokens = lh_allocate_zeroed((size_t)length, sizeof *tokens);
        const int64_t shape[] = {1, length}, row[] = {1};
        lh_output out = {0};
        lh_tape_begin(bench.tape, true, 1, 0);
        const lh_batch batch = {.rows = 1,
                                .length = length,
                                .tokens = lh_integers(bench.tape, 2, shape, tokens),
                                .starts = lh_integers(bench.tape, 1, row, starts)};
        status = lh_model_forward(bench.model, bench.tape, bench.state, &batch, true, &out);
        free(tokens);
    }
    bench_close(&bench);
    return status;
}

TEST_UNUSED static lh_status bench_train_documents(const char *name, const char *options,
                                                   int64_t length) {
    return bench_train_segment(name, options, length, true);
}

/* What a parameter is drawn from: N(mean, deviation^2), or uniform with that deviation. */
typedef struct drawn_from {
    const char *name;
    double mean, deviation;
} drawn_from;

/* Within four standard errors of both, a constant exactly. */
TEST_UNUSED static void check_drawn(const model_bench *bench, drawn_from expected) {
    const lh_params *params = bench->model->params;
    const int index = lh_params_find(params, expected.name);
    double sum = 0, squares = 0;
    if (!test_check(index >= 0, __FILE__, __LINE__, "no parameter %s", expected.name)) return;
    const double count = (double)lh_params_at(params, index)->count;
    for (int64_t e = 0; e < lh_params_at(params, index)->count; ++e) {
        const double off = (double)lh_tensor_real(lh_params_get(params, index))[e] - expected.mean;
        sum += off;
        squares += off * off;
    }
    const double error = 4 * expected.deviation / sqrt(count);
    test_check(fabs(sum / count) <= error, __FILE__, __LINE__, "%s: mean %g, not %g", expected.name,
               expected.mean + sum / count, expected.mean);
    test_check(fabs(sqrt(squares / count) - expected.deviation) <= error, __FILE__, __LINE__,
               "%s: deviation %g, not %g", expected.name, sqrt(squares / count),
               expected.deviation);
}

/* First values of a model of the class. */
TEST_UNUSED static void check_first_values(const char *class_name, const char *options,
                                           const drawn_from *expected, size_t count) {
    model_bench bench;
    if (!test_check(bench_open(&bench, class_name, options, 1), __FILE__, __LINE__,
                    "%s %s does not open", class_name, options))
        return;
    for (size_t i = 0; i < count; ++i)
        check_drawn(&bench, expected[i]);
    bench_close(&bench);
}

TEST_UNUSED static lh_tensor *bench_integers(model_bench *bench, int64_t length,
                                             const int32_t *values) {
    const int64_t shape[] = {bench->rows, length};
    return length > 0 ? lh_integers(bench->tape, 2, shape, values)
                      : lh_integers(bench->tape, 1, shape, values);
}

/* The sources of an encoder are the same in every segment; even rows end in padding. */
TEST_UNUSED static void bench_add_source(model_bench *bench, lh_batch *batch) {
    int32_t source[16 * BENCH_SOURCE], counts[16];
    if (!reads_source(bench->model->class)) return;
    for (int64_t i = 0; i < bench->rows * BENCH_SOURCE; ++i)
        source[i] = (int32_t)((5 * i * i + 2 * i + 3) % BENCH_VOCABULARY);
    for (int64_t r = 0; r < bench->rows; ++r)
        counts[r] = r % 2 == 0 ? BENCH_SOURCE - 3 : BENCH_SOURCE;
    batch->source_tokens = bench_integers(bench, BENCH_SOURCE, source);
    batch->source_count = bench_integers(bench, 0, counts);
}

/* Tokens [rows][length] as vectors: sin(1.3 token + 0.7 feature), but for the channels of the steps
 * to predict, which are zeros. NULL for a model of tokens. */
static lh_tensor *bench_vectors(model_bench *bench, int64_t length, const int32_t *tokens) {
    enum { MOST = 1024 };
    real values[MOST];
    const int64_t width = bench->model->setup.input_features,
                  shape[] = {bench->rows, length, width};
    if (width == 0) return NULL;
    for (int64_t i = 0; i < bench->rows * length * width && i < MOST; ++i) {
        const int64_t feature = i % width;
        const bool zero = i / width % length >= BENCH_SEQ_LEN && feature < BENCH_CHANNELS;
        const double angle = 1.3 * tokens[i / width] + 0.7 * (double)feature;
        values[i] = zero ? LH_R(0) : (real)sin(angle);
    }
    return lh_reals(bench->tape, 3, shape, values);
}

/* One segment forward; tape_begin is the caller's. Hidden states, or NULL after a message. */
TEST_UNUSED static lh_tensor *bench_forward(model_bench *bench, int64_t length,
                                            const int32_t *tokens, const int32_t *starts,
                                            bool training, lh_output *out) {
    lh_batch batch = {.rows = bench->rows,
                      .length = length,
                      .tokens = bench_integers(bench, length, tokens),
                      .vectors = bench_vectors(bench, length, tokens),
                      .starts = bench_integers(bench, 0, starts)};
    bench_add_source(bench, &batch);
    if (!CHECK_OK(
            lh_model_forward(bench->model, bench->tape, bench->state, &batch, training, out))) {
        return NULL;
    }
    return out->hidden;
}

/* The loss of a segment's output against `target` [rows][length]: cross-entropy, or the squared
 * distance to what the targets are as numbers. */
TEST_UNUSED static lh_tensor *bench_loss(model_bench *bench, const lh_output *out, int64_t length,
                                         const int32_t *target, double scale) {
    real values[256] = {0};
    if (out->clusters > 0) {
        const lh_batch batch = {
            .rows = bench->rows, .length = length, .target = bench_integers(bench, length, target)};
        lh_tensor *loss = NULL;
        (void)lh_loss_forward(bench->tape, out, &batch, 1 / scale, &loss, NULL);
        return loss;
    }
    if (out->head_weight != NULL) {
        const lh_cross_entropy head = {.weight = out->head_weight,
                                       .bias = out->head_bias,
                                       .scale = out->logit_scale,
                                       .target = bench_integers(bench, length, target),
                                       .gradient_scale = scale};
        return lh_linear_cross_entropy(bench->tape, &head, out->hidden);
    }
    if (out->hidden == NULL) return NULL;
    for (int64_t i = 0; i < lh_tensor_count(out->hidden) && i < 256; ++i)
        values[i] = (real)(0.1 * target[i % (bench->rows * length)]);
    lh_tensor *wanted = lh_reals(bench->tape, 3, out->hidden->shape, values);
    lh_tensor *apart = lh_subtract(bench->tape, out->hidden, wanted);
    return lh_scale(bench->tape,
                    lh_sum_all(bench->tape, lh_unary(bench->tape, LH_UNARY_SQUARE, apart)), scale);
}

/* Runs tokens [rows][count] through consecutive segments without recording and copies the hidden
 * states, or the predictions, to host: [rows][count][width], zeros where a segment has fewer.
 * starts flags the first segment. */
TEST_UNUSED static bool bench_run(model_bench *bench, const int32_t *tokens, int64_t count,
                                  int64_t segment, const int32_t *starts, real *hidden) {
    int32_t slice[512], begins[16] = {0};
    for (int64_t at = 0; at < count; at += segment) {
        for (int64_t r = 0; r < bench->rows; ++r) {
            begins[r] = at == 0 ? starts[r] : 0;
            memcpy(slice + r * segment, tokens + r * count + at, (size_t)segment * sizeof *slice);
        }
        lh_tape_begin(bench->tape, false, 1, 0);
        lh_output out;
        const lh_tensor *y = bench_forward(bench, segment, slice, begins, false, &out);
        if (y == NULL) return false;
        const int64_t width = y->shape[2], given = y->shape[1] * width, whole = segment * width;
        for (int64_t r = 0; r < bench->rows; ++r) {
            real *to = hidden + (r * count + at) * width;
            memcpy(to, lh_tensor_real(y) + r * given, (size_t)given * sizeof *hidden);
            memset(to + given, 0, (size_t)(whole - given) * sizeof *hidden);
        }
        if (!CHECK_OK(lh_state_commit(bench->state))) return false;
    }
    return true;
}

/* Infinite where one of the differences is not a number. */
TEST_UNUSED static double largest_difference(const real *a, const real *b, int64_t count) {
    double worst = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double d = fabs((double)a[i] - (double)b[i]);
        if (isnan(d)) return (double)INFINITY;
        worst = fmax(worst, d);
    }
    return worst;
}

TEST_UNUSED static void random_tokens(int32_t *tokens, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        tokens[i] = (int32_t)test_integer(BENCH_VOCABULARY);
    }
}

/* The configurations that every suite walks through. */
typedef struct model_case {
    const char *name, *options;
    int64_t segment; /* a length that the model takes */
    bool splits;     /* takes shorter segments too */
} model_case;

#define TINY     "layers=3 width=8 heads=2 window=4 dropout=0"
#define GPT2     "layers=3 width=8 heads=2 context=8 dropout=0"
#define REFORMER "layers=2 heads=2 hidden=12 dropout=0 positions="
#define CORE     "width=8 heads=2 hidden=12"
#define SERIES   "layers=2 width=8 heads=2 hidden=12 dropout=0"
#define DAI      "layers=2 width=8 heads=2 hidden=12 memory=5 dropout=0"
#define COMPRESSIVE                                                                                \
    "layers=2 width=8 heads=2 hidden=12 block=4 memory=5 compressed_memory=3 compression_rate=2 "  \
    "dropout=0"
#define RMT "layers=2 width=8 heads=2 hidden=12 block=4 memory_tokens=2 dropout=0"
static const model_case model_cases[] = {
    {"slide", TINY, 8, true},
    {"slide", TINY " normalize=false position_bias=false see_self=true", 8, true},
    {"xl", TINY, 4, false},
    {"slide", TINY " rsa_kinds=1,0,0,0,1,0 rsa_dilation=2 rsa_gate=0.3", 8, true},
    {"xl", TINY " rsa_kinds=0,1,1,0,0,0 rsa_cutoff=2", 4, false},
    {"brt", TINY " recurrence=fixed:skip rsa_kinds=0,0,0,1,0,1 rsa_dilation=2,3 rsa_sharing=frozen",
     8, true},
    {"brt", TINY " recurrence=fixed:skip", 8, true},
    {"brt", TINY " recurrence=fixed:dual", 8, true},
    {"brt", TINY " recurrence=fixed:single", 8, true},
    {"brt", TINY " recurrence=lstm:skip", 8, true},
    {"brt", TINY " recurrence=lstm:dual gate_bias=true", 8, true},
    {"brt", TINY " recurrence=lstm:single gate_tanh=paper", 8, true},
    {"brt", TINY " recurrence=fixed:skip feedback=true", 8, true},
    {"brt", TINY " recurrence=lstm:single feedback=true states=3", 8, true},
    {"brt", TINY " recurrence=fixed:skip recurrent_layers=1,2 states=5", 8, true},
    {"memorizing", TINY " memory=12 top=3 memory_layer=2", 4, false},
    {"transformer_xl", CORE " layers=2 span=5", 8, true},
    {"universal", CORE " steps=3 span=4", 8, true},
    {"transformer_xl", CORE " layers=2 span=5 rsa_kinds=0,0,0,0,1,1 rsa_dilation=2,1", 8, true},
    {"cached_staircase",
     CORE " layers=2 forward_size=2 step_size=6 rsa_kinds=2,0,0,0,0,0 rsa_sharing=independent", 8,
     true},
    {"staircase", CORE " layers=2 forward_size=2 steps=3", 8, true},
    {"staircase", CORE " layers=1 forward_size=1 steps=2", 4, true},
    {"staircase", CORE " layers=2 forward_size=2 steps=4 cache=outputs", 8, false},
    {"cached_staircase", CORE " layers=2 forward_size=2 step_size=6", 8, true},
    {"cached_staircase", CORE " layers=2 forward_size=2 step_size=8 computed_steps=2", 8, false},
    {"feedback", CORE " layers=2 span=5", 8, true},
    {"feedback", CORE " layers=3 span=3 memory=top see_self=true", 4, true},
    {"feedback", CORE " layers=2 span=4 share_kv=true", 8, true},
    {"dai_xl", DAI, 8, false},
    {"dai_xl", DAI " same_length=true longest_distance=4 head_width=3", 8, false},
    {"dai_xl", DAI " rsa_kinds=0,0,0,0,1,1 rsa_dilation=2,3 rsa_gate=1", 8, false},
    {"dai_xl", DAI " rsa_kinds=1,0,0,0,0,0 rsa_matrix=learned segment=8", 8, false},
    {"dai_xl", DAI " recurrent_layer=-2 states=3 state_head_width=2 rsa_kinds=1,0,0,0,0,0 block=4",
     8, false},
    {"compressive", COMPRESSIVE " compression_loss=task", 8, true},
    {"compressive", COMPRESSIVE " memory=3 compression=dilated compression_loss=task head_width=3",
     8, true},
    {"compressive", COMPRESSIVE " compression=max compression_loss=task", 8, true},
    {"compressive", COMPRESSIVE " memory=7 compressed_memory=1 compression=mean", 4, false},
    {"compressive", COMPRESSIVE " memory=5 compression=mean rsa_kinds=1,0,0,0,0,1 rsa_dilation=2",
     4, false},
    {"lstm", "layers=2 width=6 hidden=8", 8, true},
    {"gpt2", GPT2, 8, false},
    {"gpt2", GPT2 " window=4", 8, true},
    {"gpt2", GPT2 " window=4 recompute=false", 8, true},
    {"gpt2", GPT2 " window=4 rsa_kinds=1,0,0,0,0,1 rsa_dilation=2", 8, true},
    {"gpt2_recurrent", GPT2 " summary_hidden=5 window=4 carry=true", 8, true},
    {"gpt2_recurrent", GPT2 " summary_hidden=5 window=2 insertion=0 embeddings=2 final_norm=false",
     4, true},
    {"gpt2_recurrent", GPT2 " summary_hidden=5 window=4 pooling=max recompute=false carry=true", 8,
     true},
    {"gpt2_recurrent", GPT2 " summary_hidden=5 window=2 pooling=attention summary_layers=1", 8,
     true},
    {"t5", "layers=2 width=8 heads=2 hidden=12 dropout=0", 8, false},
    {"t5", "layers=1 width=8 heads=2 head_width=3 hidden=12 dropout=0", 8, false},
    {"t5", "layers=1 width=8 heads=2 hidden=12 dropout=0 rsa_kinds=1,0,0,1,0,0 rsa_dilation=2", 8,
     false},
    {"t5", "layers=2 width=8 heads=2 hidden=12 dropout=0 rsa_kinds=0,1,1,0,0,0 rsa_gate=1", 8,
     false},
    {"transformer", CORE " layers=2", 8, false},
    {"transformer", CORE " layers=2 positions=none head_width=3", 8, false},
    {"transformer", CORE " layers=2 positions=relative", 8, false},
    {"transformer", CORE " layers=1 positions=relative longest_distance=3 zero_memory=9", 8, false},
    {"reformer", REFORMER "16 width=4 chunk=3 rounds=2", 8, false},
    {"reformer", REFORMER "16 width=8 attention=shared,full,dot_product residual=plain layers=3", 8,
     false},
    {"reformer",
     REFORMER "16 width=4 attention=local,shared_plain local_chunk=3 residual=two_streams "
              "feed_forward_chunk=3",
     8, false},
    {"reformer",
     REFORMER "4,4 position_widths=1,3 width=4 attention=lsh,shared chunk=8 buckets=2,4 "
              "feed_forward_chunk=4",
     8, false},
    {"reformer", REFORMER "2,4 width=8 chunk=2 eval_rounds=1 residual=plain", 8, false},
    {"reformer", REFORMER "16 width=4 attention=lsh_chunks chunk=4 buckets=4 rounds=2", 8, false},
    {"reformer_encoder_decoder", "layers=2 heads=2 hidden=12 dropout=0 width=8 positions=24", 8,
     false},
    {"reformer_encoder_decoder",
     "layers=3 heads=2 hidden=10 dropout=0 width=8 positions=24 head_width=3 feed_forward_chunk=3",
     8, false},
    {"reformer_encoder_decoder",
     "layers=1 heads=2 hidden=12 dropout=0 width=8 positions=24 residual=two_streams", 8, false},
    {"reformer_encoder_decoder",
     "layers=2 heads=2 hidden=12 dropout=0 width=8 positions=24 residual=plain shared=false", 8,
     false},
    {"informer", SERIES " decoder_layers=2 factor=1", 8, false},
    {"informer", SERIES " attention=full mix=false sinusoids=false", 8, false},
    {"logsparse", SERIES " kernel=2", 8, false},
    {"logsparse", SERIES " kernel=1 local=3", 8, false},
    {"transformer", CORE " layers=2 positions=none rsa_kinds=0,1,1,0,0,0", 8, false},
    {"transformer",
     "width=8 heads=4 hidden=12 layers=1 positions=relative rsa_kinds=1,0,0,1,0,1 "
     "rsa_dilation=2,3 rsa_gate=-1 rsa_sharing=independent",
     8, false},
    {"rnn", "layers=2 width=6 hidden=8 activation=linear", 8, true},
    {"rnn", "layers=1 width=6 hidden=8 activation=tanh", 8, true},
    {"rnn", "layers=2 width=6 hidden=8 activation=sigmoid", 8, true},
    {"rnn", "layers=1 width=6 hidden=8 activation=relu", 8, true},
    {"linear_attention", CORE " layers=2 dropout=0", 8, true},
    {"linear_attention", CORE " layers=1 head_width=3 dropout=0", 8, true},
    {"mamba2", "layers=2 width=8 state=6 head_width=4", 8, true},
    {"mamba2", "layers=1 width=8 state=3 head_width=2 groups=4 kernel=3 tied=false", 8, true},
    {"gated_deltanet", CORE " layers=2 head_width=4", 8, true},
    {"gated_deltanet",
     CORE " layers=1 value_heads=4 head_width=3 expand=1 kernel=3 negative_eigenvalues=true "
          "tied=true",
     8, true},
    {"informer", SERIES " factor=1 rsa_kinds=0,1,1,0,0,0 rsa_gate=0.4 sinusoids=false", 8, false},
    {"logsparse", SERIES " rsa_kinds=1,0,0,1,0,0 rsa_dilation=2", 8, false},
    {"series_xl", SERIES, 8, false},
    {"dlinear", "kernel=3", 8, false},
    {"dlinear", "decompose=false subtract_last=true", 8, false},
    {"series_xl", SERIES " positions=none memory=3 rsa_kinds=1,0,0,0,0,1 rsa_dilation=2", 8, false},
    {"rsa", "layers=2 width=3 heads=3 rsa_kinds=1,1,1,0,0,0", 8, false},
    {"informer", "layers=3 width=8 heads=2 hidden=12 dropout=0 factor=1 distil=true", 8, false},
    {"informer", SERIES " factor=1 rsa_kinds=1,0,0,0,0,0 rsa_lazy=false", 8, false},
    {"rmt", RMT, 8, true},
    {"rmt", RMT " memory_tokens=3 head_width=3 memory=5", 4, false},
    {"rmt", RMT " memory=9 memory_reads_cache=true", 4, false},
    {"rmt", RMT " memory=3 rsa_kinds=0,1,1,0,0,0", 4, false},
    {"rmt", RMT " memory_tokens=4 memory=5 shifted_positions=true", 4, false},
    {"rmt", RMT " memory_tokens=3 memory=5 memory_reads_cache=true shifted_positions=true", 4,
     false},
    {"dai_xl", DAI " rsa_kinds=1,0,0,0,0,0 rsa_matrix=toeplitz segment=8", 8, false},
    {"memorizing", TINY " memory=12 top=3 memory_layer=2 normalize=false", 4, false},
    {"staircase",
     CORE " layers=2 forward_size=2 steps=5 cache=outputs segment_chunks=2 post_norm=true", 4,
     false},
    {"transformer_xl", CORE " layers=2 span=5 post_norm=true", 8, true},
    {"feedback", CORE " layers=2 span=5 carry=normed", 8, false},
    {"feedback", CORE " layers=2 span=4 share_kv=true post_norm=true", 8, true},
    {"routing", CORE " layers=1 dropout=0 window=4 routing_layers=0", 8, false},
    {"routing", CORE " layers=2 dropout=0 window=2 clusters=3 longest_distance=9", 8, false},
    {"routing",
     CORE " layers=3 dropout=0 window=3 clusters=2 routing_window=5 routing_layers=1 "
          "longest_distance=3",
     8, false},
    {"routing",
     CORE " layers=1 dropout=0 clusters=3 routing_window=4 routing_heads=2 longest_distance=1 "
          "overlap=mean head_width=3 routing_scale=3",
     8, false},
    {"dai_xl", DAI " cutoffs=4,7 cluster_divisor=2 share_biases=false", 8, false},
    {"rmt", RMT " cutoffs=5 cluster_divisor=3", 4, false},
};
enum { MODEL_CASES = (int)(sizeof model_cases / sizeof model_cases[0]) };

#endif
