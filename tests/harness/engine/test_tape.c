/* What a step's tape counts and draws, and ops by hand that gradient checks cannot tell from
 * others. */
#include "harness/engine/record.h"
#include "harness/ops/ops.h"

#include "tests/tape_bench.h"
#include "tests/test.h"

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
} bench;

static bool bench_begin(bench *b) {
    *b = (bench){0};
    return bench_open_tape("cpu", &b->device, &b->pool, &b->tape);
}

static void bench_end(bench *b) {
    lh_tape_destroy(b->tape);
    bench_close_pool(b->device, b->pool);
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

TEST(flops_that_all_rows_share_are_not_counted) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *x = lh_filled(b.tape, 2, (const int64_t[]){4, 4}, 0.5);
    REQUIRE(x != NULL);
    lh_tape_pause_flops(b.tape);
    CHECK(lh_matmul(b.tape, x, x, false, false) != NULL);
    CHECK_NEAR(lh_tape_flops(b.tape), 0, 0);
    lh_tape_resume_flops(b.tape);
    CHECK(lh_matmul(b.tape, x, x, false, false) != NULL);
    CHECK_NEAR(lh_tape_flops(b.tape), 128, 0);
    lh_tape_pause_flops(b.tape);
    lh_tape_begin(b.tape, false, 1, 0); /* counts again, as the next pass must */
    x = lh_filled(b.tape, 2, (const int64_t[]){4, 4}, 0.5);
    CHECK(lh_matmul(b.tape, x, x, false, false) != NULL);
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

/* A view of the same numbers there and back, also of a slice, which is copied first. */
TEST(heads_are_split_and_joined) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *x = lh_tape_leaf(b.tape, lh_filled(b.tape, 3, (const int64_t[]){2, 3, 8}, 1), true);
    lh_tensor *split = lh_split_heads(b.tape, x, 4), *joined = lh_join_heads(b.tape, split);
    REQUIRE(joined != NULL);
    CHECK(split->rank == 4 && split->shape[1] == 3 && split->shape[2] == 2 && split->shape[3] == 4);
    CHECK(joined->rank == 3 && joined->shape[1] == 3 && joined->shape[2] == 8);
    CHECK(lh_tensor_real(joined) == lh_tensor_real(x));
    lh_tensor *second = lh_join_heads(b.tape, lh_slice(b.tape, split, 2, 1, 1));
    REQUIRE(second != NULL && second->rank == 3 && second->shape[2] == 4);
    REQUIRE_OK(lh_tape_backward(b.tape, lh_sum_all(b.tape, second)));
    for (int i = 0; i < 2 * 3 * 8; ++i)
        CHECK_NEAR(lh_tensor_real(lh_tensor_gradient(x))[i], i % 8 >= 4, 0);
    CHECK(lh_split_heads(b.tape, NULL, 4) == NULL && lh_join_heads(b.tape, NULL) == NULL);
    CHECK(lh_split_heads(b.tape, x, 0) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "split_heads: heads of 0 in [2][3][8]");
    CHECK(lh_split_heads(b.tape, x, 3) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "reshape: [2][3][8]");
    bench_end(&b);
}

TEST(a_shape_that_is_none_is_refused) {
    static const int64_t six[] = {1, 1, 2, 3, 4, 2}, open[] = {-1, -1, -1};
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *x = lh_filled(b.tape, 3, (const int64_t[]){2, 3, 8}, 1);
    CHECK(lh_reshape(b.tape, x, 6, six) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "reshape: [2][3][8] to 6 axes");
    CHECK(lh_reshape(b.tape, x, 3, open) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "reshape: [2][3][8] to [-1][-1][48]");
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

/* ---- what ops are written with ---- */

/* y = 3 x, as an op would put it down. */
static lh_status triple_backward(lh_tape *tape, lh_node *node) {
    real *to = NULL;
    lh_write write = LH_SET;
    (void)tape;
    const real *from = lh_gradient_read_real(node->output[0]);
    LH_TRY(lh_gradient_write_real(node->input[0], &to, &write));
    for (int i = 0; i < 4; ++i)
        to[i] = (write == LH_ADD ? to[i] : LH_R(0)) + LH_R(3) * from[i];
    return LH_OK;
}

static lh_tensor *triple(lh_tape *tape, lh_tensor *x) {
    lh_tensor *y = lh_tape_new_like(tape, x);
    if (y == NULL) return NULL;
    for (int i = 0; i < 4; ++i)
        lh_tensor_real(y)[i] = LH_R(3) * lh_tensor_real(x)[i];
    const lh_record record = {.op = "triple",
                              .backward = triple_backward,
                              .input = &x,
                              .input_count = 1,
                              .output = &y,
                              .output_count = 1};
    return lh_tape_record(tape, &record) == LH_OK ? y : NULL;
}

static lh_tensor *four(lh_tape *tape, bool differentiate) {
    const int64_t shape[] = {4};
    lh_tensor *x = lh_tape_new(tape, LH_REAL, 1, shape);
    for (int i = 0; x != NULL && i < 4; ++i)
        lh_tensor_real(x)[i] = LH_R(i + 1);
    if (x != NULL && differentiate) CHECK_OK(lh_tensor_require_gradient(x));
    return x;
}

TEST(an_op_is_recorded_where_an_input_wants_a_gradient) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    CHECK(lh_tape_pool(b.tape) == b.pool && lh_tape_device(b.tape) == b.device);
    lh_tensor *plain = four(b.tape, false), *x = four(b.tape, true);
    REQUIRE(plain != NULL && x != NULL);
    lh_tensor *const both[] = {plain, NULL, x};
    CHECK(!lh_tape_wants(b.tape, both, 2) && lh_tape_wants(b.tape, both, 3));
    CHECK(lh_tape_is_recording(b.tape));
    lh_tensor *y = triple(b.tape, triple(b.tape, x));
    REQUIRE(y != NULL && triple(b.tape, plain) != NULL);
    CHECK(lh_tape_last(b.tape) != NULL);
    CHECK_STR(lh_tape_last(b.tape)->op, "triple");
    CHECK(lh_tape_last(b.tape)->previous->previous == NULL); /* that of `plain` is none */
    CHECK_OK(lh_tape_backward_from(b.tape, y, four(b.tape, false)));
    for (int i = 0; i < 4; ++i)
        CHECK_NEAR(lh_tensor_real(lh_tensor_gradient(x))[i], 9 * (i + 1), 0);
    bench_end(&b);
}

TEST(nothing_is_recorded_while_recording_is_off) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *x = four(b.tape, true);
    CHECK(lh_tape_set_recording(b.tape, false));
    CHECK(!lh_tape_is_recording(b.tape));
    REQUIRE(triple(b.tape, x) != NULL);
    CHECK(lh_tape_last(b.tape) == NULL);
    CHECK(!lh_tape_set_recording(b.tape, true));
    const lh_node *stop = lh_tape_last(b.tape);
    lh_tensor *y = triple(b.tape, x);
    REQUIRE(y != NULL);
    CHECK_OK(lh_tensor_copy(y, x));
    CHECK_OK(lh_gradient_give(y->gradient, x));
    CHECK_OK(lh_tape_run_back(b.tape, stop));
    CHECK(lh_tape_last(b.tape) == stop);
    CHECK_NEAR(lh_tensor_real(lh_tensor_gradient(x))[3], 12, 0);
    bench_end(&b);
}

TEST(decisions_are_remembered_by_their_number_and_keys_differ) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 5, 2);
    const uint32_t first = lh_tape_random_position(b.tape);
    lh_tensor *key = lh_tape_random_key(b.tape), *next = lh_tape_random_key(b.tape);
    REQUIRE(key != NULL && next != NULL);
    CHECK_EQ_INT(lh_tape_random_position(b.tape), first + 2);
    const size_t bytes = (size_t)lh_tensor_count(key) * sizeof(int32_t);
    CHECK(memcmp(lh_tensor_integer(key), lh_tensor_integer(next), bytes) != 0);
    lh_tape_set_random_position(b.tape, first);
    const lh_tensor *again = lh_tape_random_key(b.tape);
    CHECK(memcmp(lh_tensor_integer(key), lh_tensor_integer(again), bytes) == 0);
    CHECK(lh_tape_recall(b.tape, first) == NULL);
    CHECK_OK(lh_tape_remember(b.tape, first, key));
    CHECK_OK(lh_tape_remember(b.tape, first + 1, next));
    CHECK(lh_tape_recall(b.tape, first) == key && lh_tape_recall(b.tape, first + 1) == next);
    CHECK(lh_tape_recall(b.tape, first + 2) == NULL);
    bench_end(&b);
}

TEST(a_scope_keeps_what_it_is_told_to_and_frees_the_rest) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, false, 1, 0);
    const int64_t before = lh_pool_get_stats(b.pool).used_bytes;
    lh_scope scope = lh_scope_open(b.tape);
    lh_tensor *keep[] = {four(b.tape, false), four(b.tape, false)};
    REQUIRE(keep[0] != NULL && keep[1] != NULL && four(b.tape, false) != NULL);
    const int64_t inside = lh_pool_get_stats(b.pool).used_bytes;
    lh_scope_close_many(b.tape, scope, keep, 2);
    const int64_t after = lh_pool_get_stats(b.pool).used_bytes;
    CHECK_EQ_INT(3 * (after - before), 2 * (inside - before));
    CHECK_NEAR(lh_tensor_real(keep[1])[3], 4, 0);
    lh_tensor *own = NULL;
    REQUIRE_OK(lh_tensor_create_zero(b.pool, LH_REAL, 0, NULL, &own));
    CHECK(lh_tape_own(b.tape, own) == own && lh_tape_own(b.tape, NULL) == NULL);
    bench_end(&b);
}

TEST(work_is_counted_once) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tape_count_flops(b.tape, 100);
    lh_tape_count_flops(b.tape, 20);
    CHECK_NEAR(lh_tape_flops(b.tape), 120, 0);
    CHECK_EQ_INT(lh_tape_parts_before(b.tape, 8), 0);
    CHECK(lh_tape_swap(b.tape) == NULL);
    CHECK(!lh_tape_has_viewer(b.tape));
    bench_end(&b);
}

TEST(scratch_memory_lives_until_the_next_step) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    unsigned char *first = lh_tape_scratch(b.tape, 1000), *second = lh_tape_scratch(b.tape, 1000);
    REQUIRE(first != NULL && second != NULL);
    memset(first, 1, 1000);
    memset(second, 2, 1000);
    CHECK(first[999] == 1 && second[0] == 2);
    bench_end(&b);
}

static lh_status look(void *context, const lh_tensor *shown) {
    *(int64_t *)context += lh_tensor_count(shown);
    return shown->rank == 1 ? LH_OK : lh_fail(LH_ESHAPE, "looked at rank %d", shown->rank);
}

TEST(whoever_looks_is_shown_the_inside) {
    bench b;
    int64_t seen = 0;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tape_set_viewer(b.tape, look, &seen);
    CHECK(lh_tape_has_viewer(b.tape));
    CHECK_OK(lh_tape_show(b.tape, four(b.tape, false)));
    CHECK_EQ_INT(seen, 4);
    CHECK_FAILS(lh_tape_show(b.tape, lh_filled(b.tape, 2, (const int64_t[]){2, 2}, 1.0)), LH_ESHAPE,
                "looked at rank 2");
    lh_tape_set_viewer(b.tape, NULL, NULL);
    CHECK(!lh_tape_has_viewer(b.tape));
    bench_end(&b);
}

/* ---- regions ---- */

/* As often as it reads them, an inner region into the hands of the outer; tensors that are no
 * parameters are not held. */
TEST(a_region_holds_the_parameters_that_it_reads) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *parameter = four(b.tape, true), *x = four(b.tape, true);
    REQUIRE(parameter != NULL && x != NULL);
    parameter->gradient->persistent = true;
    const lh_region_mark outer = lh_tape_enter_region(b.tape);
    REQUIRE(triple(b.tape, parameter) != NULL && triple(b.tape, x) != NULL);
    const lh_region_mark inner = lh_tape_enter_region(b.tape);
    CHECK_OK(lh_tape_hold(b.tape, parameter->gradient));
    CHECK_OK(lh_tape_hold(b.tape, NULL));
    CHECK(lh_tape_leave_region(b.tape, inner) == NULL);
    CHECK(!lh_tape_is_recording(b.tape) && lh_tape_last(b.tape) == NULL);
    const lh_hold *holds = lh_tape_leave_region(b.tape, outer);
    REQUIRE(holds != NULL && holds->next != NULL);
    CHECK(holds->gradient == parameter->gradient && holds->next->gradient == parameter->gradient);
    CHECK(holds->next->next == NULL && lh_tape_is_recording(b.tape));
    CHECK_EQ_INT(parameter->gradient->uses, 2);
    CHECK_EQ_INT(x->gradient->uses, 0);
    bench_end(&b);
}

TEST(nothing_is_held_where_there_is_no_backward) {
    bench b;
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *parameter = four(b.tape, true);
    REQUIRE(parameter != NULL);
    parameter->gradient->persistent = true;
    CHECK_OK(lh_tape_hold(b.tape, parameter->gradient)); /* outside of a region */
    CHECK_EQ_INT(parameter->gradient->uses, 0);
    (void)lh_tape_set_recording(b.tape, false);
    const lh_region_mark mark = lh_tape_enter_region(b.tape);
    REQUIRE(triple(b.tape, parameter) != NULL);
    CHECK(lh_tape_leave_region(b.tape, mark) == NULL);
    CHECK_EQ_INT(parameter->gradient->uses, 0);
    bench_end(&b);
}

/* Twice the input, chunk by chunk; the context counts the chunks. */
static lh_status twice(lh_tape *tape, void *context, lh_tensor *const *inputs,
                       lh_tensor **outputs) {
    **(int **)context += 1;
    outputs[0] = lh_add(tape, inputs[0], inputs[0]);
    return outputs[0] != NULL ? LH_OK : lh_failed();
}

TEST(chunks_together_are_the_whole) {
    bench b;
    int calls = 0, *counted = &calls;
    const int64_t shape[] = {2, 6, 1};
    REQUIRE(bench_begin(&b));
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *x = lh_tape_new(b.tape, LH_REAL, 3, shape);
    REQUIRE(x != NULL);
    for (int i = 0; i < 12; ++i)
        lh_tensor_real(x)[i] = LH_R(i);
    lh_tensor *y = lh_chunked(b.tape, twice, &counted, sizeof counted, x, 2);
    REQUIRE(y != NULL);
    CHECK_EQ_INT(calls, 3);
    CHECK(lh_tensor_same_shape(x, y));
    for (int i = 0; i < 12; ++i)
        CHECK_NEAR(lh_tensor_real(y)[i], 2 * i, 0);
    CHECK(lh_chunked(b.tape, twice, &counted, sizeof counted, x, 0) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "chunks of 0 tokens of [2][6][1]");
    bench_end(&b);
}
