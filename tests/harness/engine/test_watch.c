/* When a parameter's gradient is complete, through the regions that run their ops twice. */
#include "harness/engine/params.h"
#include "harness/engine/tape.h"
#include "harness/ops/ops.h"
#include "tests/tape_bench.h"
#include "tests/test.h"

enum { WIDTH = 3, PARAMS = 4 };

/* Four square matrices and a constant input, on a tape. */
typedef struct bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_params *params;
    lh_tensor *input;
    int told[PARAMS], calls;
    real then[PARAMS][WIDTH * WIDTH];
} bench;

static lh_status note(void *context, const lh_tensor *gradient) {
    bench *b = context;
    b->calls += 1;
    for (int i = 0; gradient != NULL && i < PARAMS; ++i) {
        if (lh_params_get(b->params, i)->offset != gradient->offset) continue;
        b->told[i] += 1;
        CHECK_OK(lh_tensor_read(gradient, b->then[i], WIDTH * WIDTH));
    }
    return LH_OK;
}

static bool open_bench(bench *b) {
    static const int64_t square[] = {WIDTH, WIDTH}, shape[] = {2, WIDTH};
    static const real values[] = {1, -2, 3, LH_R(0.5), 2, -1};
    const lh_init init = {.kind = LH_INIT_NORMAL, .deviation = 0.5};
    *b = (bench){0};
    bool good = bench_open_tape("cpu", &b->device, &b->pool, &b->tape) &&
                CHECK_OK(lh_params_create(&b->params));
    for (int i = 0; good && i < PARAMS; ++i)
        good = lh_params_declare(b->params, init, 2, square, "p%d", i) == i;
    if (!good || !CHECK_OK(lh_params_allocate(b->params, b->pool))) return false;
    CHECK_OK(lh_params_initialize(b->params, 3));
    lh_tape_begin(b->tape, true, 1, 0);
    lh_tape_watch(b->tape, note, b);
    return CHECK_OK(lh_tensor_create(b->pool, LH_REAL, 2, shape, &b->input)) &&
           CHECK_OK(lh_tensor_write(b->input, values, 2 * WIDTH));
}

/* Backward from the sum of y, then what was told is compared with what there is. */
static void check_told(bench *b, lh_tensor *y, int params) {
    const lh_tensor *gradients = lh_params_gradients(b->params);
    real last[WIDTH * WIDTH];
    REQUIRE(y != NULL);
    CHECK_OK(lh_tape_backward_from(b->tape, y, b->input));
    CHECK(b->calls > 0);
    for (int i = 0; i < params; ++i) {
        const int64_t offset = lh_params_get(b->params, i)->offset;
        CHECK_EQ_INT(b->told[i], 1);
        memcpy(last, lh_tensor_real(gradients) + offset, sizeof last);
        CHECK(memcmp(last, b->then[i], sizeof last) == 0);
        CHECK(fabs((double)last[0]) > 0.0);
    }
}

static void close_bench(bench *b) {
    lh_tensor_release(b->input);
    lh_tape_destroy(b->tape);
    lh_params_destroy(b->params);
    bench_close_pool(b->device, b->pool);
}

static lh_tensor *layer(lh_tape *tape, const lh_params *params, int index, lh_tensor *x) {
    return lh_linear(tape, x, lh_params_get(params, index), NULL, LH_UNARY_TANH);
}

/* Parameter 1 as it is and 2 through slices of it, which in a first run have no slots. */
static lh_status region(lh_tape *tape, void *context, lh_tensor *const *inputs,
                        lh_tensor **outputs) {
    const lh_params *params = *(const lh_params **)context;
    lh_tensor *x = layer(tape, params, 1, inputs[0]), *parts[WIDTH];
    for (int i = 0; i < WIDTH; ++i)
        parts[i] = lh_linear(tape, x, lh_slice(tape, lh_params_get(params, 2), 1, i, 1), NULL,
                             LH_UNARY_IDENTITY);
    outputs[0] = lh_concat(tape, 1, parts, WIDTH);
    return LH_OK;
}

static lh_tensor *through_region(bench *b, lh_tensor *x) {
    lh_tensor *y = NULL;
    const lh_status status =
        lh_checkpoint(b->tape, region, &b->params, sizeof b->params, &x, 1, &y, 1);
    return CHECK_OK(status) ? y : NULL;
}

/* The same parameters before, inside and after a checkpointed region. */
TEST(parameters_of_a_checkpoint) {
    bench b;
    REQUIRE(open_bench(&b));
    lh_tensor *x = layer(b.tape, b.params, 0, b.input);
    x = layer(b.tape, b.params, 1, through_region(&b, layer(b.tape, b.params, 2, x)));
    check_told(&b, layer(b.tape, b.params, 3, x), PARAMS);
    close_bench(&b);
}

static lh_status outer(lh_tape *tape, void *context, lh_tensor *const *inputs,
                       lh_tensor **outputs) {
    lh_tensor *x = layer(tape, *(const lh_params **)context, 3, inputs[0]);
    return lh_checkpoint(tape, region, context, sizeof(lh_params *), &x, 1, outputs, 1);
}

TEST(parameters_of_nested_checkpoints) {
    bench b;
    REQUIRE(open_bench(&b));
    lh_tensor *x = layer(b.tape, b.params, 1, b.input), *y = NULL;
    x = layer(b.tape, b.params, 0, x);
    REQUIRE_OK(lh_checkpoint(b.tape, outer, &b.params, sizeof b.params, &x, 1, &y, 1));
    check_told(&b, layer(b.tape, b.params, 3, y), PARAMS);
    close_bench(&b);
}

static lh_tensor *f(lh_tape *tape, void *context, lh_tensor *x) {
    return layer(tape, context, 1, x);
}

static lh_tensor *g(lh_tape *tape, void *context, lh_tensor *x) {
    lh_tensor *y = layer(tape, context, 2, x), *z = NULL;
    return lh_checkpoint(tape, region, &context, sizeof context, &y, 1, &z, 1) == LH_OK ? z : NULL;
}

/* Both blocks share their parameters, one of them also with what comes before. */
TEST(parameters_of_reversible_blocks) {
    bench b;
    REQUIRE(open_bench(&b));
    lh_reversible_block blocks[2];
    for (int i = 0; i < 2; ++i)
        blocks[i] = (lh_reversible_block){f, g, b.params, b.params};
    lh_tensor *x = layer(b.tape, b.params, 1, layer(b.tape, b.params, 0, b.input));
    lh_tensor *y1 = NULL, *y2 = NULL;
    REQUIRE_OK(lh_reversible(b.tape, blocks, 2, x, x, &y1, &y2));
    check_told(&b, layer(b.tape, b.params, 3, lh_multiply(b.tape, y1, y2)), PARAMS);
    close_bench(&b);
}

/* A parameter that is read but gets nothing is told of with zeros. */
TEST(a_gradient_that_nothing_reaches_is_zero) {
    bench b;
    REQUIRE(open_bench(&b));
    lh_tensor *gradients = lh_params_gradients(b.params);
    for (int64_t i = 0; i < lh_tensor_count(gradients); ++i)
        lh_tensor_real(gradients)[i] = LH_R(7);
    lh_tensor *unread = layer(b.tape, b.params, 1, b.input);
    CHECK(unread != NULL);
    check_told(&b, layer(b.tape, b.params, 0, b.input), 1);
    CHECK_EQ_INT(b.told[1], 1);
    CHECK_NEAR(b.then[1][4], 0, 0);
    CHECK_EQ_INT(b.told[2], 0);
    close_bench(&b);
}

static lh_status refuse(void *context, const lh_tensor *gradient) {
    (void)context;
    return gradient != NULL ? lh_fail(LH_EDEVICE, "no more") : LH_OK;
}

TEST(a_failing_watcher_ends_backward) {
    bench b;
    REQUIRE(open_bench(&b));
    lh_tape_watch(b.tape, refuse, NULL);
    lh_tensor *y = layer(b.tape, b.params, 0, b.input);
    CHECK_FAILS(lh_tape_backward_from(b.tape, y, b.input), LH_EDEVICE, "no more");
    close_bench(&b);
}
