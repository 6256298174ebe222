#include "kernels/cuda/warp.cuh"

enum { STRETCH = 4096 };

size_t lh_cuda_sum_squares_workspace(const lh_sum_squares_args *args) {
    return (size_t)lh_chunk_count(args->count, STRETCH) * sizeof(double);
}

lh_status lh_cuda_sum_squares(const lh_launch *launch, const lh_sum_squares_args *args) {
    const lh_sum_squares_args a = *args;
    double *partial = (double *)launch->workspace;
    const int64_t stretches = lh_chunk_count(a.count, STRETCH);
    LH_CUDA_TRY(lh_each_row(launch, stretches, [=] __device__(int64_t n, int lane) {
        const int64_t end = lh_min(a.count, (n + 1) * STRETCH);
        double sum = 0;
        for (int64_t i = n * STRETCH + lane; i < end; i += LH_WARP)
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
