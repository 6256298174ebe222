/* Sums over the rows of a matrix, column by column, in a fixed order: a thread sums a stretch of
 * rows of one column, a warp joins the stretches. */
#ifndef LH_KERNELS_CUDA_COLUMN_SUMS_CUH
#define LH_KERNELS_CUDA_COLUMN_SUMS_CUH

#include "kernels/cuda/warp.cuh"

enum { LH_COLUMN_STRETCH = 64 };

/* Bytes of workspace for one sum. */
static inline size_t lh_column_workspace(int64_t rows, int64_t width) {
    const size_t count = (size_t)(lh_chunk_count(rows, LH_COLUMN_STRETCH) * width);
    return lh_round_up(count * sizeof(real), 64);
}

/* y[c] (+)= sum over r of value(r, c), a __device__ lambda. */
template <typename function>
static inline lh_status lh_column_sums(const lh_launch *launch, int64_t rows, int64_t width,
                                       void *workspace, real *y, lh_write write, function value) {
    const int64_t stretches = lh_chunk_count(rows, LH_COLUMN_STRETCH);
    real *partial = (real *)workspace;
    LH_CUDA_TRY(lh_each(launch, stretches * width, [=] __device__(int64_t i) {
        const int64_t first = i / width * LH_COLUMN_STRETCH, column = i % width;
        const int64_t end = lh_min(rows, first + LH_COLUMN_STRETCH);
        real sum = 0;
        for (int64_t r = first; r < end; ++r)
            sum += value(r, column);
        partial[i] = sum;
    }));
    return lh_each_row(launch, width, [=] __device__(int64_t column, int lane) {
        double sum = 0;
        for (int64_t n = lane; n < stretches; n += LH_WARP)
            sum += (double)partial[n * width + column];
        sum = lh_warp_sum(sum);
        if (lane == 0) lh_store(&y[column], write, (real)sum);
    });
}

#endif
