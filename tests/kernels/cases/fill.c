/* A constant over arrays of every size of the suite. */
#include "tests/kernels/conformance.h"

static void fill(suite *s, int64_t count) {
    lh_fill_args args = {.count = count, .value = LH_R(-0.375)};
    case_open(s, &args, sizeof args, "count %" PRId64, count);
    case_out(s, "x", &args.x, count, LH_SET);
    case_exact(s);
    case_run(s);
}

void cases_fill(suite *s) {
    for (int i = 0; i < suite_size_count; i++)
        fill(s, suite_sizes[i]);
    fill(s, 100003);
    CASE_REFUSED(s, LH_ESHAPE, lh_fill_args, .count = -1);
}

void bench_fill(suite *s) {
    fill(s, 4096 * 256);
}
