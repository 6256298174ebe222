/* How far gradients flow back through the memory of the Recurrent Memory Transformer. */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 1, BLOCK = 4, BLOCKS = 4, TOKENS = BLOCKS * BLOCK };

#define SIZES "dropout=0 layers=2 width=8 heads=2 hidden=12 block=4 memory_tokens=2"

/* Whether the loss of block `predicted` alone reaches the memory that the document begins with. */
static bool reaches_start(const char *options, int predicted) {
    const int64_t shape[] = {ROWS, TOKENS};
    const int32_t fresh[] = {1};
    int32_t tokens[TOKENS];
    real weights[TOKENS] = {0};
    model_bench bench;
    lh_output out;
    random_tokens(tokens, TOKENS);
    for (int i = predicted * BLOCK; i < (predicted + 1) * BLOCK; ++i)
        weights[i] = LH_R(1);
    if (!CHECK(bench_open(&bench, "rmt", options, ROWS))) return false;
    lh_tape_begin(bench.tape, true, 3, 1);
    if (bench_forward(&bench, TOKENS, tokens, fresh, true, &out) == NULL) return false;
    const lh_cross_entropy head = {.weight = out.head_weight,
                                   .bias = out.head_bias,
                                   .scale = out.logit_scale,
                                   .target = bench_integers(&bench, TOKENS, tokens),
                                   .weights = lh_reals(bench.tape, 2, shape, weights),
                                   .gradient_scale = 1};
    lh_tensor *loss = lh_linear_cross_entropy(bench.tape, &head, out.hidden);
    CHECK_OK(lh_tape_backward(bench.tape, loss));
    const lh_params *params = bench.model->params;
    const lh_tensor *flowed =
        lh_tensor_gradient(lh_params_get(params, lh_params_find(params, "memory_tokens")));
    double largest = 0;
    for (int64_t e = 0; flowed != NULL && e < lh_tensor_count(flowed); ++e)
        largest = fmax(largest, fabs((double)lh_tensor_real(flowed)[e]));
    bench_close(&bench);
    return largest > 0;
}

TEST(gradients_flow_through_as_many_blocks_as_asked) {
    static const struct {
        const char *options;
        int reach; /* the last block whose loss reaches the start */
    } cases[] = {{SIZES, 3},
                 {SIZES " unroll=4", 3},
                 {SIZES " unroll=3", 2},
                 {SIZES " unroll=2", 1},
                 {SIZES " unroll=1", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int b = 0; b < BLOCKS; ++b)
            test_check(reaches_start(cases[i].options, b) == (b <= cases[i].reach), __FILE__,
                       __LINE__, "%s: block %d", cases[i].options, b);
    }
}

/* A cache hands on no gradient: of the second block's loss nothing but the memory comes back. */
TEST(a_cache_is_a_constant) {
    CHECK(!reaches_start(SIZES " memory=6 unroll=1", 1));
    CHECK(reaches_start(SIZES " memory=6 unroll=2", 1));
}
