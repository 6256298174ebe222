/* The factor that brings a gradient's norm down to the largest allowed. */
#include "tests/kernels/conformance.h"

static void clip_factor(suite *s, double sum_squares, double max_norm) {
    lh_clip_factor_args args = {.max_norm = max_norm};
    case_open(s, &args, sizeof args, "sum of squares %g, largest norm %g", sum_squares, max_norm);
    *case_in_double(s, "sum_squares", &args.sum_squares, 1) = sum_squares;
    case_out(s, "factor", &args.factor, 1, LH_SET);
    case_run(s);
}

void cases_clip_factor(suite *s) {
    static const double sums[] = {0, 1e-12, 0.5, 1, 1.44, 9, 12345.678, 1e30};
    static const double norms[] = {0, 1e-3, 0.25, 1, 3, 1e6};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        for (size_t j = 0; j < sizeof norms / sizeof *norms; j++)
            clip_factor(s, sums[i], norms[j]);
}

void bench_clip_factor(suite *s) {
    clip_factor(s, 9, 1);
}
