/* The gradient of a maximum, at the first place that holds it. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_maximum_backward(const lh_launch *launch, const lh_maximum_backward_args *args) {
    const lh_maximum_backward_args a = *args;
    return lh_each(launch, a.outer * a.inner, [=] __device__(int64_t n) {
        const int64_t first = n / a.inner * a.axis * a.inner + n % a.inner;
        int64_t best = 0;
        for (int64_t k = 1; k < a.axis; ++k)
            if (a.x[first + k * a.inner] > a.x[first + best * a.inner]) best = k;
        for (int64_t k = 0; k < a.axis; ++k)
            lh_store(&a.dx[first + k * a.inner], a.write, k == best ? a.dy[n] : 0);
    });
}
