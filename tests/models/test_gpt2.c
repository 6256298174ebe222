/* GPT-2's sizes, the cache of generation, and the memory bound of Yoshida et al. 2020, section 3.2.
 */
#include "tests/test.h"

#include "tests/models/model_bench.h"

enum { ROWS = 2, COUNT = 16, WIDTH = 8, WINDOW = 8 };

TEST(parameter_counts_of_the_released_models) {
    static const struct {
        const char *options;
        int64_t parameters;
    } sizes[] = {{"", 124439808},
                 {"layers=24 width=1024 heads=16", 354823168},
                 {"layers=36 width=1280 heads=20", 774030080},
                 {"layers=48 width=1600 heads=25", 1557611200}};
    const lh_model_setup setup = {.vocabulary = 50257};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i)
        CHECK_EQ_INT(count_parameters("gpt2", sizes[i].options, setup), sizes[i].parameters);
}

/* 768 -> 200 -> 200 -> 200 -> 768 with biases, and twelve weights of layers. */
TEST(the_recurrence_module_has_388580_parameters) {
    lh_model *plain = NULL, *recurrent = NULL;
    REQUIRE_OK(create_model("gpt2", "", &plain));
    REQUIRE_OK(create_model("gpt2_recurrent", "", &recurrent));
    CHECK_EQ_INT(lh_params_elements(recurrent->params, true) -
                     lh_params_elements(plain->params, true),
                 388568 + 12);
    lh_model_destroy(plain);
    lh_model_destroy(recurrent);
}

/* Feeds tokens [rows][count] to a model with a cache, `piece` at a time. */
static bool run_cached(const char *name, const char *options, int64_t piece, const int32_t *tokens,
                       real *hidden) {
    model_bench bench;
    int32_t part[ROWS * WINDOW], starts[ROWS] = {1, 1};
    bool good = bench_open(&bench, name, options, ROWS);
    for (int64_t at = 0; good && at < COUNT; at += piece) {
        for (int r = 0; r < ROWS; ++r) {
            memcpy(part + r * piece, tokens + r * COUNT + at, (size_t)piece * sizeof *part);
            starts[r] = at == 0;
        }
        lh_tape_begin(bench.tape, false, 1, 0);
        lh_output out;
        const lh_batch batch = {.rows = ROWS,
                                .length = piece,
                                .tokens = bench_integers(&bench, piece, part),
                                .starts = bench_integers(&bench, 0, starts),
                                .position = at % WINDOW};
        good =
            CHECK_OK(lh_model_forward(bench.model, bench.tape, bench.state, &batch, false, &out));
        for (int r = 0; good && r < ROWS; ++r)
            memcpy(hidden + (r * COUNT + at) * WIDTH,
                   lh_tensor_real(out.hidden) + r * piece * WIDTH,
                   (size_t)(piece * WIDTH) * sizeof *hidden);
        good = good && CHECK_OK(lh_state_commit(bench.state));
    }
    bench_close(&bench);
    return good;
}

static bool run_windows(const char *name, const char *options, const int32_t *tokens,
                        real *hidden) {
    static const int32_t fresh[ROWS] = {1, 1};
    model_bench bench;
    const bool good = bench_open(&bench, name, options, ROWS) &&
                      bench_run(&bench, tokens, COUNT, COUNT, fresh, hidden);
    bench_close(&bench);
    return good;
}

#define SIZES "layers=3 width=8 heads=2 context=8 window=8 "

static void check_cache(const char *name, const char *options, const char *cached) {
    int32_t tokens[ROWS * COUNT];
    real whole[ROWS * COUNT * WIDTH], pieces[ROWS * COUNT * WIDTH];
    random_tokens(tokens, ROWS * COUNT);
    REQUIRE(run_windows(name, options, tokens, whole));
    for (int64_t piece = 1; piece <= WINDOW; piece *= 2) {
        REQUIRE(run_cached(name, cached, piece, tokens, pieces));
        const double worst = largest_difference(whole, pieces, ROWS * COUNT * WIDTH);
        test_check(worst < 1e-5, __FILE__, __LINE__, "%s, %lld tokens at a time: apart by %g", name,
                   (long long)piece, worst);
    }
}

TEST(generation_with_a_cache_computes_what_windows_compute) {
    check_cache("gpt2", SIZES, SIZES "cache=true");
    check_cache("gpt2_recurrent", SIZES "summary_hidden=5", SIZES "summary_hidden=5 cache=true");
    check_cache("gpt2_recurrent", SIZES "summary_hidden=5 insertion=0 final_norm=false",
                SIZES "summary_hidden=5 insertion=0 final_norm=false cache=true");
}

/* Hidden states of a segment after one that began with `first`, training or not. */
static bool run_second(const char *options, int32_t first, bool training, real *hidden) {
    enum { LENGTH = 8 };
    model_bench bench;
    int32_t tokens[LENGTH] = {first, 1, 2, 3, 4, 5, 6, 7};
    bool good = bench_open(&bench, "gpt2_recurrent", options, 1);
    for (int32_t segment = 0; good && segment < 2; ++segment) {
        const int32_t starts[] = {segment == 0};
        lh_output out;
        lh_tape_begin(bench.tape, training, 1, 0);
        const lh_tensor *y = bench_forward(&bench, LENGTH, tokens, starts, training, &out);
        good = y != NULL && CHECK_OK(lh_state_commit(bench.state));
        if (good) memcpy(hidden, lh_tensor_real(y), LENGTH * WIDTH * sizeof *hidden);
        tokens[0] = 8;
    }
    bench_close(&bench);
    return good;
}

/* A segment of one window sees no other, unless it goes on from the one before it. */
TEST(a_recurrence_that_training_never_uses_is_refused) {
#define SMALL "layers=2 width=8 heads=2 context=8 summary_hidden=5 "
    CHECK_FAILS(bench_train_documents("gpt2_recurrent", SMALL, 8), LH_EOPTION,
                "the recurrence is not learned");
    CHECK_OK(bench_train_documents("gpt2_recurrent", SMALL "carry=true", 8));
    CHECK_OK(bench_train_documents("gpt2_recurrent", SMALL "window=4", 8));
    for (int64_t length = 6; length <= 8; length += 2) { /* in one window of 8 */
        CHECK_OK(bench_train_segment("gpt2_recurrent", SMALL "window=8", length, true));
        CHECK_FAILS(bench_train_segment("gpt2_recurrent", SMALL "window=8", length, false),
                    LH_EOPTION, "the recurrence is not learned");
        CHECK_OK(bench_train_segment("gpt2_recurrent", SMALL "window=8 carry=true", length, false));
    }
    CHECK_OK(bench_train_segment("gpt2_recurrent", SMALL "window=4", 8, false));
#undef SMALL
}

/* Section 3.2: in training a segment begins without a summary, unless `carry` asks for it. */
TEST(summaries_cross_segments_in_evaluation_and_with_carry) {
    static const struct {
        const char *carry;
        bool training, crosses;
    } cases[] = {{"false", true, false}, {"true", true, true}, {"false", false, true}};
    for (int i = 0; i < 3; ++i) {
        char options[160];
        real a[COUNT * WIDTH] = {0}, b[COUNT * WIDTH] = {0};
        (void)snprintf(options, sizeof options,
                       "layers=3 width=8 heads=2 context=8 window=4 summary_hidden=5 dropout=0 "
                       "carry=%s",
                       cases[i].carry);
        REQUIRE(run_second(options, 1, cases[i].training, a));
        REQUIRE(run_second(options, 9, cases[i].training, b));
        CHECK_EQ_INT(memcmp(a, b, sizeof a) != 0, cases[i].crosses);
    }
}

/* Peak bytes of a training step beyond what is there before it. */
static int64_t peak_of_step(const char *options, int64_t length) {
    model_bench bench;
    int32_t tokens[512], target[512];
    const int32_t starts[] = {1};
    random_tokens(tokens, length);
    random_tokens(target, length);
    int64_t bytes = -1;
    if (bench_open(&bench, "gpt2_recurrent", options, 1)) {
        lh_output out;
        for (int step = 0; step < 2; ++step) { /* the first one makes the gradients */
            const int64_t before = lh_pool_get_stats(bench.pool).used_bytes;
            lh_pool_reset_peak(bench.pool);
            lh_tape_begin(bench.tape, true, 1, 0);
            (void)bench_forward(&bench, length, tokens, starts, true, &out);
            lh_tensor *loss = bench_loss(&bench, &out, length, target, 1.0 / (double)length);
            CHECK_OK(lh_tape_backward(bench.tape, loss));
            CHECK_OK(lh_state_commit(bench.state));
            bytes = lh_pool_get_stats(bench.pool).peak_bytes - before;
        }
    }
    bench_close(&bench);
    return bytes;
}

/* M + 2 k ceil(N / T) for what windows keep. The segment's embedded tokens and final hidden states,
 * with their gradients, belong to the loss and come on top: 5 N k at most. Without recomputation
 * all windows would be kept. */
TEST(memory_is_that_of_one_window_and_the_bottlenecks) {
    enum { T = 32, N = 512, K = 16 };
    static const char sizes[] = "layers=6 width=16 heads=2 context=32 window=32 summary_hidden=8";
    char plain[128];
    (void)snprintf(plain, sizeof plain, "%s recompute=false", sizes);
    const int64_t window = peak_of_step(sizes, T), windows = peak_of_step(sizes, N),
                  kept = peak_of_step(plain, N);
    const int64_t bound =
        window + (int64_t)sizeof(real) * (2 * K * (N / T) + 5 * N * K) + 64 * 1024;
    test_check(windows <= bound, __FILE__, __LINE__, "%lld bytes, at most %lld", (long long)windows,
               (long long)bound);
    test_check(kept > 4 * windows, __FILE__, __LINE__, "%lld bytes without, %lld with recompute",
               (long long)kept, (long long)windows);
    CHECK_EQ_INT(peak_of_step(plain, T), window); /* of one window nothing would be saved */
}

TEST(windows_that_do_not_fit_are_refused) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("gpt2", "window=2000", &model), LH_EOPTION, "above 'context'");
    CHECK_FAILS(create_model("gpt2", "window=8 overlap=8", &model), LH_EOPTION, "below 'window'");
    CHECK_FAILS(create_model("gpt2", "cache=true", &model), LH_EOPTION, "needs a 'window'");
    CHECK_FAILS(create_model("gpt2_recurrent", "layers=2 insertion=3", &model), LH_EOPTION,
                "above 'layers'");
    REQUIRE_OK(create_model("gpt2", SIZES "overlap=3", &model));
    CHECK_FAILS(model->class->check(model->instance, 12), LH_ESHAPE, "try 8");
    lh_model_destroy(model);
}

/* ---- the layout of published weights ---- */

static const char weights_path[] = "/tmp/longhaul-test-gpt2.safetensors";

/* Saves under `names`, loads into other values under the published ones, and compares. */
static lh_status save_and_load(const lh_tensor_name *names, bool *same) {
    model_bench bench;
    static real before[8192];
    lh_status status = LH_EMEMORY;
    if (bench_open(&bench, "gpt2", SIZES, ROWS)) {
        lh_params *params = bench.model->params;
        const lh_tensor *values = lh_params_values(params);
        const size_t bytes = (size_t)lh_tensor_count(values) * sizeof(real);
        CHECK(bytes <= sizeof before);
        memcpy(before, lh_tensor_real(values), bytes);
        CHECK_OK(lh_params_save(params, weights_path, names, NULL));
        CHECK_OK(lh_params_initialize(params, 77));
        CHECK(memcmp(before, lh_tensor_real(values), bytes) != 0);
        status =
            lh_params_load(params, weights_path, bench.model->class->published_names, NULL, false);
        *same = memcmp(before, lh_tensor_real(values), bytes) == 0;
    }
    (void)remove(weights_path);
    bench_close(&bench);
    return status;
}

/* The class's names with `prefix` before each, and one of them replaced. */
static void rename_tensors(lh_tensor_name *out, char text[][64], const char *prefix,
                           const char *published, const char *instead) {
    const lh_tensor_name *names = lh_model_class_find("gpt2")->published_names;
    for (; names->published != NULL; ++names, ++out, ++text) {
        const bool replaced = published != NULL && strcmp(names->published, published) == 0;
        (void)snprintf(*text, sizeof *text, "%s%s", prefix, replaced ? instead : names->published);
        *out = (lh_tensor_name){*text, names->own, LH_ALIKE};
    }
    *out = (lh_tensor_name){NULL, NULL, LH_ALIKE};
}

TEST(published_weight_files_are_read_and_written) {
    const lh_tensor_name *names = lh_model_class_find("gpt2")->published_names;
    lh_tensor_name renamed[32];
    char text[32][64];
    bool same = false;
    CHECK_OK(save_and_load(NULL, &same)); /* a file of our own names */
#ifndef LH_REAL_DOUBLE
    CHECK(same);
    CHECK_OK(save_and_load(names, &same));
    CHECK(same);
    rename_tensors(renamed, text, "transformer.", NULL, NULL);
    CHECK_OK(save_and_load(renamed, &same));
    CHECK(same);
#endif
    rename_tensors(renamed, text, "", "h.#.mlp.c_fc.bias", "h.#.attn.masked_bias");
    CHECK_FAILS(save_and_load(renamed, &same), LH_EFORMAT, "lacks tensor h.0.mlp.c_fc.bias");
    rename_tensors(renamed, text, "", "ln_f.bias", "ln_f.offset");
    CHECK_FAILS(save_and_load(renamed, &same), LH_EFORMAT, "ln_f.offset is none of the model's");
    rename_tensors(renamed, text, "", "ln_f.bias", "transformer.ln_f.weight");
    CHECK_FAILS(save_and_load(renamed, &same), LH_EFORMAT, "are both norm.gain");
    rename_tensors(renamed, text, "", "wpe.weight", "ln_f.bias");
    renamed[15].published = "wpe.weight";
    CHECK_FAILS(save_and_load(renamed, &same), LH_EFORMAT,
                "ln_f.bias: the model has [8], the file [8][8]");
}

/* Two tensors under published names: the embedding and a head that equals it but for `difference`.
 */
static lh_status load_with_head(real difference) {
    model_bench bench;
    lh_status status = LH_EMEMORY;
    if (bench_open(&bench, "gpt2", SIZES, ROWS)) {
        lh_params *params = bench.model->params;
        const lh_param *table = lh_params_at(params, lh_params_find(params, "embedding.weight"));
        real *head = lh_allocate((size_t)table->count * sizeof *head);
        CHECK_OK(lh_tensor_read(table->value, head, table->count));
        const real *same = lh_tensor_real(table->value);
        head[table->count - 1] += difference;
        const lh_safetensors_source sources[] = {{"wte.weight", 2, table->shape, same},
                                                 {"lm_head.weight", 2, table->shape, head}};
        CHECK_OK(
            lh_safetensors_write(weights_path, &(lh_safetensors_contents){sources, 2, NULL, 0}));
        status = lh_params_load(params, weights_path, bench.model->class->published_names,
                                bench.model->options, true);
        free(head);
    }
    (void)remove(weights_path);
    bench_close(&bench);
    return status;
}

TEST(a_head_of_its_own_is_not_dropped) {
    CHECK_OK(load_with_head(0));
    CHECK_FAILS(load_with_head(LH_R(0.5)), LH_EFORMAT,
                "tensor lm_head.weight differs from wte.weight; the model has one for both");
}

TEST(a_wrong_shape_names_the_option) {
    model_bench bench, wider;
    REQUIRE(bench_open(&bench, "gpt2", SIZES, ROWS));
    CHECK_OK(lh_params_save(bench.model->params, weights_path, NULL, NULL));
    if (bench_open(&wider, "gpt2", SIZES " width=24", ROWS)) {
        CHECK_FAILS(
            lh_params_load(wider.model->params, weights_path, NULL, wider.model->options, false),
            LH_EFORMAT, "here width=24");
    }
    (void)remove(weights_path);
    bench_close(&wider);
    bench_close(&bench);
}

/* A file of one tensor, wpe.weight, of 64 elements; loads it. */
static lh_status load_positions(const char *type, const uint16_t *data, size_t bytes,
                                real *positions) {
    char header[128] = {0};
    const uint64_t length = (uint64_t)snprintf(
        header, sizeof header,
        "{\"wpe.weight\": {\"dtype\": \"%s\", \"shape\": [8, 8], \"data_offsets\": [0, %zu]}}",
        type, bytes);
    model_bench bench;
    lh_status status = LH_EMEMORY;
    FILE *file = fopen(weights_path, "wb");
    if (file == NULL) return LH_EIO;
    (void)fwrite(&length, 1, sizeof length, file);
    (void)fwrite(header, 1, length, file);
    (void)fwrite(data, 1, bytes, file);
    (void)fclose(file);
    if (bench_open(&bench, "gpt2", SIZES, ROWS)) {
        lh_params *params = bench.model->params;
        status =
            lh_params_load(params, weights_path, bench.model->class->published_names, NULL, true);
        const int index = lh_params_find(params, "positions.weight");
        memcpy(positions, lh_tensor_real(lh_params_at(params, index)->value), 64 * sizeof(real));
    }
    (void)remove(weights_path);
    bench_close(&bench);
    return status;
}

TEST(weights_in_half_precision_are_read_and_whole_numbers_refused) {
    static const uint16_t half[64] = {0x3c00, 0xc100, 0x0001};  /* 1, -2.5, 2^-24 */
    static const uint16_t brain[64] = {0x3f80, 0xc020, 0x3380}; /* the same */
    static const uint16_t whole[128] = {1};
    real positions[64];
    for (int kind = 0; kind < 2; ++kind) {
        CHECK_OK(
            load_positions(kind ? "BF16" : "F16", kind ? brain : half, sizeof half, positions));
        CHECK(positions[0] == (real)1 && positions[1] == (real)-2.5);
        CHECK(positions[2] == (real)0x1p-24 && positions[3] == 0 && positions[63] == 0);
    }
    CHECK_FAILS(load_positions("I32", whole, sizeof whole, positions), LH_EFORMAT,
                "tensor wpe.weight holds I32");
    CHECK_FAILS(load_positions("F16", half, sizeof half - 2, positions), LH_EFORMAT,
                "offsets do not fit");
}
