#include <math.h>

#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"

static void row_forward(const lh_layer_norm_forward_args *args, int64_t r) {
    const int64_t width = args->width;
    const real *x = args->x + r * width;
    real *y = args->y + r * width;
    double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)x[i];
    const double mean = sum / (double)width;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; ++i) {
        const double apart = (double)x[i] - mean;
        squares += apart * apart;
    }
    const double rstd = 1.0 / sqrt(squares / (double)width + (double)args->epsilon);
    args->mean[r] = (real)mean;
    args->rstd[r] = (real)rstd;
    const real m = (real)mean, s = (real)rstd;
    if (args->bias == NULL) {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            y[i] = args->gain[i] * ((x[i] - m) * s);
    } else {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            y[i] = args->gain[i] * ((x[i] - m) * s) + args->bias[i];
    }
}

lh_status LH_CPU(layer_norm_forward)(const lh_launch *launch,
                                     const lh_layer_norm_forward_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    if (args->width == 0) return args->rows == 0 ? LH_OK : LH_ESHAPE;
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

static bool wants_sums(const lh_layer_norm_backward_args *args) {
    return args->dgain != NULL || args->dbias != NULL;
}

size_t LH_CPU(layer_norm_backward_workspace)(const lh_layer_norm_backward_args *args) {
    return wants_sums(args) ? 2 * lh_column_workspace(args->rows, args->width) : 0;
}

/* With n = (x - mean) rstd and g = gain dy: dx = rstd (g - mean(g) - n mean(g n)). */
LH_SPECIALIZED void row_backward(const lh_layer_norm_backward_args *args, int64_t r, bool add) {
    const int64_t width = args->width;
    const real *x = args->x + r * width, *dy = args->dy + r * width, *gain = args->gain;
    const double mean = (double)args->mean[r], rstd = (double)args->rstd[r];
    double sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < width; ++i) {
        const double g = (double)gain[i] * (double)dy[i];
        sum += g;
        dot += g * ((double)x[i] - mean);
    }
    const real shift = (real)(sum / (double)width), scale = (real)rstd, m = (real)mean;
    const real pull = (real)(dot * rstd * rstd / (double)width);
    real *dx = args->dx + r * width;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real value = scale * (gain[i] * dy[i] - shift - (x[i] - m) * pull);
        dx[i] = add ? dx[i] + value : value;
    }
}

static void rows_backward(const lh_layer_norm_backward_args *args, lh_range rows) {
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        if (args->dx_write == LH_ADD) {
            row_backward(args, r, true);
        } else {
            row_backward(args, r, false);
        }
    }
}

static void partials(const lh_layer_norm_backward_args *args, lh_range rows, double *gain,
                     double *bias) {
    const int64_t width = args->width;
    for (int64_t i = 0; i < width; ++i)
        gain[i] = bias[i] = 0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const real *x = args->x + r * width, *dy = args->dy + r * width;
        const double mean = (double)args->mean[r], rstd = (double)args->rstd[r];
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            gain[i] += (double)dy[i] * (((double)x[i] - mean) * rstd);
            bias[i] += (double)dy[i];
        }
    }
}

lh_status LH_CPU(layer_norm_backward)(const lh_launch *launch,
                                      const lh_layer_norm_backward_args *args) {
    if (args->dtype != LH_REAL) return LH_EOPTION;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    if (width == 0) return args->rows == 0 ? LH_OK : LH_ESHAPE;
    const int64_t chunks = lh_chunk_count(args->rows, size);
    double *gain = launch->workspace, *bias = wants_sums(args) ? gain + chunks * width : NULL;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        if (wants_sums(args)) partials(args, rows, gain + chunk * width, bias + chunk * width);
        if (args->dx != NULL) rows_backward(args, rows);
    }
    if (args->dgain != NULL) lh_column_join(chunks, width, gain, args->dgain, args->dgain_write);
    if (args->dbias != NULL) lh_column_join(chunks, width, bias, args->dbias, args->dbias_write);
    return LH_OK;
}
