/* Rows of unit length and their gradient. */
#include <math.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

LH_SPECIALIZED void row_forward(lh_dtype dtype, const lh_unit_norm_forward_args *args, int64_t r) {
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

static void chunk_forward(const void *context, int64_t chunk) {
    const lh_unit_norm_forward_args *args = context;
    const lh_range rows = lh_row_chunk(args->rows, args->width, chunk);
    for (int64_t r = rows.begin; r < rows.end; ++r)
        LH_BY_DTYPE(args->x.dtype, row_forward, args, r);
}

lh_status lh_cpu_unit_norm_forward(const lh_launch *launch, const lh_unit_norm_forward_args *args) {
    (void)launch;
    lh_each_row_chunk(args->rows, args->width, chunk_forward, args);
    return LH_OK;
}

LH_SPECIALIZED void row_backward(lh_dtype dtype, const lh_unit_norm_backward_args *args, int64_t r,
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

static void chunk_backward(const void *context, int64_t chunk) {
    const lh_unit_norm_backward_args *args = context;
    const lh_range rows = lh_row_chunk(args->rows, args->width, chunk);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        if (args->write == LH_ADD)
            LH_BY_DTYPE(args->y.dtype, row_backward, args, r, true);
        else
            LH_BY_DTYPE(args->y.dtype, row_backward, args, r, false);
    }
}

lh_status lh_cpu_unit_norm_backward(const lh_launch *launch,
                                    const lh_unit_norm_backward_args *args) {
    (void)launch;
    lh_each_row_chunk(args->rows, args->width, chunk_backward, args);
    return LH_OK;
}
