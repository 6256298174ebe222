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

typedef struct lh_column_sum {
    int64_t chunks, width;
    const double *partial;
    real *y;
    lh_write write;
} lh_column_sum;

static inline void lh_column_join_panel(const void *context, int64_t panel) {
    const lh_column_sum *of = context;
    const lh_range columns = lh_chunk(of->width, LH_JOIN_PANEL, panel);
    double sum[LH_JOIN_PANEL];
    real *y = of->y + columns.begin;
    const int64_t count = columns.end - columns.begin;
    for (int64_t i = 0; i < count; ++i)
        sum[i] = of->write == LH_ADD ? (double)y[i] : 0.0;
    for (int64_t c = 0; c < of->chunks; ++c) {
        const double *from = of->partial + c * of->width + columns.begin;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
            sum[i] += from[i];
    }
    for (int64_t i = 0; i < count; ++i)
        y[i] = (real)sum[i];
}

/* y[i] (+)= sum over chunks of partial[chunk][i]. */
static inline void lh_column_join(int64_t chunks, int64_t width, const double *partial, real *y,
                                  lh_write write) {
    const lh_column_sum of = {chunks, width, partial, y, write};
    lh_each_task(lh_chunk_count(width, LH_JOIN_PANEL), chunks * width > LH_CHUNK,
                 lh_column_join_panel, &of);
}

#endif
