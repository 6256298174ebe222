/* What a step's tape counts and draws, and ops by hand that gradient checks cannot tell from
 * others. */
#include "harness/engine/ops.h"
#include "harness/engine/record.h"

#include "tests/test.h"

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
} bench;

static bool bench_begin(bench *b) {
    *b = (bench){0};
    return CHECK_OK(lh_device_open("cpu", &b->device)) &&
           CHECK_OK(lh_pool_create(b->device, &b->pool)) &&
           CHECK_OK(lh_tape_create(b->pool, &b->tape));
}

static void bench_end(bench *b) {
    lh_tape_destroy(b->tape);
    if (b->pool != NULL) CHECK_EQ_INT(lh_pool_get_stats(b->pool).used_bytes, 0);
    lh_pool_destroy(b->pool);
    lh_device_close(b->device);
}

/* Which of 64 ones a dropout of one half keeps. */
static uint64_t mask_of(lh_tape *tape) {
    lh_tensor *ones = lh_filled(tape, 2, (const int64_t[]){64, 1}, 1.0);
    const lh_tensor *kept = ones != NULL ? lh_dropout(tape, ones, 0.5, 0) : NULL;
    uint64_t bits = 0;
    for (int i = 0; kept != NULL && i < 64; ++i)
        bits |= (uint64_t)(lh_tensor_real(kept)[i] > 0) << i;
    return bits;
}

TEST(every_dropout_of_a_step_draws_by_itself) {
    bench b;
    uint64_t mask[2][3];
    REQUIRE(bench_begin(&b));
    for (int run = 0; run < 2; ++run) {
        lh_tape_begin(b.tape, true, 7, 3);
        for (int i = 0; i < 3; ++i)
            mask[run][i] = mask_of(b.tape);
    }
    CHECK(mask[0][0] != mask[0][1] && mask[0][0] != mask[0][2] && mask[0][1] != mask[0][2]);
    CHECK(memcmp(mask[0], mask[1], sizeof mask[0]) == 0); /* the step's own numbers */
    lh_tape_begin(b.tape, true, 7, 4);
    CHECK(mask_of(b.tape) != mask[0][0]);
    lh_tape_begin(b.tape, true, 8, 3);
    CHECK(mask_of(b.tape) != mask[0][0]);
    bench_end(&b);
}

/* Rows of several processes draw what one process would draw for them. */
TEST(rows_draw_by_their_place_among_all) {
    enum { ROWS = 4, WIDTH = 32 };
    bench b;
    real whole[ROWS * WIDTH];
    REQUIRE(bench_begin(&b));
    for (int64_t first = -1; first < ROWS; ++first) {
        const int64_t rows = first < 0 ? ROWS : 1, shape[] = {rows, 1, WIDTH};
        lh_tape_set_rows(b.tape, first < 0 ? 0 : first, rows);
        lh_tape_begin(b.tape, true, 5, 1);
        lh_tensor *ones = lh_filled(b.tape, 3, shape, 1.0);
        const lh_tensor *kept = lh_dropout(b.tape, ones, 0.5, 0);
        REQUIRE(kept != NULL);
        if (first < 0) {
            memcpy(whole, lh_tensor_real(kept), sizeof whole);
        } else {
            CHECK(memcmp(whole + first * WIDTH, lh_tensor_real(kept), WIDTH * sizeof *whole) == 0);
        }
    }
    bench_end(&b);
}

static lh_status square(lh_tape *tape, void *context, lh_tensor *const *inputs,
                        lh_tensor **outputs) {
    (void)context;
    outputs[0] = lh_matmul(tape, inputs[0], inputs[0], false, false);
    return outputs[0] != NULL ? LH_OK : lh_error_get()->status;
}

/* 4 x 4 x 4 multiplications and additions, once: neither the second run of a checkpoint nor
 * backward is counted. */
TEST(flops_are_those_of_the_forward_pass) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *x = lh_filled(b.tape, 2, (const int64_t[]){4, 4}, 0.5), *y = NULL;
    REQUIRE(x != NULL);
    lh_tensor *leaf = lh_tape_leaf(b.tape, x, true);
    const char unused = 0;
    REQUIRE_OK(lh_checkpoint(b.tape, square, &unused, 1, &leaf, 1, &y, 1));
    lh_tensor *sum = lh_sum_all(b.tape, y);
    CHECK_NEAR(lh_tape_flops(b.tape), 128, 0);
    CHECK_OK(lh_tape_backward(b.tape, sum));
    CHECK_NEAR(lh_tape_flops(b.tape), 128, 0);
    bench_end(&b);
}

TEST(means_and_sums) {
    static const real values[] = {1, 2, 3, 4, 5, 9};
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *x = lh_reals(b.tape, 2, (const int64_t[]){2, 3}, values);
    const lh_tensor *columns = lh_mean(b.tape, x, 0), *rows = lh_mean(b.tape, x, 1);
    const lh_tensor *sums = lh_sum(b.tape, x, 1), *all = lh_sum_all(b.tape, x);
    REQUIRE(columns != NULL && rows != NULL && sums != NULL && all != NULL);
    CHECK_NEAR(lh_tensor_real(columns)[0], 2.5, 0);
    CHECK_NEAR(lh_tensor_real(columns)[2], 6, 0);
    CHECK_NEAR(lh_tensor_real(rows)[0], 2, 0);
    CHECK_NEAR(lh_tensor_real(rows)[1], 6, 0);
    CHECK_NEAR(lh_tensor_real(sums)[1], 18, 0);
    CHECK_NEAR(lh_tensor_real(all)[0], 24, 0);
    bench_end(&b);
}

/* Of 0 1 2 3 4 5 the slice 2 3 4 5, of that 3 4. */
TEST(a_slice_of_a_slice_gives_back_to_its_own_place) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *x = lh_tape_leaf(b.tape, lh_filled(b.tape, 1, (const int64_t[]){6}, 1.0), true);
    lh_tensor *part = lh_slice(b.tape, lh_slice(b.tape, x, 0, 2, 4), 0, 1, 2);
    REQUIRE(part != NULL);
    REQUIRE_OK(lh_tape_backward(b.tape, lh_sum_all(b.tape, part)));
    REQUIRE(lh_tensor_gradient(x) != NULL);
    for (int i = 0; i < 6; ++i)
        CHECK_NEAR(lh_tensor_real(lh_tensor_gradient(x))[i], i == 3 || i == 4, 0);
    bench_end(&b);
}

static lh_status thinned(lh_tape *tape, void *context, lh_tensor *const *inputs,
                         lh_tensor **outputs) {
    (void)context;
    outputs[0] = lh_dropout(tape, inputs[0], 0.5, 0);
    return outputs[0] != NULL ? LH_OK : lh_error_get()->status;
}

/* Backward runs a region again with the numbers it had, and leaves those of the step alone. */
TEST(what_is_drawn_after_a_checkpoint_runs_again_is_new) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 7, 3);
    lh_tensor *x = lh_tape_leaf(b.tape, lh_filled(b.tape, 2, (const int64_t[]){64, 1}, 1.0), true);
    lh_tensor *y = NULL;
    const char unused = 0;
    REQUIRE_OK(lh_checkpoint(b.tape, thinned, &unused, 1, &x, 1, &y, 1));
    const uint64_t before = mask_of(b.tape);
    REQUIRE_OK(lh_tape_backward(b.tape, lh_sum_all(b.tape, y)));
    CHECK(mask_of(b.tape) != before);
    bench_end(&b);
}

TEST(calls_to_the_device_s_allocator_are_counted) {
    static const int64_t large[] = {1 << 20};
    bench b;
    lh_tensor *x = NULL;
    REQUIRE(bench_begin(&b));
    const int64_t before = lh_pool_get_stats(b.pool).device_allocations;
    for (int i = 0; i < 2; ++i) { /* the second has the first one's memory */
        REQUIRE_OK(lh_tensor_create(b.pool, LH_REAL, 1, large, &x));
        CHECK_EQ_INT(lh_pool_get_stats(b.pool).device_allocations, before + 1);
        lh_tensor_release(x);
    }
    bench_end(&b);
}
