/* Layer normalisation; statistics and parameter gradients are summed in double. */
#include <math.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"

LH_SPECIALIZED void row_forward(const lh_layer_norm_forward_args *args, lh_dtype dtype, int64_t r) {
    const int64_t width = args->width;
    const void *x = lh_at(args->x, r * width);
    void *y = lh_at(args->y, r * width);
    double sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)lh_load(dtype, x, i);
    const double mean = sum / (double)width;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < width; ++i) {
        const double apart = (double)lh_load(dtype, x, i) - mean;
        squares += apart * apart;
    }
    const double rstd = 1.0 / sqrt(squares / (double)width + (double)args->epsilon);
    args->mean[r] = (real)mean;
    args->rstd[r] = (real)rstd;
    const real m = (real)mean, s = (real)rstd;
    if (args->bias == NULL) {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            lh_store(dtype, y, i, args->gain[i] * ((lh_load(dtype, x, i) - m) * s));
    } else {
#pragma omp simd
        for (int64_t i = 0; i < width; ++i)
            lh_store(dtype, y, i, args->gain[i] * ((lh_load(dtype, x, i) - m) * s) + args->bias[i]);
    }
}

lh_status lh_cpu_layer_norm_forward(const lh_launch *launch,
                                    const lh_layer_norm_forward_args *args) {
    (void)launch;
    if (args->width == 0) return args->rows == 0 ? LH_OK : LH_ESHAPE;
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

static bool wants_sums(const lh_layer_norm_backward_args *args) {
    return args->dgain != NULL || args->dbias != NULL;
}

size_t lh_cpu_layer_norm_backward_workspace(const lh_layer_norm_backward_args *args) {
    return wants_sums(args) ? 2 * lh_column_workspace(args->rows, args->width) : 0;
}

/* With n = (x - mean) rstd and g = gain dy: dx = rstd (g - mean(g) - n mean(g n)). */
LH_SPECIALIZED void row_backward(const lh_layer_norm_backward_args *args, lh_dtype dtype, int64_t r,
                                 bool add) {
    const int64_t width = args->width;
    const void *x = lh_at(args->x, r * width), *dy = lh_at(args->dy, r * width);
    const real *gain = args->gain;
    const double mean = (double)args->mean[r], rstd = (double)args->rstd[r];
    double sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < width; ++i) {
        const double g = (double)gain[i] * (double)lh_load(dtype, dy, i);
        sum += g;
        dot += g * ((double)lh_load(dtype, x, i) - mean);
    }
    const real shift = (real)(sum / (double)width), scale = (real)rstd, m = (real)mean;
    const real pull = (real)(dot * rstd * rstd / (double)width);
    void *dx = lh_at(args->dx, r * width);
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real value =
            scale * (gain[i] * lh_load(dtype, dy, i) - shift - (lh_load(dtype, x, i) - m) * pull);
        lh_store(dtype, dx, i, add ? lh_load(dtype, dx, i) + value : value);
    }
}

LH_SPECIALIZED void partials(const lh_layer_norm_backward_args *args, lh_dtype dtype, lh_range rows,
                             double *gain, double *bias) {
    const int64_t width = args->width;
    for (int64_t i = 0; i < width; ++i)
        gain[i] = bias[i] = 0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const void *x = lh_at(args->x, r * width), *dy = lh_at(args->dy, r * width);
        const double mean = (double)args->mean[r], rstd = (double)args->rstd[r];
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            gain[i] +=
                (double)lh_load(dtype, dy, i) * (((double)lh_load(dtype, x, i) - mean) * rstd);
            bias[i] += (double)lh_load(dtype, dy, i);
        }
    }
}

LH_SPECIALIZED void rows_backward(const lh_layer_norm_backward_args *args, lh_dtype dtype,
                                  lh_range rows, double *gain, double *bias) {
    if (gain != NULL) partials(args, dtype, rows, gain, bias);
    for (int64_t r = rows.begin; args->dx.data != NULL && r < rows.end; ++r) {
        if (args->dx_write == LH_ADD)
            row_backward(args, dtype, r, true);
        else
            row_backward(args, dtype, r, false);
    }
}

lh_status lh_cpu_layer_norm_backward(const lh_launch *launch,
                                     const lh_layer_norm_backward_args *args) {
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    if (width == 0) return args->rows == 0 ? LH_OK : LH_ESHAPE;
    const int64_t chunks = lh_chunk_count(args->rows, size);
    double *gain = launch->workspace, *bias = wants_sums(args) ? gain + chunks * width : NULL;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        double *gains = wants_sums(args) ? gain + chunk * width : NULL;
        double *biases = wants_sums(args) ? bias + chunk * width : NULL;
        if (args->x.dtype == LH_BF16)
            rows_backward(args, LH_BF16, rows, gains, biases);
        else
            rows_backward(args, LH_REAL, rows, gains, biases);
    }
    if (args->dgain != NULL) lh_column_join(chunks, width, gain, args->dgain, args->dgain_write);
    if (args->dbias != NULL) lh_column_join(chunks, width, bias, args->dbias, args->dbias_write);
    return LH_OK;
}
