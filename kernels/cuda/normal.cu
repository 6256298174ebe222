/* Normal random numbers by their place in a stream. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_normal(const lh_launch *launch, const lh_normal_args *args) {
    const lh_normal_args a = *args;
    return lh_each(launch, a.count, [=] __device__(int64_t i) {
        a.x[i] = (real)lh_random_normal(*a.key, (uint64_t)(a.first + i));
    });
}
