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

/* y[i] (+)= sum over chunks of partial[chunk][i]. */
static inline void lh_column_join(int64_t chunks, int64_t width, const double *partial, real *y,
                                  lh_write write) {
    for (int64_t i = 0; i < width; ++i) {
        double sum = write == LH_ADD ? (double)y[i] : 0.0;
        for (int64_t c = 0; c < chunks; ++c)
            sum += partial[c * width + i];
        y[i] = (real)sum;
    }
}

#endif
