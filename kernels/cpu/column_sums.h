/* Sums over rows of something made row by row (parameter gradients): each chunk of rows leaves a
 * partial row in workspace, and the partial rows are joined in chunk order, so any thread count
 * gives the same bits. */
#ifndef LH_KERNELS_CPU_COLUMN_SUMS_H
#define LH_KERNELS_CPU_COLUMN_SUMS_H

#include "kernels/cpu/parallel.h"

static inline int64_t lh_column_chunks(int64_t rows, int64_t width) {
    return lh_chunk_count(rows, lh_rows_per_chunk(width));
}

static inline size_t lh_column_workspace(int64_t rows, int64_t width) {
    return (size_t)(lh_column_chunks(rows, width) * width) * sizeof(double);
}

/* Columns joined side by side. */
enum { LH_JOIN_PANEL = 64 };

static inline void lh_column_join_panel(int64_t chunks, int64_t width, lh_range columns,
                                        const double *partial, real *y, lh_write write) {
    double sum[LH_JOIN_PANEL];
    const int64_t count = columns.end - columns.begin;
    for (int64_t i = 0; i < count; ++i)
        sum[i] = write == LH_ADD ? (double)y[columns.begin + i] : 0.0;
    for (int64_t c = 0; c < chunks; ++c) {
        const double *from = partial + c * width + columns.begin;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
            sum[i] += from[i];
    }
    for (int64_t i = 0; i < count; ++i)
        y[columns.begin + i] = (real)sum[i];
}

/* y[i] (+)= sum over chunks of partial[chunk][i]. */
static inline void lh_column_join(int64_t chunks, int64_t width, const double *partial, real *y,
                                  lh_write write) {
    const int64_t panels = lh_chunk_count(width, LH_JOIN_PANEL);
#pragma omp parallel for schedule(static) if (chunks * width > LH_CHUNK)
    for (int64_t panel = 0; panel < panels; ++panel)
        lh_column_join_panel(chunks, width, lh_chunk(width, LH_JOIN_PANEL, panel), partial, y,
                             write);
}

#endif
