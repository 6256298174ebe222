/* Sum or maximum over the middle axis of [outer][axis][inner]. */
#include <math.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

enum {
    PANEL = 256,    /* columns summed side by side */
    PARTS = 16,     /* partial results of a long axis */
    LANES = 16,     /* independent maxima of a row */
    MANY_PANELS = 8 /* enough to occupy the threads without cutting the axis */
};

LH_SPECIALIZED double sum_row(lh_dtype dtype, int64_t count, const void *x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i)
        sum += (double)lh_load(dtype, x, i);
    return sum;
}

/* The larger; NaN once either is. */
static inline real larger(real a, real b) {
    return b > a || b != b ? b : a;
}

LH_SPECIALIZED double max_row(lh_dtype dtype, int64_t count, const void *x) {
    real lane[LANES];
    for (int i = 0; i < LANES; ++i)
        lane[i] = -(real)INFINITY;
    const int64_t whole = count / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
#pragma omp simd
        for (int j = 0; j < LANES; ++j)
            lane[j] = larger(lane[j], lh_load(dtype, x, i + j));
    }
    for (int64_t i = whole; i < count; ++i)
        lane[0] = larger(lane[0], lh_load(dtype, x, i));
    for (int i = 1; i < LANES; ++i)
        lane[0] = larger(lane[0], lane[i]);
    return (double)lane[0];
}

static inline double join(lh_reduce_op op, double a, double b) {
    if (op == LH_REDUCE_SUM) return a + b;
    return b > a || b != b ? b : a;
}

static double empty_value(lh_reduce_op op) {
    return op == LH_REDUCE_SUM ? 0.0 : -(double)INFINITY;
}

static void store(const lh_reduce_args *args, int64_t count, const double *value, real *y) {
    const double alpha = args->op == LH_REDUCE_SUM ? (double)args->alpha : 1.0;
    for (int64_t i = 0; i < count; ++i)
        y[i] = (real)(args->write == LH_ADD ? (double)y[i] + alpha * value[i] : alpha * value[i]);
}

/* `count` elements from `at` on. */
static double reduce_row(const lh_reduce_args *args, int64_t count, int64_t at) {
    const void *x = lh_at(args->x, at);
    if (args->x.dtype == LH_BF16)
        return args->op == LH_REDUCE_SUM ? sum_row(LH_BF16, count, x) : max_row(LH_BF16, count, x);
    return args->op == LH_REDUCE_SUM ? sum_row(LH_REAL, count, x) : max_row(LH_REAL, count, x);
}

/* Short rows: chunks of whole rows. */
static void reduce_rows(const lh_reduce_args *args) {
    const int64_t size = lh_rows_per_chunk(args->axis);
    const int64_t chunks = lh_chunk_count(args->outer, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->outer, size, chunk);
        for (int64_t o = rows.begin; o < rows.end; ++o) {
            const double value = reduce_row(args, args->axis, o * args->axis);
            store(args, 1, &value, args->y + o);
        }
    }
}

/* Few long rows: each is cut into parts. */
static void reduce_long_rows(const lh_reduce_args *args) {
    const int64_t size = lh_chunk_count(args->axis, PARTS);
    for (int64_t o = 0; o < args->outer; ++o) {
        double part[PARTS];
#pragma omp parallel for schedule(static)
        for (int64_t p = 0; p < PARTS; ++p) {
            const lh_range range = lh_chunk(args->axis, size, p);
            const int64_t count = lh_max(0, range.end - range.begin);
            part[p] = reduce_row(args, count, o * args->axis + range.begin);
        }
        for (int p = 1; p < PARTS; ++p)
            part[0] = join(args->op, part[0], part[p]);
        store(args, 1, part, args->y + o);
    }
}

LH_SPECIALIZED void reduce_rows_of_panel(const lh_reduce_args *args, lh_dtype dtype, int64_t at,
                                         int64_t count, lh_range range, double *value) {
    for (int64_t c = 0; c < count; ++c)
        value[c] = empty_value(args->op);
    for (int64_t a = range.begin; a < range.end; ++a) {
        const void *row = lh_at(args->x, at + a * args->inner);
        if (args->op == LH_REDUCE_SUM) {
#pragma omp simd
            for (int64_t c = 0; c < count; ++c)
                value[c] += (double)lh_load(dtype, row, c);
        } else {
#pragma omp simd
            for (int64_t c = 0; c < count; ++c)
                value[c] = join(LH_REDUCE_MAX, value[c], (double)lh_load(dtype, row, c));
        }
    }
}

/* Entries [range.begin, range.end) of the axis, for `count` columns that begin at element `at`. */
static void reduce_panel(const lh_reduce_args *args, int64_t at, int64_t count, lh_range range,
                         double *value) {
    if (args->x.dtype == LH_BF16)
        reduce_rows_of_panel(args, LH_BF16, at, count, range, value);
    else
        reduce_rows_of_panel(args, LH_REAL, at, count, range, value);
}

static void reduce_panels(const lh_reduce_args *args) {
    const int64_t panels = lh_chunk_count(args->inner, PANEL);
    const int64_t tasks = args->outer * panels;
    const int64_t grain = lh_rows_per_chunk(args->axis * lh_min(args->inner, PANEL));
#pragma omp parallel for schedule(static, grain) if (tasks > grain)
    for (int64_t task = 0; task < tasks; ++task) {
        const lh_range columns = lh_chunk(args->inner, PANEL, task % panels);
        const int64_t o = task / panels, count = columns.end - columns.begin;
        const int64_t at = o * args->axis * args->inner + columns.begin;
        double value[PANEL];
        reduce_panel(args, at, count, (lh_range){0, args->axis}, value);
        store(args, count, value, args->y + o * args->inner + columns.begin);
    }
}

/* Few panels along a long axis, such as the gradient of a bias: the axis is cut into parts. */
static void reduce_long_panel(const lh_reduce_args *args, int64_t o, lh_range columns) {
    const int64_t size = lh_chunk_count(args->axis, PARTS);
    const int64_t count = columns.end - columns.begin;
    const int64_t at = o * args->axis * args->inner + columns.begin;
    double part[PARTS][PANEL];
#pragma omp parallel for schedule(static)
    for (int64_t p = 0; p < PARTS; ++p)
        reduce_panel(args, at, count, lh_chunk(args->axis, size, p), part[p]);
    for (int p = 1; p < PARTS; ++p)
        for (int64_t c = 0; c < count; ++c)
            part[0][c] = join(args->op, part[0][c], part[p][c]);
    store(args, count, part[0], args->y + o * args->inner + columns.begin);
}

static void reduce_long_panels(const lh_reduce_args *args) {
    const int64_t panels = lh_chunk_count(args->inner, PANEL);
    for (int64_t o = 0; o < args->outer; ++o)
        for (int64_t panel = 0; panel < panels; ++panel)
            reduce_long_panel(args, o, lh_chunk(args->inner, PANEL, panel));
}

size_t lh_cpu_reduce_workspace(const lh_reduce_args *args) {
    (void)args;
    return 0;
}

lh_status lh_cpu_reduce(const lh_launch *launch, const lh_reduce_args *args) {
    (void)launch;
    const int64_t panels = args->outer * lh_chunk_count(args->inner, PANEL);
    const int64_t panel_work = args->axis * lh_min(args->inner, PANEL);
    const bool cut = panels < MANY_PANELS && panel_work > 4 * LH_CHUNK;
    if (args->inner == 1 && cut)
        reduce_long_rows(args);
    else if (args->inner == 1)
        reduce_rows(args);
    else if (cut)
        reduce_long_panels(args);
    else
        reduce_panels(args);
    return LH_OK;
}
