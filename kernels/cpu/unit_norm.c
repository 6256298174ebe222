#include <math.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

static void row_forward(const lh_unit_norm_forward_args *args, int64_t r) {
    const int64_t width = args->width;
    const real *x = args->x + r * width;
    real *y = args->y + r * width;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)x[i] * (double)x[i];
    const real rnorm = (real)(1.0 / sqrt(sum + (double)args->epsilon));
    args->rnorm[r] = rnorm;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
        y[i] = x[i] * rnorm;
}

lh_status LH_CPU(unit_norm_forward)(const lh_launch *launch,
                                    const lh_unit_norm_forward_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    const int64_t size = lh_rows_per_chunk(args->width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r)
            row_forward(args, r);
    }
    return LH_OK;
}

static void row_backward(const lh_unit_norm_backward_args *args, int64_t r) {
    const int64_t width = args->width;
    const real *y = args->y + r * width, *dy = args->dy + r * width;
    real *dx = args->dx + r * width;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)y[i] * (double)dy[i];
    const real dot = (real)sum, rnorm = args->rnorm[r];
    if (args->write == LH_ADD) {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            dx[i] += rnorm * (dy[i] - y[i] * dot);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            dx[i] = rnorm * (dy[i] - y[i] * dot);
    }
}

lh_status LH_CPU(unit_norm_backward)(const lh_launch *launch,
                                     const lh_unit_norm_backward_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    const int64_t size = lh_rows_per_chunk(args->width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r)
            row_backward(args, r);
    }
    return LH_OK;
}
