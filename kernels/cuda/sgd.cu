/* Gradient descent with momentum and weight decay. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_sgd(const lh_launch *launch, const lh_sgd_args *args) {
    const lh_sgd_args a = *args;
    const real momentum = (real)a.momentum, decay = (real)a.weight_decay;
    return lh_each(launch, a.count, [=] __device__(int64_t i) {
        const real factor = a.factor != NULL ? *a.factor : 1, rate = (real)a.step->rate;
        real change = factor * a.g[i] + decay * a.x[i];
        if (a.m != NULL) a.m[i] = change = momentum * a.m[i] + change;
        a.x[i] -= rate * change;
    });
}
