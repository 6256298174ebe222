/* Root-mean-square normalisation; sums are in double. */
#include <math.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"

LH_SPECIALIZED void row_forward(lh_dtype dtype, const lh_rms_norm_forward_args *args, int64_t r) {
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

static void chunk_forward(const void *context, int64_t chunk) {
    const lh_rms_norm_forward_args *args = context;
    const lh_range rows = lh_row_chunk(args->rows, args->width, chunk);
    for (int64_t r = rows.begin; r < rows.end; ++r)
        LH_BY_DTYPE(args->x.dtype, row_forward, args, r);
}

lh_status lh_cpu_rms_norm_forward(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
    (void)launch;
    lh_each_row_chunk(args->rows, args->width, chunk_forward, args);
    return LH_OK;
}

size_t lh_cpu_rms_norm_backward_workspace(const lh_rms_norm_backward_args *args) {
    return args->dgain != NULL ? lh_column_workspace(args->rows, args->width) : 0;
}

/* With n = x rstd and g = gain dy: dx = rstd (g - n mean(g n)). */
LH_SPECIALIZED void row_backward(lh_dtype dtype, const lh_rms_norm_backward_args *args, int64_t r,
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

LH_SPECIALIZED void gain_partial(lh_dtype dtype, const lh_rms_norm_backward_args *args,
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

LH_SPECIALIZED void rows_backward(lh_dtype dtype, const lh_rms_norm_backward_args *args,
                                  lh_range rows, double *partial) {
    if (args->dgain != NULL) gain_partial(dtype, args, rows, partial);
    for (int64_t r = rows.begin; args->dx.data != NULL && r < rows.end; ++r) {
        if (args->dx_write == LH_ADD)
            row_backward(dtype, args, r, true);
        else
            row_backward(dtype, args, r, false);
    }
}

/* Rows of gradients of the gain, one for each chunk. */
typedef struct backward_run {
    const lh_rms_norm_backward_args *args;
    double *partial;
} backward_run;

static void chunk_backward(const void *context, int64_t chunk) {
    const backward_run *run = context;
    const lh_rms_norm_backward_args *args = run->args;
    const lh_range rows = lh_row_chunk(args->rows, args->width, chunk);
    LH_BY_DTYPE(args->x.dtype, rows_backward, args, rows, run->partial + chunk * args->width);
}

lh_status lh_cpu_rms_norm_backward(const lh_launch *launch, const lh_rms_norm_backward_args *args) {
    const backward_run run = {args, launch->workspace};
    lh_each_row_chunk(args->rows, args->width, chunk_backward, &run);
    if (args->dgain != NULL)
        lh_column_join(lh_column_chunks(args->rows, args->width), args->width, run.partial,
                       args->dgain, args->dgain_write);
    return LH_OK;
}
