/* Gradients of every kind of attention, against differences. */
#include "tests/gradients/gradient_check.h"
#include "tests/test.h"

enum { BATCH = 2, HEADS = 2, QUERIES = 6, WIDTH = 3, PAST = 4, EXTRA = 2, BUCKETS = 3, SPAN = 8 };

/* Leaves: q, k, v, past k, past v, extra k, extra v, head scale, bias; then the bucket table. */
enum { Q, K, V, PAST_K, PAST_V, EXTRA_K, EXTRA_V, SCALE, BIAS, BUCKET_OF };

static bool open_leaves(check_bench *b) {
    if (!check_open(b)) return false;
    for (int i = 0; i < 3; ++i)
        LEAF(b, BATCH, QUERIES, HEADS, WIDTH);
    for (int i = 0; i < 2; ++i)
        LEAF(b, BATCH, PAST, HEADS, WIDTH);
    for (int i = 0; i < 2; ++i)
        LEAF(b, BATCH, EXTRA, HEADS, WIDTH);
    LEAF(b, HEADS);
    LEAF(b, HEADS, BUCKETS);
    int32_t bucket_of[SPAN];
    for (int i = 0; i < SPAN; ++i)
        bucket_of[i] = i < 2 ? i : 2;
    return check_integers(b, SPAN, bucket_of) != NULL;
}

static lh_tensor *run(check_bench *b, void *context) {
    lh_attention attention = *(const lh_attention *)context;
    lh_tensor **x = b->input;
    attention.keys[0] = (lh_keys){.k = x[PAST_K], .v = x[PAST_V], .first = -PAST};
    attention.keys[1] = (lh_keys){.k = x[K], .v = x[V]};
    attention.keys[2] = (lh_keys){.k = x[EXTRA_K], .v = x[EXTRA_V], .everywhere = true};
    if (attention.key_count == 0) attention.key_count = 3;
    attention.head_scale = x[SCALE];
    attention.bias = x[BIAS];
    attention.bucket_of = x[BUCKET_OF];
    return lh_attend(b->tape, &attention, x[Q]);
}

static void check_attention(lh_attention attention) {
    check_bench b;
    REQUIRE(open_leaves(&b));
    CHECK_NEAR(check_gradients(&b, run, &attention), 0.0, 1e-6);
    check_close(&b);
}

TEST(everything_visible) {
    lh_attention attention = LH_ATTENTION;
    attention.bucket_first = -3;
    check_attention(attention);
}

TEST(causal_window_with_cache) {
    lh_attention attention = LH_ATTENTION;
    attention.min_distance = 1;
    attention.max_distance = 4;
    attention.scale = 0.6;
    check_attention(attention);
    attention.key_count = 2;
    check_attention(attention);
}

TEST(chunks) {
    lh_attention attention = LH_ATTENTION;
    attention.min_distance = 0;
    attention.chunk = 3;
    attention.chunks_back = 1;
    check_attention(attention);
}

TEST(dropout_with_and_without_period) {
    lh_attention attention = LH_ATTENTION;
    attention.min_distance = 0;
    attention.max_distance = 4;
    attention.dropout = 0.3;
    check_attention(attention);
    attention.dropout_period = 4;
    check_attention(attention);
}

/* The recurrent cell's calls: slices of one tensor as queries, keys and values. */
static lh_tensor *run_slices(check_bench *b, void *context) {
    (void)context;
    lh_tensor **x = b->input;
    lh_tensor *outs[2];
    for (int i = 0; i < 2; ++i) {
        lh_attention attention = LH_ATTENTION;
        attention.keys[0] = (lh_keys){.k = lh_slice(b->tape, x[K], 1, 2 * i, 4),
                                      .v = lh_slice(b->tape, x[V], 1, 2 * i, 4),
                                      .everywhere = true};
        attention.key_count = 1;
        outs[i] = lh_attend(b->tape, &attention, lh_slice(b->tape, x[Q], 1, 3 * i, 3));
    }
    lh_attention whole = LH_ATTENTION;
    whole.keys[0] = (lh_keys){.k = x[K], .v = x[V]};
    whole.key_count = 1;
    lh_tensor *pieces = lh_concat(b->tape, 1, outs, 2);
    return lh_add(b->tape, pieces, lh_attend(b->tape, &whole, x[Q]));
}

TEST(slices_of_shared_keys) {
    check_bench b;
    REQUIRE(open_leaves(&b));
    CHECK_NEAR(check_gradients(&b, run_slices, NULL), 0.0, 1e-6);
    check_close(&b);
}

/* The choice of queries is no function to differentiate: none is near another at these inputs. */
static lh_tensor *run_prob(check_bench *b, void *context) {
    const lh_prob prob = {.scale = 0.5, .causal = *(const bool *)context, .samples = 4, .top = 3};
    lh_tensor *chosen = NULL;
    return lh_attend_prob(b->tape, &prob, b->input[0], b->input[1], b->input[2], &chosen);
}

TEST(prob_sparse) {
    for (int causal = 0; causal < 2; ++causal) {
        bool flag = causal == 1;
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, 2, 7, 2, 3);
        LEAF(&b, 2, 7, 2, 3);
        LEAF(&b, 2, 7, 2, 3);
        CHECK_NEAR(check_gradients(&b, run_prob, &flag), 0.0, 1e-6);
        check_close(&b);
    }
}

/* One tensor in all places: each contributes to the one gradient. The order of the buckets is no
 * function to differentiate, so that the hashed attention sees every earlier token. */
typedef enum shared_op { PLAIN, PROB, LSH, SHARED_OPS } shared_op;

static lh_tensor *run_shared(check_bench *b, void *context) {
    const lh_lsh lsh = {.rounds = 1, .chunk = 16, .any_bucket = true};
    const lh_prob prob = {.scale = 0.5, .samples = 4, .top = 3};
    lh_tensor *x = b->input[0], *chosen = NULL;
    lh_attention attention = LH_ATTENTION;
    attention.keys[attention.key_count++] = (lh_keys){.k = x, .v = x};
    switch (*(const shared_op *)context) {
    case PROB:
        return lh_attend_prob(b->tape, &prob, x, x, x, &chosen);
    case LSH:
        return lh_attend_lsh(b->tape, &lsh, x, x, x);
    case PLAIN:
    case SHARED_OPS:
        break;
    }
    return lh_attend(b->tape, &attention, x);
}

static void check_shared(shared_op op, int64_t tokens) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 1, tokens, 2, 3);
    CHECK_NEAR(check_gradients(&b, run_shared, &op), 0.0, 1e-6);
    check_close(&b);
}

TEST(queries_keys_and_values_of_one_tensor) {
    for (int op = 0; op < SHARED_OPS; ++op)
        check_shared((shared_op)op, 7);
    check_shared(PLAIN, 600); /* cut into ranges, whose sums are joined */
}

/* As recurrent GPT-2 pools a window: one query, keys that are the values, too. */
static lh_tensor *run_pooling(check_bench *b, void *context) {
    lh_attention attention = LH_ATTENTION;
    (void)context;
    attention.keys[attention.key_count++] =
        (lh_keys){.k = b->input[1], .v = b->input[1], .everywhere = true};
    return lh_attend(b->tape, &attention, b->input[0]);
}

TEST(values_that_are_the_keys) {
    static const int64_t queries[] = {1, 600};
    for (int i = 0; i < 2; ++i) {
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, BATCH, queries[i], 1, WIDTH);
        LEAF(&b, BATCH, 5, 1, WIDTH);
        CHECK_NEAR(check_gradients(&b, run_pooling, NULL), 0.0, 1e-6);
        check_close(&b);
    }
}

static lh_tensor *run_nearest(check_bench *b, void *context) {
    (void)context;
    lh_tensor **x = b->input;
    return lh_attend_knn(b->tape, x[0], x[1], x[2], x[4], x[3], 3);
}

TEST(nearest_neighbours) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, BATCH, QUERIES, HEADS, WIDTH);
    for (int i = 1; i < 3; ++i) {
        lh_tensor *leaf = LEAF(&b, BATCH, 7, HEADS * WIDTH);
        b.input[i] = lh_tensor_detached(leaf); /* the memory is not differentiable */
        lh_tensor_release(leaf);
    }
    LEAF(&b, HEADS);
    check_integers(&b, BATCH, (const int32_t[]){5, 9});
    CHECK_NEAR(check_gradients(&b, run_nearest, NULL), 0.0, 1e-6);
    check_close(&b);
}
