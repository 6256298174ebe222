/* Rows that begin afresh get a learned value, the others keep theirs. */
#include <string.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

enum { PANEL = 256 };

lh_status lh_cpu_select_rows_forward(const lh_launch *launch,
                                     const lh_select_rows_forward_args *args) {
    (void)launch;
    const int64_t width = args->width;
    const size_t bytes = (size_t)width * sizeof(real);
    if (bytes == 0) return LH_OK;
    const int64_t size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->batch, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->batch, size, chunk);
        for (int64_t b = rows.begin; b < rows.end; ++b)
            memcpy(args->y + b * width, args->flag[b] ? args->a : args->x + b * width, bytes);
    }
    return LH_OK;
}

static void backward_a(const lh_select_rows_backward_args *args, lh_range columns) {
    const int64_t width = columns.end - columns.begin;
    double sum[PANEL] = {0};
    for (int64_t b = 0; b < args->batch; ++b) {
        if (!args->flag[b]) continue;
        const real *dy = args->dy + b * args->width + columns.begin;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c)
            sum[c] += (double)dy[c];
    }
    real *da = args->da + columns.begin;
    const bool add = args->da_write == LH_ADD;
    for (int64_t c = 0; c < width; ++c)
        da[c] = (real)(add ? (double)da[c] + sum[c] : sum[c]);
}

static void backward_x(const lh_select_rows_backward_args *args, int64_t b) {
    const real *dy = args->dy + b * args->width;
    real *dx = args->dx + b * args->width;
    const size_t bytes = (size_t)args->width * sizeof(real);
    if (args->dx_write == LH_SET && args->flag[b]) {
        memset(dx, 0, bytes);
    } else if (args->dx_write == LH_SET) {
        memmove(dx, dy, bytes);
    } else if (!args->flag[b]) {
#pragma omp simd
        for (int64_t c = 0; c < args->width; ++c)
            dx[c] += dy[c];
    }
}

lh_status lh_cpu_select_rows_backward(const lh_launch *launch,
                                      const lh_select_rows_backward_args *args) {
    (void)launch;
    const bool large = args->batch * args->width > LH_CHUNK;
    if (args->width == 0) return LH_OK;
    if (args->da != NULL) {
        const int64_t panels = lh_chunk_count(args->width, PANEL);
#pragma omp parallel for schedule(static) if (large)
        for (int64_t panel = 0; panel < panels; ++panel)
            backward_a(args, lh_chunk(args->width, PANEL, panel));
    }
    if (args->dx != NULL) {
#pragma omp parallel for schedule(static) if (large)
        for (int64_t b = 0; b < args->batch; ++b)
            backward_x(args, b);
    }
    return LH_OK;
}
