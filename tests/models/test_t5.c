/* T5: the sizes of the released models, buckets of distance, what padding changes, the layout of
 * published weights. */
#include "tests/test.h"

#include <unistd.h>

#include "harness/engine/safetensors.h"
#include "models/layers/t5_bias.h"
#include "tests/models/model_bench.h"
#include "tests/tensor_named.h"

#define SIZES "layers=2 width=8 heads=2 head_width=3 hidden=12"

enum { ROWS = 2, LENGTH = 4, WIDTH = 8 };

/* Huang et al. 2023, Table 7 (both rows), and the released T5-small, T5-base and CodeT5-base. */
TEST(parameter_counts_of_the_released_models) {
    static const char base[] = "layers=12 width=768 heads=12 hidden=3072";
    const lh_model_setup code = {.vocabulary = 32100, .source_vocabulary = 32100},
                         text = {.vocabulary = 32128, .source_vocabulary = 32128},
                         classes = {.vocabulary = 32100, .source_vocabulary = 32100, .classes = 2};
    CHECK_EQ_INT(count_parameters("t5", "", code), 60492288);
    CHECK_EQ_INT(count_parameters("t5", base, code), 222882048);
    CHECK_EQ_INT(count_parameters("t5", "", text), 60506624);
    CHECK_EQ_INT(count_parameters("t5", base, text), 222903552);
    CHECK_EQ_INT(count_parameters("t5", "rsa_kinds=0,0,0,8,0,0 rsa_dilation=64 rsa_gate=-3", code),
                 60492288 + 108);
    CHECK_EQ_INT(count_parameters("t5", "", classes), 60492288 + 2 * 512 + 2);
}

/* The logarithms written as powers: k of the buckets above `exact` lie below n when (n /
 * exact)^count is at least ratio^k. */
static int bucket_by_powers(int64_t n, int buckets) {
    const int exact = buckets / 2;
    int bucket = (int)(n < exact ? n : exact);
    while (n >= exact && bucket < buckets - 1 &&
           exact * log2((double)n / exact) > (bucket + 1 - exact) * log2(128.0 / exact) - 1e-9)
        bucket += 1;
    return bucket;
}

TEST(buckets_are_exact_up_to_half_and_logarithmic_up_to_128) {
    for (int64_t n = 0; n < 1000; ++n) {
        CHECK_EQ_INT(lh_t5_bucket(n), bucket_by_powers(n, 32));
        CHECK_EQ_INT(lh_t5_bucket_both_ways(n), bucket_by_powers(n, 16));
        if (n > 0) CHECK_EQ_INT(lh_t5_bucket_both_ways(-n), 16 + bucket_by_powers(n, 16));
    }
    CHECK_EQ_INT(lh_t5_bucket_both_ways(64), 14);
    CHECK_EQ_INT(lh_t5_bucket_both_ways(-1000), 31);
}

/* ---- sources ---- */

/* Hidden states for sources of `length` tokens of which row 0 has `count`. */
static bool run_sources(const char *options, int64_t length, const int32_t *source, int32_t count,
                        real *hidden) {
    model_bench bench;
    const int32_t tokens[ROWS * LENGTH] = {0, 1, 2, 3, 4, 5, 6, 7};
    const int32_t counts[ROWS] = {count, (int32_t)length};
    bool good = bench_open(&bench, "t5", options, ROWS);
    if (good) {
        lh_output out;
        lh_tape_begin(bench.tape, false, 1, 0);
        const lh_batch batch = {.rows = ROWS,
                                .length = LENGTH,
                                .tokens = bench_integers(&bench, LENGTH, tokens),
                                .source_tokens = bench_integers(&bench, length, source),
                                .source_count = bench_integers(&bench, 0, counts)};
        good =
            CHECK_OK(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out));
        if (good) memcpy(hidden, lh_tensor_real(out.hidden), sizeof(real) * ROWS * LENGTH * WIDTH);
    }
    bench_close(&bench);
    return good;
}

static void check_padding(const char *options) {
    enum { LONG = 9, SHORT = 5 };
    int32_t source[ROWS * LONG], cut[ROWS * SHORT];
    real hidden[ROWS * LENGTH * WIDTH], other[ROWS * LENGTH * WIDTH];
    random_tokens(source, ROWS * LONG);
    REQUIRE(run_sources(options, LONG, source, SHORT, hidden));
    for (int i = SHORT; i < LONG; ++i)
        source[i] = (source[i] + 1) % BENCH_VOCABULARY;
    REQUIRE(run_sources(options, LONG, source, SHORT, other));
    CHECK(memcmp(hidden, other, sizeof hidden) == 0);
    memcpy(cut, source, sizeof cut);
    REQUIRE(run_sources(options, SHORT, cut, SHORT, other));
    CHECK(largest_difference(hidden, other, LENGTH * WIDTH) < 1e-5);
    source[SHORT - 1] = (source[SHORT - 1] + 1) % BENCH_VOCABULARY;
    REQUIRE(run_sources(options, LONG, source, SHORT, other));
    CHECK(largest_difference(hidden, other, LENGTH * WIDTH) > 1e-3);
    CHECK(memcmp(hidden + LENGTH * WIDTH, other + LENGTH * WIDTH, sizeof hidden / 2) == 0);
}

TEST(padding_is_seen_by_nobody) {
    check_padding(SIZES);
    check_padding(SIZES " rsa_kinds=1,0,0,1,0,0 rsa_dilation=2 rsa_gate=2");
}

TEST(without_a_source_there_is_an_error) {
    model_bench bench;
    const int32_t tokens[ROWS * LENGTH] = {0};
    lh_output out;
    if (bench_open(&bench, "t5", SIZES, ROWS)) {
        lh_tape_begin(bench.tape, false, 1, 0);
        const lh_batch batch = {
            .rows = ROWS, .length = LENGTH, .tokens = bench_integers(&bench, LENGTH, tokens)};
        CHECK_FAILS(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out),
                    LH_EOPTION, "source sequence");
    }
    bench_close(&bench);
}

/* ---- the layout of published weights ---- */

static char path[64];

__attribute__((constructor)) static void name_file(void) {
    (void)snprintf(path, sizeof path, "/tmp/longhaul-test-t5-%ld", (long)getpid());
}

/* Element (row, column) of the published matrix is element (column, row) of ours. */
static void check_transposed(const lh_safetensors *file, const lh_params *params,
                             const char *published, const char *own) {
    const lh_safetensors_entry *entry = tensor_named(file, published);
    const int index = lh_params_find(params, own);
    if (!CHECK(entry != NULL && index >= 0)) return;
    const lh_param *param = lh_params_at(params, index);
    real values[64 * 4];
    REQUIRE(entry->rank == 2 && entry->count <= 64 * 4);
    CHECK_EQ_INT(entry->shape[0], param->shape[1]);
    CHECK_EQ_INT(entry->shape[1], param->shape[0]);
    lh_safetensors_convert(entry, values);
    for (int64_t i = 0; i < param->shape[0]; ++i)
        for (int64_t j = 0; j < param->shape[1]; ++j)
            CHECK_NEAR((double)values[j * param->shape[0] + i],
                       (double)lh_tensor_real(param->value)[i * param->shape[1] + j], 1e-6);
}

TEST(published_weight_files_are_read_and_written) {
    model_bench bench;
    static real before[8192];
    if (bench_open(&bench, "t5", SIZES, ROWS)) {
        lh_params *params = bench.model->params;
        const lh_tensor_name *names = bench.model->class->published_names;
        const lh_tensor *values = lh_params_values(params);
        const int64_t count = lh_tensor_count(values);
        lh_safetensors *file = NULL;
        REQUIRE(count <= 8192);
        memcpy(before, lh_tensor_real(values), (size_t)count * sizeof(real));
        CHECK_OK(lh_params_save(params, path, names, NULL));
        CHECK_OK(lh_safetensors_open(path, &file));
        CHECK_EQ_INT(lh_safetensors_count(file), lh_params_count(params));
        check_transposed(file, params,
                         "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                         "encoder.bias");
        check_transposed(file, params, "decoder.block.1.layer.1.EncDecAttention.q.weight",
                         "decoder.layers.1.cross.query");
        check_transposed(file, params, "decoder.block.0.layer.2.DenseReluDense.wo.weight",
                         "decoder.layers.0.feed_forward.out");
        CHECK(tensor_named(file, "shared.weight") != NULL);
        CHECK(tensor_named(file, "encoder.block.1.layer.1.layer_norm.weight") != NULL);
        lh_safetensors_close(file);
        CHECK_OK(lh_params_initialize(params, 77));
        CHECK(largest_difference(before, lh_tensor_real(values), count) > 0.1);
        CHECK_OK(lh_params_load(params, path, names, NULL, false));
        CHECK(largest_difference(before, lh_tensor_real(values), count) < 1e-6);
        lh_model *wider = NULL;
        const lh_model_setup setup = bench.model->setup;
        REQUIRE_OK(create_model_for("t5", "layers=2 width=8 heads=2 head_width=3 hidden=14", &setup,
                                    &wider));
        CHECK_OK(lh_params_allocate(wider->params, bench.pool));
        CHECK_FAILS(lh_params_load(wider->params, path, names, NULL, false), LH_EFORMAT,
                    "wi.weight: the model has [14][8]");
        lh_model_destroy(wider);
        (void)remove(path);
    }
    bench_close(&bench);
}
