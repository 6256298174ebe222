/* The sum of squares of a tensor: warps sum stretches, one joins them. */
#include "kernels/cuda/warp.cuh"

enum { STRETCH_LEAST = 4096, STRETCHES_MOST = 8192 };

/* Elements of a stretch, which a warp sums: enough of them for any GPU, few for the one warp that
 * joins them. */
static int64_t stretch_of(int64_t count) {
    return lh_max(STRETCH_LEAST, lh_chunk_count(count, STRETCHES_MOST));
}

size_t lh_cuda_sum_squares_workspace(const lh_sum_squares_args *args) {
    return (size_t)lh_chunk_count(args->count, stretch_of(args->count)) * sizeof(double);
}

lh_status lh_cuda_sum_squares(const lh_launch *launch, const lh_sum_squares_args *args) {
    const lh_sum_squares_args a = *args;
    double *partial = (double *)launch->workspace;
    const int64_t stretch = stretch_of(a.count), stretches = lh_chunk_count(a.count, stretch);
    LH_CUDA_TRY(lh_each_row(launch, stretches, [=] __device__(int64_t n, int lane) {
        const int64_t end = lh_min(a.count, (n + 1) * stretch);
        double sum = 0;
        for (int64_t i = n * stretch + lane; i < end; i += LH_WARP)
            sum += (double)a.x[i] * (double)a.x[i];
        sum = lh_warp_sum(sum);
        if (lane == 0) partial[n] = sum;
    }));
    return lh_each_row(launch, 1, [=] __device__(int64_t, int lane) {
        double sum = 0;
        for (int64_t n = lane; n < stretches; n += LH_WARP)
            sum += partial[n];
        sum = lh_warp_sum(sum);
        if (lane == 0) *a.y = a.write == LH_ADD ? *a.y + sum : sum;
    });
}
