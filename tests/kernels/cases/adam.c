/* Adam with either kind of weight decay and with clipped gradients. */
#include "tests/kernels/conformance.h"

static void adam(suite *s, int64_t count, int64_t at, int row) {
    const bool decoupled = suite_flag(row, 0), decay = suite_flag(row, 1),
               clip = suite_flag(row, 2);
    const lh_optimizer_step step = {.rate = 2e-3, .step = at};
    lh_adam_args args = {.count = count,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .epsilon = 1e-8,
                         .weight_decay = decay ? 0.1 : 0,
                         .decoupled = decoupled};
    case_open(s, &args, sizeof args,
              "count %" PRId64 ", step %" PRId64 ", decoupled %d, decay %d, clipped %d", count, at,
              decoupled, decay, clip);
    case_in_bytes(s, "step", &args.step, &step, sizeof step);
    if (clip) *case_in(s, "factor", &args.factor, 1) = LH_R(0.37);
    case_in(s, "g", &args.g, count);
    case_in_out(s, "x", &args.x, count);
    real *m = case_in_out(s, "m", &args.m, count), *v = case_in_out(s, "v", &args.v, count);
    for (int64_t i = 0; i < count; i++) {
        m[i] *= at == 0 ? 0 : LH_R(0.1);
        v[i] *= at == 0 ? 0 : LH_R(0.1) * v[i];
    }
    case_run(s);
}

void cases_adam(suite *s) {
    for (int i = 0; i < suite_size_count; i++) {
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2) {
            adam(s, suite_sizes[i], 0, row);
            adam(s, suite_sizes[i], 1234, row);
        }
    }
    adam(s, 100003, 100000, 7);
    CASE_REFUSED(s, LH_ESHAPE, lh_adam_args, .count = -1);
}

void bench_adam(suite *s) {
    adam(s, 4 << 20, 1000, 0);
}
