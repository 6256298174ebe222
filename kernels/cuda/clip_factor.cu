/* The factor that clips gradients to a norm, by one thread. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_clip_factor(const lh_launch *launch, const lh_clip_factor_args *args) {
    const lh_clip_factor_args a = *args;
    return lh_each(launch, 1, [=] __device__(int64_t) {
        const double norm = sqrt(*a.sum_squares);
        const bool clips = a.max_norm > 0 && !(norm <= a.max_norm);
        *a.factor = (real)(clips ? a.max_norm / norm : 1.0);
    });
}
