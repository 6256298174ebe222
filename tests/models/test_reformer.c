/* What Kitaev et al. 2020 promise of hashing attention, reversible layers and chunks. */
#include "tests/test.h"

#include "harness/ops/ops.h"
#include "tests/models/model_bench.h"

enum { MOST_TOKENS = 256 };

/* ---- parameter counts ---- */

static int64_t count_of(int64_t vocabulary, const char *text) {
    return count_parameters("reformer", text, (lh_model_setup){.vocabulary = vocabulary});
}

TEST(parameter_counts) {
    /* the duplication task's model: positions 1024, one layer, embeddings and head of 128 symbols
     */
    const char *duplication = "layers=1 width=256 heads=4 hidden=256 positions=1024 residual=plain";
    CHECK_EQ_INT(count_of(128, duplication), 657536);
    /* enwik8-64K: axial positions 128 x 256 + 512 x 768; a layer has 3 D^2 + 2 D d_ff + d_ff + 5 D
     */
    const int64_t width = 1024, hidden = 4096, vocabulary = 258, layers = 3;
    const int64_t layer = 3 * width * width + 2 * width * hidden + hidden + 5 * width;
    CHECK_EQ_INT(count_of(258, "layers=3 positions=128,512 position_widths=256,768"),
                 vocabulary * width + 128 * 256 + 512 * 768 + layers * layer + 4 * width +
                     vocabulary * (2 * width + 1));
}

/* "The two models have identical parameter counts" (section 5): but for what follows the streams.
 */
TEST(reversible_and_plain_layers_have_the_same_parameters) {
    const char *sizes = "layers=2 width=16 heads=2 positions=8 attention=full residual=";
    char reversible[128], plain[128];
    (void)snprintf(reversible, sizeof reversible, "%sreversible", sizes);
    (void)snprintf(plain, sizeof plain, "%splain", sizes);
    CHECK_EQ_INT(count_of(10, reversible) - count_of(10, plain), 2 * 16 + 10 * 16);
}

/* ---- whole models ---- */

typedef struct outcome {
    real hidden[MOST_TOKENS * 64], gradient[65536];
    int64_t values, gradients;
    int64_t peak_bytes; /* of the step, beyond what was there before */
} outcome;

/* One step of training on one row of `length` tokens from the same parameters. */
static bool train_step(const char *options, int64_t length, outcome *out) {
    model_bench bench;
    int32_t tokens[MOST_TOKENS], target[MOST_TOKENS];
    const int32_t starts[] = {1};
    bool good = bench_open(&bench, "reformer", options, 1);
    for (int64_t i = 0; i < length; ++i) {
        tokens[i] = (int32_t)(i * i + 3 * i) % BENCH_VOCABULARY;
        target[i] = (int32_t)(5 * i + i / 4) % BENCH_VOCABULARY;
    }
    for (int step = 0; step < 2 && good; ++step) { /* the first one fills the pool */
        lh_output forward;
        lh_tape_begin(bench.tape, true, 1, 0);
        lh_params_clear_gradients(bench.model->params);
        const int64_t before = lh_pool_get_stats(bench.pool).used_bytes;
        lh_pool_reset_peak(bench.pool);
        const lh_tensor *hidden = bench_forward(&bench, length, tokens, starts, true, &forward);
        if (hidden == NULL) break;
        out->values = lh_tensor_count(hidden);
        memcpy(out->hidden, lh_tensor_real(hidden), (size_t)out->values * sizeof(real));
        lh_tensor *loss = bench_loss(&bench, &forward, length, target, 1.0 / (double)length);
        good = CHECK_OK(lh_tape_backward(bench.tape, loss));
        out->peak_bytes = lh_pool_get_stats(bench.pool).peak_bytes - before;
    }
    const lh_tensor *gradients = lh_params_gradients(bench.model->params);
    out->gradients = lh_tensor_count(gradients);
    good = good && CHECK(out->gradients <= (int64_t)(sizeof out->gradient / sizeof(real)));
    if (good)
        memcpy(out->gradient, lh_tensor_real(gradients), (size_t)out->gradients * sizeof(real));
    bench_close(&bench);
    return good;
}

static double largest(const real *a, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; ++i)
        most = fmax(most, fabs((double)a[i]));
    return most;
}

/* Two sets of options compute the same values and gradients. */
static void check_same(const char *shared, const char *one, const char *other, int64_t length,
                       double tolerance) {
    static outcome a, b;
    char first[256], second[256];
    (void)snprintf(first, sizeof first, "%s %s", shared, one);
    (void)snprintf(second, sizeof second, "%s %s", shared, other);
    REQUIRE(train_step(first, length, &a) && train_step(second, length, &b));
    CHECK_EQ_INT(a.values, b.values);
    CHECK_EQ_INT(a.gradients, b.gradients);
    const double values = largest_difference(a.hidden, b.hidden, a.values);
    const double gradients = largest_difference(a.gradient, b.gradient, a.gradients);
    CHECK(largest(a.gradient, a.gradients) > 0.01);
    test_check(values < tolerance, __FILE__, __LINE__, "%s: %s is %g from %s", shared, one, values,
               other);
    test_check(gradients < tolerance * largest(a.gradient, a.gradients), __FILE__, __LINE__,
               "%s: the gradient of %s is %g from that of %s", shared, one, gradients, other);
}

#define SIZES "width=16 heads=2 hidden=24 positions=256"

TEST(one_bucket_is_full_shared_attention) {
    const char *sizes = SIZES " layers=2 residual=plain";
    check_same(sizes, "attention=shared", "attention=lsh buckets=1 chunk=100", 100, 1e-5);
    check_same(sizes, "attention=shared", "attention=lsh buckets=1 chunk=100 rounds=3", 100, 1e-5);
    check_same(sizes, "attention=shared", "attention=lsh buckets=1 chunk=500", 100, 1e-5);
    check_same(sizes, "attention=shared", "attention=lsh_chunks buckets=1 chunk=50", 100, 1e-5);
    check_same(sizes, "attention=shared", "attention=lsh_chunks buckets=16 chunk=100 rounds=3", 100,
               1e-5);
}

TEST(scores_in_memory_or_not_are_the_same) {
    check_same(SIZES " layers=2", "attention=full", "attention=dot_product", 100, 1e-5);
}

TEST(reversible_layers_compute_what_kept_activations_give) {
    const char *sizes = SIZES " layers=6 dropout=0.1 attention=lsh,local,full rounds=2 chunk=16";
    check_same(sizes, "residual=two_streams", "residual=reversible", 128, 1e-4);
    check_same(sizes, "residual=two_streams", "residual=reversible feed_forward_chunk=33", 128,
               1e-4);
}

TEST(chunked_feed_forward_computes_what_the_whole_gives) {
    const char *sizes = SIZES " layers=2 dropout=0.1 attention=shared residual=plain";
    for (int chunk = 1; chunk < 128; chunk = 3 * chunk + 4) {
        char chunked[64];
        (void)snprintf(chunked, sizeof chunked, "feed_forward_chunk=%d", chunk);
        check_same(sizes, "feed_forward_chunk=0", chunked, 128, 1e-5);
    }
}

static int64_t peak_of(const char *options, int layers) {
    static outcome out;
    char text[256];
    (void)snprintf(text, sizeof text, SIZES " layers=%d %s", layers, options);
    return train_step(text, 256, &out) ? out.peak_bytes : -1;
}

/* Section 3: exact bytes. What every layer adds is nothing, or its buckets: one integer for each
 * head, round and token. */
TEST(memory_of_reversible_layers_is_constant_in_depth) {
    const char *reversible = "attention=shared feed_forward_chunk=32";
    const int64_t two = peak_of(reversible, 2);
    CHECK(two > 0);
    CHECK_EQ_INT(peak_of(reversible, 4), two);
    CHECK_EQ_INT(peak_of(reversible, 12), two);
    const char *hashed = "attention=lsh rounds=2 chunk=32";
    const int64_t buckets = 2 * 2 * 256 * (int64_t)sizeof(int32_t);
    CHECK_EQ_INT(peak_of(hashed, 12) - peak_of(hashed, 4), 8 * buckets);
}

TEST(kept_activations_grow_with_depth_and_chunks_shrink_them) {
    const char *kept = "attention=shared residual=two_streams";
    const int64_t stream = 256 * 16 * (int64_t)sizeof(real);
    CHECK(peak_of(kept, 12) - peak_of(kept, 4) > 8 * 6 * stream);
    const char *wide = "attention=shared hidden=512";
    char chunked[64];
    (void)snprintf(chunked, sizeof chunked, "%s feed_forward_chunk=16", wide);
    CHECK(peak_of(wide, 2) > 2 * peak_of(chunked, 2));
}

/* ---- the op ---- */

enum { LENGTH = 96, HEADS = 2, HEAD = 8, ELEMENTS = LENGTH * HEADS * HEAD };

typedef struct workshop {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    real q[ELEMENTS], k[ELEMENTS], v[ELEMENTS];
} workshop;

static bool workshop_open(workshop *shop) {
    for (int i = 0; i < ELEMENTS; ++i) {
        shop->q[i] = (real)test_uniform();
        shop->k[i] = (real)test_uniform();
        shop->v[i] = (real)test_uniform();
    }
    return bench_open_tape("cpu", &shop->device, &shop->pool, &shop->tape);
}

static void workshop_close(workshop *shop) {
    lh_tape_destroy(shop->tape);
    bench_close_pool(shop->device, shop->pool);
}

static lh_tensor *head_vectors(workshop *shop, const real *values) {
    static const int64_t shape[] = {1, LENGTH, HEADS, HEAD};
    lh_tensor *x = lh_zeros(shop->tape, 4, shape);
    CHECK_OK(lh_tensor_write(x, values, ELEMENTS));
    return x;
}

/* Shared-QK attention by hashing (`seed`) or, without rounds, in full. */
static bool attend(workshop *shop, const lh_lsh *lsh, uint64_t seed, real *out) {
    lh_tape_begin(shop->tape, false, seed, 0);
    lh_tensor *q = head_vectors(shop, shop->q), *v = head_vectors(shop, shop->v);
    lh_tensor *k = lh_unit_norm(shop->tape, q, 1e-6);
    lh_attention full = LH_ATTENTION;
    full.min_distance = 1;
    full.key_count = 1;
    full.keys[0] = (lh_keys){.k = k, .v = v};
    const lh_tensor *y =
        lsh->rounds > 0 ? lh_attend_lsh(shop->tape, lsh, q, k, v) : lh_attend(shop->tape, &full, q);
    return CHECK(y != NULL) && CHECK_OK(lh_tensor_read(y, out, ELEMENTS));
}

/* The mean error against full attention over several draws of the rotations; token 0, which full
 * attention leaves without a key, is left out. */
static double error_of(workshop *shop, int64_t rounds, const real *full) {
    const lh_lsh lsh = {.rounds = rounds, .chunk = 8};
    real out[ELEMENTS];
    double sum = 0;
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        if (!attend(shop, &lsh, seed, out)) return (double)NAN;
        for (int i = HEADS * HEAD; i < ELEMENTS; ++i)
            sum += fabs((double)out[i] - (double)full[i]);
    }
    return sum / (8 * (ELEMENTS - HEADS * HEAD));
}

TEST(more_rounds_come_nearer_to_full_attention) {
    workshop shop;
    const lh_lsh none = {0};
    real full[ELEMENTS];
    REQUIRE(workshop_open(&shop));
    CHECK(attend(&shop, &none, 1, full));
    const double one = error_of(&shop, 1, full);
    double before = one;
    CHECK(before > 0.01);
    for (int64_t rounds = 2; rounds <= 256; rounds *= 2) {
        const double error = error_of(&shop, rounds, full);
        test_check(error < 0.95 * before, __FILE__, __LINE__,
                   "error %g with %lld rounds, %g before", error, (long long)rounds, before);
        before = error;
    }
    CHECK(before < 0.1 * one);
    workshop_close(&shop);
}

/* Later values change nothing, and neither does a token's own where it has something else. */
TEST(no_token_looks_ahead) {
    workshop shop;
    const lh_lsh lsh = {.rounds = 3, .chunk = 16};
    real before[ELEMENTS], after[ELEMENTS];
    REQUIRE(workshop_open(&shop));
    CHECK(attend(&shop, &lsh, 4, before));
    const int token = 60, row = HEADS * HEAD;
    for (int i = token * row; i < ELEMENTS; ++i)
        shop.v[i] += 1;
    CHECK(attend(&shop, &lsh, 4, after));
    CHECK(memcmp(before, after, (size_t)(token * row) * sizeof(real)) == 0);
    CHECK(memcmp(before + token * row, after + token * row, (size_t)row * sizeof(real)) == 0);
    CHECK(largest_difference(before, after, ELEMENTS) > 0.1);
    CHECK(memcmp(after, shop.v, (size_t)row * sizeof(real)) == 0); /* the first has only itself */
    workshop_close(&shop);
}

/* A region that hashes one thing at first and another in its second run. */
typedef struct fickle {
    lh_tensor *const *queries;
    int *runs;
} fickle;

static lh_status attend_fickle(lh_tape *tape, void *context, lh_tensor *const *inputs,
                               lh_tensor **outputs) {
    const fickle *with = context;
    const lh_lsh lsh = {.rounds = 2, .chunk = 16};
    lh_tensor *q = with->queries[(*with->runs)++];
    outputs[0] = lh_attend_lsh(tape, &lsh, q, lh_unit_norm(tape, q, 1e-6), inputs[0]);
    return outputs[0] != NULL ? LH_OK : lh_error_get()->status;
}

/* The gradient of the values when the region ran with `first` and again with `second`. Queries so
 * small that all weights of a bucket are equal leave the buckets as all that the runs can differ
 * in. */
static bool gradient_of_runs(workshop *shop, const real *first, const real *second, real *out) {
    int runs = 0;
    lh_tape_begin(shop->tape, true, 3, 0);
    lh_tensor *q[] = {lh_scale(shop->tape, head_vectors(shop, first), 1e-9),
                      lh_scale(shop->tape, head_vectors(shop, second), 1e-9)};
    lh_tensor *v = head_vectors(shop, shop->v), *y = NULL;
    const fickle with = {q, &runs};
    bool good =
        CHECK_OK(lh_tensor_require_gradient(v)) &&
        CHECK_OK(lh_checkpoint(shop->tape, attend_fickle, &with, sizeof with, &v, 1, &y, 1)) &&
        CHECK_OK(lh_tape_backward_from(shop->tape, y, head_vectors(shop, shop->k))) &&
        CHECK_EQ_INT(runs, 2) && CHECK_OK(lh_tensor_read(lh_tensor_gradient(v), out, ELEMENTS));
    lh_tensor_clear_gradient(v);
    return good;
}

TEST(a_region_that_runs_again_keeps_its_buckets) {
    workshop shop;
    real same[ELEMENTS], changed[ELEMENTS], other[ELEMENTS];
    REQUIRE(workshop_open(&shop));
    CHECK(gradient_of_runs(&shop, shop.q, shop.q, same));
    CHECK(gradient_of_runs(&shop, shop.q, shop.k, changed));
    CHECK(gradient_of_runs(&shop, shop.k, shop.k, other));
    CHECK(largest_difference(same, changed, ELEMENTS) < 1e-5);
    CHECK(largest_difference(same, other, ELEMENTS) > 0.1);
    workshop_close(&shop);
}

TEST(buckets_are_two_a_chunk_and_many_are_factored) {
    const lh_lsh lsh = {.rounds = 1, .chunk = 64};
    const lh_lsh few = lh_lsh_settle(&lsh, 4096), many = lh_lsh_settle(&lsh, 16384);
    CHECK_EQ_INT(few.factors, 1);
    CHECK_EQ_INT(few.factor[0], 128);
    CHECK_EQ_INT(many.factors, 2);
    CHECK_EQ_INT(many.factor[0], 32);
    CHECK_EQ_INT(many.factor[1], 16);
    CHECK_EQ_INT(lh_lsh_settle(&lsh, 10).factor[0], 2);
}

/* ---- options ---- */

TEST(rounds_of_evaluation_are_free) {
    const int32_t starts[] = {1};
    int32_t tokens[64];
    real hidden[3][64 * 32];
    const char *sizes = SIZES " layers=1 chunk=8";
    char text[2][128];
    (void)snprintf(text[0], sizeof text[0], "%s rounds=4", sizes);
    (void)snprintf(text[1], sizeof text[1], "%s rounds=1 eval_rounds=4", sizes);
    random_tokens(tokens, 64);
    for (int i = 0; i < 3; ++i) {
        model_bench bench;
        if (bench_open(&bench, "reformer", i < 2 ? text[i] : sizes, 1))
            (void)bench_run(&bench, tokens, 64, 64, starts, hidden[i]);
        bench_close(&bench);
    }
    CHECK(memcmp(hidden[0], hidden[1], sizeof hidden[0]) == 0);
    CHECK(memcmp(hidden[0], hidden[2], sizeof hidden[0]) != 0);
}

TEST(positions_start_from_sines_and_cosines) {
    model_bench bench;
    REQUIRE(bench_open(&bench, "reformer", SIZES, 1));
    const lh_params *params = bench.model->params;
    const real *table =
        lh_tensor_real(lh_params_get(params, lh_params_find(params, "positions.0.weight")));
    CHECK_NEAR((double)table[0], 0.0, 1e-7);
    CHECK_NEAR((double)table[1], 1.0, 1e-7);
    CHECK_NEAR((double)table[16 * 3 + 2], sin(3 * pow(10000, -2.0 / 16)), 1e-6);
    CHECK_NEAR((double)table[16 * 3 + 3], cos(3 * pow(10000, -2.0 / 16)), 1e-6);
    bench_close(&bench);
}

TEST(bad_options_are_refused) {
    lh_model *model = NULL;
    CHECK_FAILS(create_model("reformer", "attention=lsh,locl", &model), LH_EOPTION,
                "did you mean 'local'?");
    CHECK_FAILS(create_model("reformer", "layers=1 attention=lsh,locl", &model), LH_EOPTION,
                "2 names for 1 layers");
    CHECK_FAILS(create_model("reformer", "layers=2 attention=lsh,local,", &model), LH_EOPTION,
                "3 names for 2 layers");
    CHECK_FAILS(create_model("reformer", "buckets=3", &model), LH_EOPTION, "even numbers");
    CHECK_FAILS(create_model("reformer", "buckets=2091014,12866,48914,14018", &model), LH_EOPTION,
                "product is below 2^31");
    CHECK_FAILS(create_model("reformer", "buckets=0", &model), LH_EOPTION, "between 1 and");
    CHECK_FAILS(create_model("reformer", "positions=8,8,8,8,8", &model), LH_EOPTION, "at most 4");
    CHECK_FAILS(create_model("reformer", "positions=8,0", &model), LH_EOPTION, "between 1 and");
    CHECK_FAILS(create_model("reformer", "positions=2091014,2924258,3016804", &model), LH_EOPTION,
                "product is below 2^31");
    CHECK_FAILS(create_model("reformer", "positions=65536,32768", &model), LH_EOPTION,
                "product is below 2^31");
    CHECK_FAILS(create_model("reformer", "positions=8,8 position_widths=3,4", &model), LH_EOPTION,
                "1024 together");
    REQUIRE_OK(create_model("reformer", "width=8 positions=4,8", &model));
    CHECK_FAILS(model->class->check(model->instance, 33), LH_ESHAPE, "longer than the 32");
    CHECK_OK(model->class->check(model->instance, 32));
    lh_model_destroy(model);
}
