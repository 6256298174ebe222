/* Where dropout stands in each model: the kernels of a forward pass in training are listed in
 * order, and each dropped tensor is told by the kernel that ran right before it. Expected are the
 * places of the papers and their code (docs/fidelity.md), and nothing is dropped outside of
 * training. */
#include "kernels/kernels.h"
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { TRACE = 4096, ROWS = 2 };

/* ---- a kernel table that tells what runs ---- */

static const lh_kernels *table;
static char trace[TRACE]; /* dropped tensors, and attention that drops its weights */
static char before[32];

/* name[width]>rate, or with a period rate/period. */
static void tell(const char *what, int64_t width, double rate, int64_t period) {
    const size_t used = strlen(trace);
    int more = snprintf(trace + used, TRACE - used, "%s%s[%" PRId64 "]>%g", used > 0 ? " " : "",
                        what, width, rate);
    if (period > 0 && more > 0 && used + (size_t)more < TRACE)
        (void)snprintf(trace + used + more, TRACE - used - (size_t)more, "/%" PRId64, period);
}

static void note_kernel(const char *name) {
    (void)snprintf(before, sizeof before, "%s", name);
    char *suffix = strstr(before, "_forward");
    if (suffix != NULL) *suffix = '\0';
}

#define LH_KERNEL(k, dtypes)                                                                       \
    static lh_status told_##k(const lh_launch *launch, const lh_##k##_args *args) {                \
        note_kernel(#k);                                                                           \
        return table->k(launch, args);                                                             \
    }
#define LH_KERNEL_W(k, dtypes) LH_KERNEL(k, dtypes)
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

static lh_status tell_dropout(const lh_launch *launch, const lh_dropout_args *args) {
    tell(before, args->width, args->rate, args->period);
    return told_dropout(launch, args);
}

static lh_status tell_attention(const lh_launch *launch, const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    if (spec->dropout > 0) tell("attention", spec->queries, spec->dropout, spec->dropout_period);
    return told_attention_forward(launch, args);
}

static lh_kernels telling_table(const lh_kernels *of) {
    lh_kernels telling = {.name = of->name, .takes_bf16 = of->takes_bf16};
    table = of;
#define LH_KERNEL(k, dtypes)   telling.k = told_##k;
#define LH_KERNEL_W(k, dtypes) LH_KERNEL(k, dtypes) telling.k##_workspace = of->k##_workspace;
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
    telling.dropout = tell_dropout;
    telling.attention_forward = tell_attention;
    return telling;
}

/* One segment forward; the trace is then what it dropped, in order. */
static bool run(const char *model, const char *options, int64_t length, bool training) {
    model_bench bench;
    int32_t tokens[ROWS * 16];
    const int32_t starts[ROWS] = {1, 1};
    lh_output out;
    random_tokens(tokens, ROWS * length);
    trace[0] = before[0] = '\0';
    if (!bench_open(&bench, model, options, ROWS)) return false;
    const lh_kernels telling = telling_table(bench.device->kernels);
    bench.device->kernels = &telling;
    lh_tape_begin(bench.tape, training, 1, 0);
    const bool good = bench_forward(&bench, length, tokens, starts, training, &out) != NULL;
    bench.device->kernels = table;
    bench_close(&bench);
    return good;
}

static void check_places(const char *model, const char *options, int64_t length,
                         const char *expected) {
    if (CHECK(run(model, options, length, false)))
        test_check(trace[0] == '\0', __FILE__, __LINE__, "%s %s drops in evaluation: %s", model,
                   options, trace);
    if (CHECK(run(model, options, length, true)))
        test_check(strcmp(trace, expected) == 0, __FILE__, __LINE__,
                   "%s %s drops\n    %s\n  not\n    %s", model, options, trace, expected);
}

/* Hutchins et al.: the attention's input, its weights (one mask for all blocks), the feed-forward
 * network's output and what the head reads; nothing in the horizontal direction. */
TEST(the_block_stack_drops_attention_input_weights_network_and_output) {
    check_places("slide", "layers=2 width=8 heads=2 window=4 dropout=0.5", 8,
                 "rms_norm[8]>0.5/8 attention[8]>0.5/4 matmul[8]>0.5/8 rms_norm[8]>0.5/8 "
                 "attention[8]>0.5/4 matmul[8]>0.5/8 rms_norm[8]>0.5/8");
    check_places(
        "brt",
        "layers=1 width=8 heads=2 window=4 dropout=0.5 recurrence=fixed:dual recurrent_layers=1", 8,
        "rms_norm[8]>0.5/8 attention[8]>0.5/4 matmul[8]>0.5/8 rms_norm[8]>0.5/8");
    check_places("memorizing",
                 "layers=1 width=8 heads=2 window=8 dropout=0.5 memory=8 top=2 memory_layer=1", 8,
                 "rms_norm[8]>0.5/8 attention[8]>0.5/8 matmul[8]>0.5/8 rms_norm[8]>0.5/8");
}

/* Ju et al. (transformer-sequential): attention weights and, after the rectifier, hidden units;
 * once per application of a layer. */
TEST(the_staircase_core_drops_weights_and_hidden_units) {
    check_places("transformer_xl", "layers=2 width=8 heads=2 hidden=12 span=4 dropout=0.5", 8,
                 "attention[8]>0.5 matmul[12]>0.5 attention[8]>0.5 matmul[12]>0.5");
    check_places("universal", "steps=2 width=8 heads=2 hidden=12 span=4 dropout=0.5", 8,
                 "attention[8]>0.5 matmul[12]>0.5 attention[8]>0.5 matmul[12]>0.5");
    check_places("staircase",
                 "layers=1 forward_size=4 steps=2 width=8 heads=2 hidden=12 dropout=0.5", 8,
                 "attention[4]>0.5 matmul[12]>0.5 attention[8]>0.5 matmul[12]>0.5 attention[4]>0.5 "
                 "matmul[12]>0.5");
    check_places("cached_staircase",
                 "layers=1 forward_size=4 step_size=8 width=8 heads=2 hidden=12 dropout=0.5", 8,
                 "attention[4]>0.5 matmul[12]>0.5 attention[4]>0.5 matmul[12]>0.5");
    check_places("feedback", "layers=1 width=8 heads=2 hidden=12 span=4 dropout=0.5", 8,
                 "attention[1]>0.5 matmul[12]>0.5 attention[1]>0.5 matmul[12]>0.5 attention[1]>0.5 "
                 "matmul[12]>0.5 attention[1]>0.5 matmul[12]>0.5 attention[1]>0.5 matmul[12]>0.5 "
                 "attention[1]>0.5 matmul[12]>0.5 attention[1]>0.5 matmul[12]>0.5 attention[1]>0.5 "
                 "matmul[12]>0.5");
}

/* Nothing before the first layer and behind the last. */
TEST(recurrent_networks_drop_between_layers) {
    check_places("lstm", "layers=2 width=6 hidden=8 dropout=0.5", 8, "copy[8]>0.5");
    check_places("rnn", "layers=2 width=6 hidden=8 dropout=0.5", 8, "copy[8]>0.5");
}

/* Radford et al.; the summary network drops nothing. */
TEST(gpt2_drops_embeddings_weights_and_residual_branches) {
    check_places("gpt2", "layers=1 width=8 heads=2 context=8 dropout=0.5", 8,
                 "binary[8]>0.5 attention[8]>0.5 matmul[8]>0.5 matmul[8]>0.5");
    check_places(
        "gpt2_recurrent",
        "layers=2 width=8 heads=2 context=8 dropout=0.5 summary_hidden=5 window=4 recompute=false",
        8,
        "binary[8]>0.5 attention[4]>0.5 matmul[8]>0.5 matmul[8]>0.5 attention[4]>0.5 matmul[8]>0.5 "
        "matmul[8]>0.5 binary[8]>0.5 attention[4]>0.5 matmul[8]>0.5 matmul[8]>0.5 attention[4]>0.5 "
        "matmul[8]>0.5 matmul[8]>0.5");
}

/* T5 and Dai et al. drop what the first and the last layer see as well; with relative positions
 * these are dropped instead of the weights: their table alike for all batch rows. */
TEST(encoder_decoders_and_post_norm_models_drop_every_branch) {
    check_places("dai_xl",
                 "layers=1 width=8 heads=2 hidden=12 memory=5 dropout=0.5 attention_dropout=0.25",
                 8,
                 "linear_combination[8]>0.5 dropout[8]>0.5/13 attention[8]>0.25 matmul[8]>0.5 "
                 "matmul[12]>0.5 matmul[8]>0.5 layer_norm[8]>0.5");
    check_places("t5", "layers=1 width=8 heads=2 hidden=12 dropout=0.5", 8,
                 "gather[8]>0.5 attention[24]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5 "
                 "rms_norm[8]>0.5 gather[8]>0.5 attention[8]>0.5 matmul[8]>0.5 attention[8]>0.5 "
                 "matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5 rms_norm[8]>0.5");
    check_places("linear_attention", "layers=1 width=8 heads=2 hidden=12 dropout=0.5", 8,
                 "gather[8]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5");
    check_places("routing", "layers=1 width=8 heads=2 hidden=12 window=2 clusters=2 dropout=0.5", 8,
                 "gather[8]>0.5 matmul[8]>0.5 binary[12]>0.5 matmul[8]>0.5");
    check_places("transformer", "layers=1 width=8 heads=2 hidden=12 dropout=0.5", 8,
                 "binary[8]>0.5 attention[8]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5");
    check_places("transformer", "layers=1 width=8 heads=2 hidden=12 dropout=0.5 positions=relative",
                 8,
                 "[8]>0.5/8 linear_combination[8]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5 "
                 "layer_norm[8]>0.5");
}

/* One mask for all positions (trax); attention weights are never dropped. */
TEST(reformer_drops_along_the_sequence_alike) {
    check_places(
        "reformer", "layers=1 heads=2 hidden=12 dropout=0.5 positions=16 width=4 chunk=4 rounds=2",
        8, "gather[4]>0.5/1 matmul[4]>0.5/1 matmul[12]>0.5/1 matmul[4]>0.5/1 layer_norm[8]>0.5/1");
    check_places(
        "reformer",
        "layers=1 heads=2 hidden=12 dropout=0.5 positions=16 width=4 attention=full residual=plain",
        8, "gather[4]>0.5/1 matmul[4]>0.5/1 matmul[12]>0.5/1 matmul[4]>0.5/1 layer_norm[4]>0.5/1");
    check_places("reformer_encoder_decoder",
                 "layers=1 heads=2 hidden=12 dropout=0.5 width=8 positions=24 residual=plain", 8,
                 "gather[8]>0.5/1 matmul[8]>0.5/1 matmul[12]>0.5/1 matmul[8]>0.5/1 "
                 "layer_norm[8]>0.5/1 gather[8]>0.5/1 matmul[8]>0.5/1 matmul[8]>0.5/1 "
                 "matmul[12]>0.5/1 matmul[8]>0.5/1 layer_norm[8]>0.5/1");
}

/* ProbSparse self-attention has no weights to drop; the recurrence encodings alone drop nothing. */
TEST(forecasters_drop_embeddings_weights_and_branches) {
    check_places("informer",
                 "layers=1 width=8 heads=2 hidden=12 dropout=0.5 factor=1 decoder_layers=1", 8,
                 "binary[8]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5 binary[8]>0.5 "
                 "matmul[8]>0.5 attention[6]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5");
    check_places("informer",
                 "layers=1 width=8 heads=2 hidden=12 dropout=0.5 attention=full decoder_layers=1",
                 8,
                 "binary[8]>0.5 attention[4]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5 "
                 "binary[8]>0.5 attention[6]>0.5 matmul[8]>0.5 attention[6]>0.5 matmul[8]>0.5 "
                 "matmul[12]>0.5 matmul[8]>0.5");
    check_places("logsparse", "layers=1 width=8 heads=2 hidden=12 dropout=0.5 kernel=2", 8,
                 "binary[8]>0.5 attention[4]>0.5 matmul[8]>0.5 matmul[12]>0.5 matmul[8]>0.5 "
                 "binary[8]>0.5 attention[6]>0.5 matmul[8]>0.5 attention[6]>0.5 matmul[8]>0.5 "
                 "matmul[12]>0.5 matmul[8]>0.5");
    check_places("series_xl", "layers=1 width=8 heads=2 hidden=12 dropout=0.5", 8,
                 "select_rows[8]>0.5/12 linear_combination[8]>0.5 matmul[8]>0.5 matmul[12]>0.5 "
                 "matmul[8]>0.5 copy[8]>0.5");
    check_places("rsa", "layers=1 width=4 heads=2", 8, "");
}
