#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_linear_combination(const lh_launch *launch,
                                     const lh_linear_combination_args *args) {
    const lh_linear_combination_args a = *args;
    return lh_each(launch, a.count, [=] __device__(int64_t i) {
        real value = a.alpha * a.a[i];
        if (a.b != NULL) value += a.beta * a.b[i];
        lh_store(&a.y[i], a.write, value);
    });
}
