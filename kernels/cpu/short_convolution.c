/* The causal convolution of each channel: a row of channels is a sum of rows, each times a row of
 * weights, which are laid out for that in workspace. */
#include <string.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

/* Tokens of a task; taps and channels side by side in sums over tokens. */
enum { TOKENS = 32, TAPS = 8, PANEL = 64 };

/* to [kernel][width] */
static void lay_out(const real *weight, int64_t width, int64_t kernel, real *to) {
    for (int64_t c = 0; c < width; ++c)
        for (int64_t j = 0; j < kernel; ++j)
            to[j * width + c] = weight[c * kernel + j];
}

/* y += w x */
static void add_product(int64_t width, const real *w, const real *x, real *y) {
#pragma omp simd
    for (int64_t c = 0; c < width; ++c)
        y[c] += w[c] * x[c];
}

/* Token t of a batch row, from 1 - kernel on. */
static const real *token(const real *x, const real *before, int64_t length, int64_t width,
                         int64_t kernel, int64_t batch, int64_t t) {
    return t >= 0 ? x + (batch * length + t) * width
                  : before + (batch * (kernel - 1) + kernel - 1 + t) * width;
}

static void run_tokens(const lh_short_convolution_forward_args *args, const real *weight,
                       int64_t batch, lh_range tokens) {
    const int64_t width = args->width, kernel = args->kernel;
    for (int64_t t = tokens.begin; t < tokens.end; ++t) {
        real *y = args->y + (batch * args->length + t) * width;
        if (args->bias == NULL) memset(y, 0, (size_t)width * sizeof *y);
        if (args->bias != NULL) memcpy(y, args->bias, (size_t)width * sizeof *y);
        for (int64_t j = 0; j < kernel; ++j)
            add_product(width, weight + j * width,
                        token(args->x, args->before, args->length, width, kernel, batch,
                              t - kernel + 1 + j),
                        y);
    }
}

size_t lh_cpu_short_convolution_forward_workspace(const lh_short_convolution_forward_args *args) {
    return (size_t)(args->width * args->kernel) * sizeof(real);
}

lh_status lh_cpu_short_convolution_forward(const lh_launch *launch,
                                           const lh_short_convolution_forward_args *args) {
    const int64_t chunks = lh_chunk_count(args->length, TOKENS), tasks = args->batch * chunks;
    if (args->kernel < 1) return LH_ESHAPE;
    lay_out(args->weight, args->width, args->kernel, launch->workspace);
#pragma omp parallel for schedule(static) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task)
        run_tokens(args, launch->workspace, task / chunks,
                   lh_chunk(args->length, TOKENS, task % chunks));
    return LH_OK;
}

/* ---- Backward ---- */

/* dx_t (+)= sum over j of weight_j dy_{t + kernel - 1 - j} */
static void run_tokens_back(const lh_short_convolution_backward_args *args, const real *weight,
                            int64_t batch, lh_range tokens) {
    const int64_t width = args->width, kernel = args->kernel;
    for (int64_t t = tokens.begin; t < tokens.end; ++t) {
        real *dx = args->dx + (batch * args->length + t) * width;
        if (args->dx_write == LH_SET) memset(dx, 0, (size_t)width * sizeof *dx);
        for (int64_t j = lh_max(0, t + kernel - args->length); j < kernel; ++j)
            add_product(width, weight + j * width,
                        args->dy + (batch * args->length + t + kernel - 1 - j) * width, dx);
    }
}

/* sum += dy x for the channels of a panel. */
static void add_products(int64_t count, const real *dy, const real *x, double *sum) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
        sum[c] += (double)dy[c] * (double)x[c];
}

static void add_row(int64_t count, const real *dy, double *sum) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
        sum[c] += (double)dy[c];
}

/* The sums over all tokens of some taps, which read dy once; tap `kernel` is the bias. */
static void sum_tokens(const lh_short_convolution_backward_args *args, lh_range taps,
                       lh_range panel, double sum[TAPS][PANEL]) {
    const int64_t width = args->width, kernel = args->kernel, count = panel.end - panel.begin;
    for (int64_t row = 0; row < args->batch * args->length; ++row) {
        const int64_t batch = row / args->length, t = row % args->length;
        const real *dy = args->dy + row * width + panel.begin;
        for (int64_t j = taps.begin; j < lh_min(kernel, taps.end); ++j)
            add_products(count, dy,
                         token(args->x, args->before, args->length, width, kernel, batch,
                               t - kernel + 1 + j) +
                             panel.begin,
                         sum[j - taps.begin]);
        if (taps.end > kernel) add_row(count, dy, sum[kernel - taps.begin]);
    }
}

static void run_panel(const lh_short_convolution_backward_args *args, lh_range taps,
                      lh_range panel) {
    double sum[TAPS][PANEL] = {0};
    sum_tokens(args, taps, panel, sum);
    for (int64_t j = taps.begin; j < taps.end; ++j) {
        const bool bias = j == args->kernel;
        real *to = bias ? args->dbias : args->dweight;
        const bool add = (bias ? args->dbias_write : args->dweight_write) == LH_ADD;
        for (int64_t c = panel.begin; to != NULL && c < panel.end; ++c) {
            real *y = to + (bias ? c : c * args->kernel + j);
            *y = (real)(sum[j - taps.begin][c - panel.begin] + (add ? (double)*y : 0.0));
        }
    }
}

size_t lh_cpu_short_convolution_backward_workspace(const lh_short_convolution_backward_args *args) {
    return (size_t)(args->width * args->kernel) * sizeof(real);
}

lh_status lh_cpu_short_convolution_backward(const lh_launch *launch,
                                            const lh_short_convolution_backward_args *args) {
    const int64_t chunks = lh_chunk_count(args->length, TOKENS);
    const int64_t tasks = args->dx != NULL ? args->batch * chunks : 0;
    const int64_t all = args->kernel + 1, groups = lh_chunk_count(all, TAPS);
    const bool sums = args->dweight != NULL || args->dbias != NULL;
    const int64_t panels = sums ? lh_chunk_count(args->width, PANEL) : 0;
    if (args->kernel < 1) return LH_ESHAPE;
    lay_out(args->weight, args->width, args->kernel, launch->workspace);
#pragma omp parallel for schedule(static) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task)
        run_tokens_back(args, launch->workspace, task / chunks,
                        lh_chunk(args->length, TOKENS, task % chunks));
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < panels * groups; ++task)
        run_panel(args, lh_chunk(all, TAPS, task % groups),
                  lh_chunk(args->width, PANEL, task / groups));
    return LH_OK;
}
