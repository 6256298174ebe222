#include <math.h>

#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"

static double square_sum(int64_t width, const real *x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

lh_status LH_CPU(rms_norm_forward)(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
            const real *x = args->x + r * width;
            real *y = args->y + r * width;
            const double mean = width > 0 ? square_sum(width, x) / (double)width : 0.0;
            const real rstd = (real)(1.0 / sqrt(mean + (double)args->epsilon));
            args->rstd[r] = rstd;
#pragma omp simd
            for (int64_t i = 0; i < width; ++i)
                y[i] = args->gain[i] * (x[i] * rstd);
        }
    }
    return LH_OK;
}

size_t LH_CPU(rms_norm_backward_workspace)(const lh_rms_norm_backward_args *args) {
    return args->dgain != NULL ? lh_column_workspace(args->rows, args->width) : 0;
}

/* With n = x rstd and g = gain dy: dx = rstd (g - n mean(g n)). */
LH_SPECIALIZED void row_backward(const lh_rms_norm_backward_args *args, int64_t r, bool add) {
    const int64_t width = args->width;
    const real *x = args->x + r * width, *dy = args->dy + r * width, *gain = args->gain;
    const double rstd = (double)args->rstd[r];
    double dot = 0;
#pragma omp simd reduction(+ : dot)
    for (int64_t i = 0; i < width; ++i)
        dot += (double)gain[i] * (double)dy[i] * (double)x[i];
    const real pull = (real)(dot * rstd * rstd * rstd / (double)width), scale = (real)rstd;
    real *dx = args->dx + r * width;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real value = gain[i] * dy[i] * scale - x[i] * pull;
        dx[i] = add ? dx[i] + value : value;
    }
}

static void gain_partial(const lh_rms_norm_backward_args *args, lh_range rows, double *partial) {
    const int64_t width = args->width;
    for (int64_t i = 0; i < width; ++i)
        partial[i] = 0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const real *x = args->x + r * width, *dy = args->dy + r * width;
        const double rstd = (double)args->rstd[r];
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            partial[i] += (double)dy[i] * (double)x[i] * rstd;
    }
}

static void rows_backward(const lh_rms_norm_backward_args *args, lh_range rows) {
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        if (args->dx_write == LH_ADD) {
            row_backward(args, r, true);
        } else {
            row_backward(args, r, false);
        }
    }
}

lh_status LH_CPU(rms_norm_backward)(const lh_launch *launch,
                                    const lh_rms_norm_backward_args *args) {
    if (args->dtype != LH_REAL) return LH_EOPTION;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    double *partial = launch->workspace;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        if (args->dgain != NULL) gain_partial(args, rows, partial + chunk * width);
        if (args->dx != NULL) rows_backward(args, rows);
    }
    if (args->dgain != NULL) {
        lh_column_join(chunks, width, partial, args->dgain, args->dgain_write);
    }
    return LH_OK;
}
