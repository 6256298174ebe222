/* The overhead of an op, by a chain of products so small that the kernel is nothing. */
#include "harness/bench/op_rate.h"

#include <math.h>

#include "harness/engine/clock.h"
#include "harness/ops/ops.h"

enum { NUMBERS = 16, REPEATS = 20 };

static lh_tensor *chain(lh_tape *tape, lh_tensor *x, int64_t ops) {
    for (int64_t i = 0; i < ops && x != NULL; ++i)
        x = lh_scale(tape, x, 0.5);
    return x;
}

static lh_status time_chain(lh_tape *tape, int64_t ops, lh_op_rate *best) {
    const int64_t count = NUMBERS;
    lh_tape_begin(tape, true, 1, 0);
    lh_tensor *x = lh_zeros(tape, 1, &count), *cotangent = lh_zeros(tape, 1, &count);
    if (x == NULL || cotangent == NULL) return lh_failed();
    LH_TRY(lh_tensor_require_gradient(x));
    const double begin = lh_clock_seconds();
    lh_tensor *y = chain(tape, x, ops);
    const double recorded = lh_clock_seconds();
    LH_TRY(lh_tape_backward_from(tape, y, cotangent));
    best->recorded_s = fmin(best->recorded_s, (recorded - begin) / (double)ops);
    best->backward_s = fmin(best->backward_s, (lh_clock_seconds() - recorded) / (double)ops);
    return LH_OK;
}

static lh_status measure(lh_tape *tape, int64_t ops, lh_op_rate *out) {
    *out = (lh_op_rate){INFINITY, INFINITY};
    for (int i = 0; i < REPEATS; ++i)
        LH_TRY(time_chain(tape, ops, out));
    return LH_OK;
}

lh_status lh_op_measure(int64_t ops, lh_op_rate *out) {
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_tape *tape = NULL;
    LH_TRY(lh_pool_open_device("cpu", &device));
    lh_status status = lh_pool_create(device, &pool);
    if (status == LH_OK) status = lh_tape_create(pool, &tape);
    if (status == LH_OK) status = measure(tape, ops, out);
    lh_tape_destroy(tape);
    lh_pool_destroy(pool);
    lh_device_close(device);
    return status;
}
