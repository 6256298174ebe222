/* Root-mean-square normalisation; sums are in double. */
#include <math.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"

LH_SPECIALIZED void row_forward(const lh_rms_norm_forward_args *args, lh_dtype dtype, int64_t r) {
    const int64_t width = args->width;
    const void *x = lh_at(args->x, r * width);
    void *y = lh_at(args->y, r * width);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)lh_load(dtype, x, i) * (double)lh_load(dtype, x, i);
    const double mean = sum / (double)width;
    const real rstd = (real)(1.0 / sqrt(mean + (double)args->epsilon));
    args->rstd[r] = rstd;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i)
        lh_store(dtype, y, i, args->gain[i] * (lh_load(dtype, x, i) * rstd));
}

lh_status lh_cpu_rms_norm_forward(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
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

size_t lh_cpu_rms_norm_backward_workspace(const lh_rms_norm_backward_args *args) {
    return args->dgain != NULL ? lh_column_workspace(args->rows, args->width) : 0;
}

/* With n = x rstd and g = gain dy: dx = rstd (g - n mean(g n)). */
LH_SPECIALIZED void row_backward(const lh_rms_norm_backward_args *args, lh_dtype dtype, int64_t r,
                                 bool add) {
    const int64_t width = args->width;
    const void *x = lh_at(args->x, r * width), *dy = lh_at(args->dy, r * width);
    const real *gain = args->gain;
    const double rstd = (double)args->rstd[r];
    double dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < width; ++i)
        dot += (double)gain[i] * (double)lh_load(dtype, dy, i) * (double)lh_load(dtype, x, i);
    const real pull = (real)(dot * rstd * rstd * rstd / (double)width), scale = (real)rstd;
    void *dx = lh_at(args->dx, r * width);
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real value = gain[i] * lh_load(dtype, dy, i) * scale - lh_load(dtype, x, i) * pull;
        lh_store(dtype, dx, i, add ? lh_load(dtype, dx, i) + value : value);
    }
}

LH_SPECIALIZED void gain_partial(const lh_rms_norm_backward_args *args, lh_dtype dtype,
                                 lh_range rows, double *partial) {
    const int64_t width = args->width;
    for (int64_t i = 0; i < width; ++i)
        partial[i] = 0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const void *x = lh_at(args->x, r * width), *dy = lh_at(args->dy, r * width);
        const double rstd = (double)args->rstd[r];
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            partial[i] += (double)lh_load(dtype, dy, i) * (double)lh_load(dtype, x, i) * rstd;
    }
}

LH_SPECIALIZED void rows_backward(const lh_rms_norm_backward_args *args, lh_dtype dtype,
                                  lh_range rows, double *partial) {
    if (args->dgain != NULL) gain_partial(args, dtype, rows, partial);
    for (int64_t r = rows.begin; args->dx.data != NULL && r < rows.end; ++r) {
        if (args->dx_write == LH_ADD)
            row_backward(args, dtype, r, true);
        else
            row_backward(args, dtype, r, false);
    }
}

lh_status lh_cpu_rms_norm_backward(const lh_launch *launch, const lh_rms_norm_backward_args *args) {
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    double *partial = launch->workspace;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        if (args->x.dtype == LH_BF16)
            rows_backward(args, LH_BF16, rows, partial + chunk * width);
        else
            rows_backward(args, LH_REAL, rows, partial + chunk * width);
    }
    if (args->dgain != NULL) {
        lh_column_join(chunks, width, partial, args->dgain, args->dgain_write);
    }
    return LH_OK;
}
