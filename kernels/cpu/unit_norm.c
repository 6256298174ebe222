/* Rows of unit length and their gradient. */
#include <math.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

LH_SPECIALIZED void row_forward(const lh_unit_norm_forward_args *args, lh_dtype dtype, int64_t r) {
    const int64_t width = args->width;
    const void *x = lh_at(args->x, r * width);
    void *y = lh_at(args->y, r * width);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)lh_load(dtype, x, i) * (double)lh_load(dtype, x, i);
    const real rnorm = (real)(1.0 / sqrt(sum + (double)args->epsilon));
    args->rnorm[r] = rnorm;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
        lh_store(dtype, y, i, lh_load(dtype, x, i) * rnorm);
}

lh_status lh_cpu_unit_norm_forward(const lh_launch *launch, const lh_unit_norm_forward_args *args) {
    (void)launch;
    const int64_t size = lh_rows_per_chunk(args->width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r)
            if (args->x.dtype == LH_BF16)
                row_forward(args, LH_BF16, r);
            else
                row_forward(args, LH_REAL, r);
    }
    return LH_OK;
}

LH_SPECIALIZED void row_backward(const lh_unit_norm_backward_args *args, lh_dtype dtype, int64_t r,
                                 bool add) {
    const int64_t width = args->width;
    const void *y = lh_at(args->y, r * width), *dy = lh_at(args->dy, r * width);
    void *dx = lh_at(args->dx, r * width);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)lh_load(dtype, y, i) * (double)lh_load(dtype, dy, i);
    const real dot = (real)sum, rnorm = args->rnorm[r];
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real value = rnorm * (lh_load(dtype, dy, i) - lh_load(dtype, y, i) * dot);
        lh_store(dtype, dx, i, add ? lh_load(dtype, dx, i) + value : value);
    }
}

lh_status lh_cpu_unit_norm_backward(const lh_launch *launch,
                                    const lh_unit_norm_backward_args *args) {
    (void)launch;
    const int64_t size = lh_rows_per_chunk(args->width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r)
            if (args->y.dtype == LH_BF16)
                row_backward(args, LH_BF16, r, args->write == LH_ADD);
            else if (args->write == LH_ADD)
                row_backward(args, LH_REAL, r, true);
            else
                row_backward(args, LH_REAL, r, false);
    }
    return LH_OK;
}
