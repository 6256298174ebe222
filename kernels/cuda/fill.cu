/* Sets all elements to one value. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_fill(const lh_launch *launch, const lh_fill_args *args) {
    const lh_fill_args a = *args;
    return lh_each(launch, a.count, [=] __device__(int64_t i) { a.x[i] = a.value; });
}
