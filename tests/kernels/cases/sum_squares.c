/* The sum of squares in double, set and added. */
#include "tests/kernels/conformance.h"

static void sum_squares(suite *s, int64_t count, lh_write write, bool with_nan) {
    lh_sum_squares_args args = {.count = count, .write = write};
    case_open(s, &args, sizeof args, "count %" PRId64 ", write %d, NaN %d", count, write, with_nan);
    real *x = case_in(s, "x", &args.x, count);
    if (with_nan) x[count / 2] = (real)NAN;
    case_out_double(s, "y", &args.y, 1, write);
    case_flops(s, 2.0 * (double)count);
    case_run(s);
}

void cases_sum_squares(suite *s) {
    for (int write = LH_SET; write <= LH_ADD; write++) {
        for (int i = 0; i < suite_size_count; i++)
            sum_squares(s, suite_sizes[i], (lh_write)write, false);
        sum_squares(s, 100003, (lh_write)write, false);
        sum_squares(s, 1000003, (lh_write)write, false);
    }
    sum_squares(s, 1021, LH_SET, true);
    CASE_REFUSED(s, LH_ESHAPE, lh_sum_squares_args, .count = -1);
}

void bench_sum_squares(suite *s) {
    sum_squares(s, 8 << 20, LH_SET, false);
}
