/* Layer normalisation; statistics and parameter gradients are summed in double. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"

LH_SPECIALIZED void row_forward(lh_dtype dtype, const lh_layer_norm_forward_args *args, int64_t r) {
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

static void chunk_forward(const void *context, int64_t chunk) {
    const lh_layer_norm_forward_args *args = context;
    const lh_range rows = lh_row_chunk(args->rows, args->width, chunk);
    for (int64_t r = rows.begin; r < rows.end; ++r)
        LH_BY_DTYPE(args->x.dtype, row_forward, args, r);
}

lh_status lh_cpu_layer_norm_forward(const lh_launch *launch,
                                    const lh_layer_norm_forward_args *args) {
    (void)launch;
    lh_each_row_chunk(args->rows, args->width, chunk_forward, args);
    return LH_OK;
}

static bool wants_sums(const lh_layer_norm_backward_args *args) {
    return args->dgain != NULL || args->dbias != NULL;
}

size_t lh_cpu_layer_norm_backward_workspace(const lh_layer_norm_backward_args *args) {
    return wants_sums(args) ? 2 * lh_column_workspace(args->rows, args->width) : 0;
}

/* What a row's gradient needs of all its columns. */
typedef struct row_sums {
    double of_g, of_g_apart; /* sums of g and of g (x - mean), with g = gain dy */
} row_sums;

/* Adds the row to the gradients of gain and bias, unless these are NULL, while its values are at
 * hand: turning them into doubles is most of the work. */
LH_SPECIALIZED row_sums sum_row(lh_dtype dtype, const lh_layer_norm_backward_args *args, int64_t r,
                                double *restrict dgain, double *restrict dbias) {
    const void *x = lh_at(args->x, r * args->width), *dy = lh_at(args->dy, r * args->width);
    const real *gain = args->gain;
    const double mean = (double)args->mean[r], rstd = (double)args->rstd[r];
    double sum = 0, dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (int64_t i = 0; i < args->width; ++i) {
        const double d = (double)lh_load(dtype, dy, i);
        const double apart = (double)lh_load(dtype, x, i) - mean;
        const double g = (double)gain[i] * d;
        if (dgain != NULL) {
            dgain[i] += d * (apart * rstd);
            dbias[i] += d;
        }
        sum += g;
        dot += g * apart;
    }
    return (row_sums){sum, dot};
}

/* With n = (x - mean) rstd: dx = rstd (g - mean(g) - n mean(g n)). */
LH_SPECIALIZED void row_backward(lh_dtype dtype, const lh_layer_norm_backward_args *args, int64_t r,
                                 row_sums sums, bool add) {
    const int64_t width = args->width;
    const void *x = lh_at(args->x, r * width), *dy = lh_at(args->dy, r * width);
    const real *gain = args->gain;
    const double rstd = (double)args->rstd[r];
    const real shift = (real)(sums.of_g / (double)width), scale = (real)rstd, m = args->mean[r];
    const real pull = (real)(sums.of_g_apart * rstd * rstd / (double)width);
    void *dx = lh_at(args->dx, r * width);
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real value =
            scale * (gain[i] * lh_load(dtype, dy, i) - shift - (lh_load(dtype, x, i) - m) * pull);
        lh_store(dtype, dx, i, add ? lh_load(dtype, dx, i) + value : value);
    }
}

LH_SPECIALIZED void rows_backward(lh_dtype dtype, const lh_layer_norm_backward_args *args,
                                  lh_range rows, double *gain, double *bias) {
    if (gain != NULL) memset(gain, 0, (size_t)args->width * sizeof *gain);
    if (gain != NULL) memset(bias, 0, (size_t)args->width * sizeof *bias);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const row_sums sums = gain != NULL ? sum_row(dtype, args, r, gain, bias)
                                           : sum_row(dtype, args, r, NULL, NULL);
        if (args->dx.data == NULL) continue;
        if (args->dx_write == LH_ADD)
            row_backward(dtype, args, r, sums, true);
        else
            row_backward(dtype, args, r, sums, false);
    }
}

/* Rows of gradients of gain and bias, one for each chunk; NULL: none are wanted. */
typedef struct backward_run {
    const lh_layer_norm_backward_args *args;
    double *gain, *bias;
} backward_run;

static void chunk_backward(const void *context, int64_t chunk) {
    const backward_run *run = context;
    const lh_layer_norm_backward_args *args = run->args;
    const int64_t width = args->width;
    const lh_range rows = lh_row_chunk(args->rows, width, chunk);
    double *gain = run->gain != NULL ? run->gain + chunk * width : NULL;
    double *bias = run->bias != NULL ? run->bias + chunk * width : NULL;
    LH_BY_DTYPE(args->x.dtype, rows_backward, args, rows, gain, bias);
}

lh_status lh_cpu_layer_norm_backward(const lh_launch *launch,
                                     const lh_layer_norm_backward_args *args) {
    const int64_t width = args->width;
    const int64_t chunks = lh_column_chunks(args->rows, width);
    double *gain = wants_sums(args) ? launch->workspace : NULL,
           *bias = gain != NULL ? gain + chunks * width : NULL;
    const backward_run run = {args, gain, bias};
    lh_each_row_chunk(args->rows, width, chunk_backward, &run);
    if (args->dgain != NULL) lh_column_join(chunks, width, gain, args->dgain, args->dgain_write);
    if (args->dbias != NULL) lh_column_join(chunks, width, bias, args->dbias, args->dbias_write);
    return LH_OK;
}
