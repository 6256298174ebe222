/* Times of LSH attention, of its sorting, and of full attention on the same random vectors. */
#include "harness/bench/lsh_rate.h"

#include <math.h>
#include <string.h>

#include "harness/engine/clock.h"
#include "harness/ops/op.h"

enum { REPEATS = 5, ORDER_REPEATS = 40, HEAD_WIDTH = 64 };

static void keep_best(double *best, double begin) {
    const double taken = lh_clock_seconds() - begin;
    if (*best == 0 || taken < *best) *best = taken;
}

/* [1][length][1][HEAD_WIDTH], from a stream of its own. */
static lh_tensor *random_vectors(lh_tape *tape, int64_t length) {
    const int64_t shape[] = {1, length, 1, HEAD_WIDTH};
    lh_tensor *key = lh_tape_random_key(tape), *x = lh_tape_new(tape, LH_REAL, 4, shape);
    if (key == NULL || x == NULL) return NULL;
    const lh_normal_args args = {
        .count = lh_tensor_count(x), .key = lh_tensor_random_key(key), .x = lh_tensor_real(x)};
    return LH_RUN(lh_tape_pool(tape), normal, &args) == LH_OK ? x : NULL;
}

static lh_tensor *attend(lh_tape *tape, const lh_lsh *lsh, lh_tensor *q, lh_tensor *v) {
    lh_tensor *k = lh_unit_norm(tape, q, 1e-6);
    if (lsh != NULL) return lh_attend_lsh(tape, lsh, q, k, v);
    lh_attention full = LH_ATTENTION;
    full.min_distance = 1;
    full.key_count = 1;
    full.keys[0] = (lh_keys){.k = k, .v = v};
    return lh_attend(tape, &full, q);
}

/* One pass of one kind; lsh NULL: full attention. */
static lh_status time_pass(lh_tape *tape, const lh_lsh *lsh, int64_t length, bool training,
                           double *best) {
    lh_tape_begin(tape, training, 1, 0);
    lh_tensor *q = random_vectors(tape, length), *v = random_vectors(tape, length);
    lh_tensor *cotangent = random_vectors(tape, length);
    if (q == NULL || v == NULL || cotangent == NULL) return lh_failed();
    if (training) {
        LH_TRY(lh_tensor_require_gradient(q));
        LH_TRY(lh_tensor_require_gradient(v));
    }
    const double begin = lh_clock_seconds();
    lh_tensor *y = attend(tape, lsh, q, v);
    if (training) LH_TRY(lh_tape_backward_from(tape, y, cotangent));
    keep_best(best, begin);
    return y != NULL ? LH_OK : lh_failed();
}

/* Where tokens stand in sorted order. */
typedef struct tables {
    lh_tensor *order, *slot, *first;
} tables;

static lh_status sort(lh_tape *tape, const lh_lsh *lsh, int64_t length, int64_t buckets,
                      const int32_t *bucket_of, double *best, tables *out) {
    const int64_t shape[] = {1, length};
    lh_tensor *bucket = lh_integers(tape, 2, shape, bucket_of);
    *out = (tables){lh_tape_new(tape, LH_I32, 2, shape), lh_tape_new(tape, LH_I32, 2, shape),
                    lh_tape_new(tape, LH_I32, 2, shape)};
    if (bucket == NULL || out->order == NULL || out->slot == NULL || out->first == NULL)
        return lh_failed();
    const lh_lsh_sort_args args = {.rows = 1,
                                   .length = length,
                                   .buckets = buckets,
                                   .chunk = lsh->chunk,
                                   .bucket = lh_tensor_integer(bucket),
                                   .order = lh_tensor_integer(out->order),
                                   .slot = lh_tensor_integer(out->slot),
                                   .first = lh_tensor_integer(out->first)};
    const double begin = lh_clock_seconds();
    LH_TRY(LH_RUN_W(lh_tape_pool(tape), lsh_sort, &args));
    keep_best(best, begin);
    return LH_OK;
}

/* Random buckets, and the same in ascending order. */
static lh_status sort_both(lh_tape *tape, const lh_lsh *lsh, int64_t length, double *best,
                           tables *mixed, tables *ordered) {
    const lh_lsh settled = lh_lsh_settle(lsh, length);
    const int64_t buckets = lh_lsh_buckets(settled.factors, settled.factor);
    int32_t *bucket = lh_tape_scratch(tape, (size_t)length * sizeof *bucket);
    int32_t *count = lh_tape_scratch(tape, (size_t)buckets * sizeof *count);
    if (bucket == NULL || count == NULL) return LH_EMEMORY;
    memset(count, 0, (size_t)buckets * sizeof *count);
    const lh_random_key key = {.seed = 7, .stream = LH_STREAM_DATA};
    for (int64_t i = 0; i < length; ++i) {
        bucket[i] = (int32_t)(lh_random_word(key, (uint64_t)i) % (uint32_t)buckets);
        count[bucket[i]] += 1;
    }
    LH_TRY(sort(tape, lsh, length, buckets, bucket, best, mixed));
    for (int64_t b = 0, i = 0; b < buckets; ++b)
        for (; count[b] > 0; --count[b])
            bucket[i++] = (int32_t)b;
    double again = 0;
    return sort(tape, lsh, length, buckets, bucket, &again, ordered);
}

/* The attention kernel over tokens that stand so. */
static lh_status time_attention(lh_tape *tape, int64_t chunk, lh_tensor *const x[4], lh_tensor *lse,
                                const tables *t, double *best) {
    const lh_lsh_attention_forward_args args = {.spec = {.batch = 1,
                                                         .heads = 1,
                                                         .length = x[0]->shape[1],
                                                         .head_width = HEAD_WIDTH,
                                                         .rounds = 1,
                                                         .chunk = chunk,
                                                         .order = lh_tensor_integer(t->order),
                                                         .slot = lh_tensor_integer(t->slot),
                                                         .first = lh_tensor_integer(t->first)},
                                                .q = lh_heads_of(x[0]),
                                                .k = lh_heads_of(x[1]),
                                                .v = lh_heads_of(x[2]),
                                                .out = lh_heads_of(x[3]),
                                                .lse = lh_tensor_real(lse)};
    const double begin = lh_clock_seconds();
    LH_TRY(LH_RUN_W(lh_tape_pool(tape), lsh_attention_forward, &args));
    keep_best(best, begin);
    return LH_OK;
}

/* Sorting, and what attention takes longer where the tokens of a bucket lie scattered than where
 * they lie side by side: the difference is all that bringing them into order costs, which no timer
 * around copies would show, since processor and memory work at the same time. */
static lh_status time_order(lh_tape *tape, const lh_lsh *lsh, int64_t length, double *order) {
    double sorting = 0, scattered = 0, together = 0;
    tables mixed, ordered;
    lh_tensor *x[4];
    LH_TRY(sort_both(tape, lsh, length, &sorting, &mixed, &ordered));
    for (int i = 0; i < 4; ++i) {
        x[i] = random_vectors(tape, length);
        if (x[i] == NULL) return lh_failed();
    }
    lh_tensor *lse = lh_tape_new(tape, LH_REAL, 1, &length);
    if (lse == NULL) return lh_failed();
    for (int i = 0; i < ORDER_REPEATS; ++i) {
        LH_TRY(time_attention(tape, lsh->chunk, x, lse, &mixed, &scattered));
        LH_TRY(time_attention(tape, lsh->chunk, x, lse, &ordered, &together));
    }
    *order = sorting + fmax(0, scattered - together);
    return LH_OK;
}

static lh_status measure(lh_tape *tape, const lh_lsh *lsh, int64_t length, lh_lsh_rate *out) {
    *out = (lh_lsh_rate){0};
    for (int i = 0; i < REPEATS; ++i) {
        LH_TRY(time_pass(tape, NULL, length, false, &out->full));
        LH_TRY(time_pass(tape, lsh, length, false, &out->lsh));
        LH_TRY(time_pass(tape, NULL, length, true, &out->full_training));
        LH_TRY(time_pass(tape, lsh, length, true, &out->lsh_training));
    }
    lh_tape_begin(tape, false, 1, 0);
    return time_order(tape, lsh, length, &out->order);
}

lh_status lh_lsh_measure(int64_t length, int64_t rounds, int64_t chunk, lh_lsh_rate *out) {
    const lh_lsh lsh = {.rounds = rounds, .chunk = chunk};
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_tape *tape = NULL;
    LH_TRY(lh_pool_open_device("cpu", &device));
    lh_status status = lh_pool_create(device, &pool);
    if (status == LH_OK) status = lh_tape_create(pool, &tape);
    if (status == LH_OK) status = measure(tape, &lsh, length, out);
    lh_tape_destroy(tape);
    lh_pool_destroy(pool);
    lh_device_close(device);
    return status;
}
