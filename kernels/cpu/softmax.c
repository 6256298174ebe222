/* Softmax of rows and its gradient. */
#include <math.h>

#include "kernels/cpu/exp_row.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

static void row_forward(int64_t width, const real *x, real *y) {
    const real most = lh_row_max(width, x);
    if (most == -(real)INFINITY) {
        for (int64_t i = 0; i < width; ++i)
            y[i] = 0;
        return;
    }
    const real inverse = (real)(1.0 / lh_exp_sum(width, x, 1, most, y));
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
        y[i] *= inverse;
}

lh_status lh_cpu_softmax_forward(const lh_launch *launch, const lh_softmax_forward_args *args) {
    (void)launch;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
            row_forward(width, args->x + r * width, args->y + r * width);
        }
    }
    return LH_OK;
}

static void row_backward(int64_t width, const real *y, const real *dy, real *dx, lh_write write) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)y[i] * (double)dy[i];
    const real dot = (real)sum;
    if (write == LH_ADD) {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            dx[i] += y[i] * (dy[i] - dot);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            dx[i] = y[i] * (dy[i] - dot);
    }
}

lh_status lh_cpu_softmax_backward(const lh_launch *launch, const lh_softmax_backward_args *args) {
    (void)launch;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
            row_backward(width, args->y + r * width, args->dy + r * width, args->dx + r * width,
                         args->write);
        }
    }
    return LH_OK;
}
