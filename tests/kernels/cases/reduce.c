/* Sums and maxima over the middle axis of three, with values that are not numbers. */
#include "tests/kernels/conformance.h"

typedef struct axes {
    int64_t outer, axis, inner;
} axes;

static void open_reduce(suite *s, lh_reduce_args *args, const char *what) {
    case_open(s, args, sizeof *args, "op %d, %" PRId64 " x %" PRId64 " x %" PRId64 ", write %d%s",
              args->op, args->outer, args->axis, args->inner, args->write, what);
}

static void reduce(suite *s, lh_reduce_op op, axes a, lh_write write) {
    const bool sums = op == LH_REDUCE_SUM;
    lh_reduce_args args = {.op = op,
                           .outer = a.outer,
                           .axis = a.axis,
                           .inner = a.inner,
                           .alpha = sums ? LH_R(-0.75) : 1,
                           .write = sums ? write : LH_SET};
    open_reduce(s, &args, "");
    case_in(s, "x", &args.x, a.outer * a.axis * a.inner);
    case_out(s, "y", &args.y, a.outer * a.inner, args.write);
    if (!sums) case_exact(s);
    case_flops(s, (double)(a.outer * a.axis * a.inner));
    case_dtype(s, &args.x, s->dtype);
    case_run(s);
}

/* A NaN anywhere makes its sum and its maximum NaN. */
static void reduce_nan(suite *s, lh_reduce_op op, axes a) {
    lh_reduce_args args = {
        .op = op, .outer = a.outer, .axis = a.axis, .inner = a.inner, .alpha = 1};
    const int64_t count = a.outer * a.axis * a.inner;
    open_reduce(s, &args, ", with NaNs");
    real *x = case_in(s, "x", &args.x, count);
    x[0] = x[count / 2] = x[count - 1] = (real)NAN;
    case_out(s, "y", &args.y, a.outer * a.inner, LH_SET);
    case_dtype(s, &args.x, s->dtype);
    case_run(s);
}

void cases_reduce(suite *s) {
    static const axes shapes[] = {
        {0, 3, 4},   {3, 0, 4},   {3, 4, 0},     {1, 1, 1},    {1, 2, 1},    {2, 1, 3},
        {5, 7, 1},   {7, 5, 2},   {1, 31, 16},   {1, 33, 17},  {3, 64, 15},  {2, 65, 8},
        {1, 1, 129}, {129, 3, 1}, {1, 1021, 1},  {1, 255, 9},  {1, 257, 64}, {4, 127, 33},
        {16, 2, 65}, {3, 500, 3}, {1, 50021, 1}, {1, 600, 67}, {67, 301, 1}, {2, 1000, 16}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        reduce(s, LH_REDUCE_SUM, shapes[i], LH_SET);
        reduce(s, LH_REDUCE_SUM, shapes[i], LH_ADD);
        reduce(s, LH_REDUCE_MAX, shapes[i], LH_SET);
    }
    for (int op = LH_REDUCE_SUM; op <= LH_REDUCE_MAX; op++) {
        reduce_nan(s, (lh_reduce_op)op, (axes){3, 37, 1});
        reduce_nan(s, (lh_reduce_op)op, (axes){2, 19, 33});
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_reduce_args, .outer = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_reduce_args, .axis = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_reduce_args, .inner = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_reduce_args, .op = (lh_reduce_op)2);
    CASE_REFUSED(s, LH_EOPTION, lh_reduce_args, .x = {.dtype = LH_I32});
}

void bench_reduce(suite *s) {
    reduce(s, LH_REDUCE_SUM, (axes){1, 4096, 256}, LH_ADD);
    reduce(s, LH_REDUCE_SUM, (axes){4096, 256, 1}, LH_SET);
    reduce(s, LH_REDUCE_MAX, (axes){4096, 256, 1}, LH_SET);
}
