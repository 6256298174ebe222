/* Buckets of gradients under a communicator that writes down what it is asked for. */
#include "harness/train/buckets.h"

#include "harness/train/batch.h"
#include "tests/test.h"

/* ---- a communicator that writes down what it is asked ---- */

enum { LOG = 64 };

typedef struct journal {
    lh_communicator base; /* first */
    const real *block;
    int64_t first[LOG], count[LOG];
    int starts, progresses, finishes;
} journal;

static lh_status start(lh_communicator *ranks, lh_device *device, real *x, int64_t count) {
    (void)device;
    journal *j = (journal *)ranks;
    if (j->starts == LOG) return lh_fail(LH_ESTATE, "more buckets than the test expects");
    j->first[j->starts] = x - j->block;
    j->count[j->starts++] = count;
    return LH_OK;
}

static lh_status progress(lh_communicator *ranks) {
    ((journal *)ranks)->progresses += 1;
    return LH_OK;
}

static lh_status finish(lh_communicator *ranks, lh_device *device) {
    (void)device;
    ((journal *)ranks)->finishes += 1;
    return LH_OK;
}

/* ---- parameters of several sizes ---- */

enum { PARAMS = 7 };
static const int64_t sizes[PARAMS] = {100, 1, 17, 64, 16, 300, 3};

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
    lh_params *params;
    journal ranks;
    lh_buckets buckets;
} bench;

static bool open_bench(bench *b, int64_t least) {
    *b = (bench){.ranks.base = {.size = 2, .start = start, .progress = progress, .finish = finish}};
    bool good = CHECK_OK(lh_pool_open_device("cpu", &b->device)) &&
                CHECK_OK(lh_pool_create(b->device, &b->pool)) &&
                CHECK_OK(lh_params_create(&b->params));
    for (int i = 0; good && i < PARAMS; ++i)
        good = lh_params_declare(b->params, (lh_init){0}, 1, &sizes[i], "p%d", i) == i;
    good = good && CHECK_OK(lh_params_allocate(b->params, b->pool)) &&
           CHECK_OK(lh_buckets_init(b->params, &b->ranks.base, least, &b->buckets));
    if (good) b->ranks.block = lh_tensor_real(lh_params_gradients(b->params));
    return good;
}

static void close_bench(bench *b) {
    lh_buckets_clear(&b->buckets);
    lh_params_destroy(b->params);
    lh_pool_destroy(b->pool);
    lh_device_close(b->device);
}

/* Tells the buckets that parameter `index` is complete, as the tape does. */
static void tell(bench *b, int index) {
    lh_tensor view = *lh_params_gradients(b->params);
    view.offset = lh_params_get(b->params, index)->offset;
    CHECK_OK(lh_buckets_watch(&b->buckets, &view));
}

TEST(the_plan_covers_the_block_once_from_its_end) {
    for (int64_t least = 1; least < 800; least += 7) {
        bench b;
        REQUIRE(open_bench(&b, least));
        int64_t end = lh_tensor_count(lh_params_gradients(b.params));
        int parameters = 0;
        for (int i = 0; i < b.buckets.count; ++i) {
            const lh_bucket *bucket = &b.buckets.bucket[i];
            CHECK_EQ_INT(bucket->first + bucket->count, end);
            CHECK(bucket->count >= least || i == b.buckets.count - 1);
            CHECK(bucket->parameters > 0);
            bool between = false;
            for (int p = 0; p < PARAMS; ++p)
                between = between || lh_params_get(b.params, p)->offset == bucket->first;
            CHECK(between);
            end = bucket->first;
            parameters += bucket->parameters;
        }
        CHECK_EQ_INT(end, 0);
        CHECK_EQ_INT(parameters, PARAMS);
        close_bench(&b);
    }
}

/* 320 elements hold the last two parameters with their padding, 200 the three and two before. */
TEST(a_bucket_starts_when_its_last_parameter_is_complete) {
    bench b;
    REQUIRE(open_bench(&b, 112));
    CHECK_EQ_INT(b.buckets.count, 3);
    for (int step = 1; step <= 2; ++step) {
        b.ranks.starts = 0;
        lh_buckets_begin(&b.buckets);
        tell(&b, 6);
        CHECK_OK(lh_buckets_watch(&b.buckets, NULL));
        CHECK_EQ_INT(b.ranks.starts, 0);
        tell(&b, 5);
        CHECK_EQ_INT(b.ranks.starts, 1);
        CHECK_EQ_INT(b.ranks.first[0], lh_params_get(b.params, 5)->offset);
        CHECK_EQ_INT(b.ranks.progresses, 3 * step - 3);
        CHECK_OK(lh_buckets_watch(&b.buckets, NULL));
        CHECK_EQ_INT(b.ranks.progresses, 3 * step - 2);
        b.ranks.progresses += 2;
        for (int i = 4; i > 0; --i)
            tell(&b, i);
        CHECK_EQ_INT(b.ranks.starts, 2);
        tell(&b, 0);
        CHECK_EQ_INT(b.ranks.starts, 3);
        CHECK_OK(lh_buckets_finish(&b.buckets));
        CHECK_EQ_INT(b.ranks.starts, 3);
        CHECK_EQ_INT(b.ranks.finishes, step);
    }
    close_bench(&b);
}

/* This rank's part of the mean; what the others add comes with the sum. */
TEST(statistics_are_weighed_by_rows) {
    bench b;
    REQUIRE(open_bench(&b, 1));
    lh_params_mark_statistic(b.params); /* the last one */
    real *x = lh_tensor_real(lh_params_get(b.params, PARAMS - 1));
    for (int i = 0; i < 3; ++i)
        x[i] = (real)(i + 1);
    b.ranks.block = x;
    CHECK_OK(
        lh_buckets_average_statistics(&b.buckets, (lh_share){.first = 5, .count = 3, .all = 8}));
    CHECK_EQ_INT(b.ranks.starts, 1);
    CHECK_EQ_INT(b.ranks.finishes, 1);
    CHECK_EQ_INT(b.ranks.first[0], 0);
    CHECK_EQ_INT(b.ranks.count[0], 3);
    for (int i = 0; i < 3; ++i)
        CHECK_NEAR((double)x[i], 0.375 * (i + 1), 0);
    CHECK_OK(
        lh_buckets_average_statistics(&b.buckets, (lh_share){.first = 8, .count = 0, .all = 8}));
    CHECK_NEAR((double)x[2], 0, 0);
    close_bench(&b);
}

/* Ranks must start the same buckets in the same order, whatever is complete first. */
TEST(buckets_start_in_their_order) {
    static const int orders[][PARAMS] = {{0, 1, 2, 3, 4, 5, 6}, {3, 6, 1, 0, 5, 2, 4}};
    for (int k = 0; k < 2; ++k) {
        bench b;
        REQUIRE(open_bench(&b, 1));
        CHECK_EQ_INT(b.buckets.count, PARAMS);
        lh_buckets_begin(&b.buckets);
        for (int i = 0; i < PARAMS; ++i)
            tell(&b, orders[k][i]);
        CHECK_OK(lh_buckets_finish(&b.buckets));
        CHECK_EQ_INT(b.ranks.starts, PARAMS);
        for (int i = 0; i < PARAMS; ++i)
            CHECK_EQ_INT(b.ranks.first[i], lh_params_get(b.params, PARAMS - 1 - i)->offset);
        close_bench(&b);
    }
}

TEST(what_nobody_told_of_is_summed_at_the_end) {
    bench b;
    REQUIRE(open_bench(&b, 1));
    lh_buckets_begin(&b.buckets);
    for (int i = PARAMS - 1; i >= 0; --i) {
        if (i != 4) tell(&b, i);
    }
    CHECK_EQ_INT(b.ranks.starts, 2);
    CHECK_OK(lh_buckets_finish(&b.buckets));
    CHECK_EQ_INT(b.ranks.starts, PARAMS);
    int64_t elements = 0;
    for (int i = 0; i < b.ranks.starts; ++i)
        elements += b.ranks.count[i];
    CHECK_EQ_INT(elements, lh_tensor_count(lh_params_gradients(b.params)));
    close_bench(&b);
}

/* ---- shares of a batch ---- */

TEST(shares_cover_the_rows) {
    for (int64_t all = 1; all < 20; ++all) {
        for (int size = 1; size <= 5; ++size) {
            int64_t next = 0;
            for (int rank = 0; rank < size; ++rank) {
                const lh_communicator ranks = {.rank = rank, .size = size};
                const lh_share share = lh_share_of(&ranks, all);
                CHECK_EQ_INT(share.first, next);
                CHECK(share.count >= all / size && share.count <= all / size + 1);
                CHECK_EQ_INT(share.all, all);
                next = share.first + share.count;
            }
            CHECK_EQ_INT(next, all);
        }
    }
    const lh_share alone = lh_share_of(NULL, 7);
    CHECK(alone.first == 0 && alone.count == 7 && alone.all == 7);
}

/* Rows 1 and 2 of three, of every array that a batch may have. */
TEST(rows_of_a_batch) {
    int32_t integers[64];
    real reals[64];
    const lh_model_setup tokens = {.vocabulary = 5};
    const lh_model_setup setup = {.vocabulary = 5, .input_features = 3, .output_features = 2};
    const lh_host_batch host = {.rows = 3,
                                .length = 4,
                                .source_length = 5,
                                .target_length = 6,
                                .tokens = integers,
                                .source_tokens = integers,
                                .source_count = integers,
                                .target = integers,
                                .starts = integers,
                                .vectors = reals,
                                .target_vectors = reals,
                                .weights = reals,
                                .predicted_bytes = 9};
    lh_host_batch part = lh_host_batch_rows(&setup, &host, (lh_share){1, 2, 3});
    CHECK(part.rows == 2 && part.length == 4 && part.source_length == 5 && part.target_length == 6);
    CHECK_EQ_INT(part.tokens - integers, 4);
    CHECK_EQ_INT(part.source_tokens - integers, 5);
    CHECK_EQ_INT(part.source_count - integers, 1);
    CHECK_EQ_INT(part.target - integers, 4);
    CHECK_EQ_INT(part.starts - integers, 1);
    CHECK_EQ_INT(part.vectors - reals, 12);
    CHECK_EQ_INT(part.target_vectors - reals, 12);
    CHECK_EQ_INT(part.weights - reals, 12);
    part = lh_host_batch_rows(&tokens, &host, (lh_share){1, 2, 3});
    CHECK_EQ_INT(part.weights - reals, 4);
    const lh_host_batch none = {.rows = 3, .length = 4};
    part = lh_host_batch_rows(&setup, &none, (lh_share){1, 2, 3});
    CHECK(part.tokens == NULL && part.vectors == NULL && part.weights == NULL);
}
