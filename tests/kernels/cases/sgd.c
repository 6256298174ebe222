/* Stochastic gradient descent with momentum, weight decay and clipped gradients. */
#include "tests/kernels/conformance.h"

static void sgd(suite *s, int64_t count, int row) {
    const bool momentum = suite_flag(row, 0), decay = suite_flag(row, 1), clip = suite_flag(row, 2);
    const lh_optimizer_step step = {.rate = 0.05, .step = 3};
    lh_sgd_args args = {
        .count = count, .momentum = momentum ? 0.9 : 0, .weight_decay = decay ? 0.01 : 0};
    case_open(s, &args, sizeof args, "count %" PRId64 ", momentum %d, decay %d, clipped %d", count,
              momentum, decay, clip);
    case_in_bytes(s, "step", &args.step, &step, sizeof step);
    if (clip) *case_in(s, "factor", &args.factor, 1) = LH_R(0.37);
    case_in(s, "g", &args.g, count);
    case_in_out(s, "x", &args.x, count);
    if (momentum) case_in_out(s, "m", &args.m, count);
    case_run(s);
}

void cases_sgd(suite *s) {
    for (int i = 0; i < suite_size_count; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            sgd(s, suite_sizes[i], row);
    sgd(s, 100003, 7);
    CASE_REFUSED(s, LH_ESHAPE, lh_sgd_args, .count = -1);
}

void bench_sgd(suite *s) {
    sgd(s, 4 << 20, 7);
}
