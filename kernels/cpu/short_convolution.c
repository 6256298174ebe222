/* The causal convolution of each channel: a row of channels is a sum of rows, each times a row of
 * weights, which are laid out for that in workspace. */
#include <string.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

/* Tokens of a task; in sums over tokens, taps and channels side by side and tokens at once. */
enum { TOKENS = 32, TAPS = 8, PANEL = 64, SUMMED = 8 };

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

/* sum += dy x over some tokens, few enough to be added in reals first, for the channels of a panel;
 * x NULL: sum += dy. */
LH_SPECIALIZED void add_tokens(int64_t tokens, int64_t count, int64_t width, const real *dy,
                               const real *x, double *sum) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
        real part = 0;
        for (int64_t t = 0; t < tokens; ++t)
            part += x != NULL ? dy[t * width + c] * x[t * width + c] : dy[t * width + c];
        sum[c] += (double)part;
    }
}

/* The sums of some taps over tokens [t, t + tokens) of a batch row, before which as many lie in x
 * as the taps read, or the single token t; tap `kernel` is the bias. */
LH_SPECIALIZED void add_taps(const lh_short_convolution_backward_args *args, int64_t tokens,
                             int64_t batch, int64_t t, lh_range taps, lh_range panel,
                             double sum[TAPS][PANEL]) {
    const int64_t width = args->width, kernel = args->kernel, count = panel.end - panel.begin;
    const real *dy = args->dy + (batch * args->length + t) * width + panel.begin;
    for (int64_t j = taps.begin; j < lh_min(kernel, taps.end); ++j) {
        const real *x =
            token(args->x, args->before, args->length, width, kernel, batch, t - kernel + 1 + j);
        add_tokens(tokens, count, width, dy, x + panel.begin, sum[j - taps.begin]);
    }
    if (taps.end > kernel) add_tokens(tokens, count, width, dy, NULL, sum[kernel - taps.begin]);
}

/* The same over all tokens, so that dy is read once for these taps. */
static void sum_tokens(const lh_short_convolution_backward_args *args, lh_range taps,
                       lh_range panel, double sum[TAPS][PANEL]) {
    for (int64_t batch = 0; batch < args->batch; ++batch) {
        int64_t t = 0;
        for (; t < lh_min(args->kernel - 1, args->length); ++t)
            add_taps(args, 1, batch, t, taps, panel, sum);
        for (; t + SUMMED <= args->length; t += SUMMED)
            add_taps(args, SUMMED, batch, t, taps, panel, sum);
        for (; t < args->length; ++t)
            add_taps(args, 1, batch, t, taps, panel, sum);
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
