/* Adam and AdamW, several elements to a thread. */
#include "kernels/cuda/launch.cuh"

enum { PER_THREAD = 8 }; /* the powers of beta are made once for so many elements */

__global__ void __launch_bounds__(LH_THREADS) adam_kernel(lh_adam_args a) {
    const double steps = (double)a.step->step + 1.0;
    const real first = (real)(1.0 / (1.0 - pow(a.beta1, steps)));
    const real second = (real)(1.0 / (1.0 - pow(a.beta2, steps)));
    const real beta1 = (real)a.beta1, beta2 = (real)a.beta2, rate = (real)a.step->rate;
    const real rest1 = (real)(1.0 - a.beta1), rest2 = (real)(1.0 - a.beta2);
    const real joined = a.decoupled ? 0 : (real)a.weight_decay;
    const real apart = a.decoupled ? (real)(a.step->rate * a.weight_decay) : 0;
    const real factor = a.factor != NULL ? *a.factor : 1, epsilon = (real)a.epsilon;
    const int64_t step = (int64_t)gridDim.x * LH_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * LH_THREADS + threadIdx.x; i < a.count; i += step) {
        const real x = a.x[i], g = factor * a.g[i] + joined * x;
        const real m = beta1 * a.m[i] + rest1 * g, v = beta2 * a.v[i] + rest2 * g * g;
        a.m[i] = m;
        a.v[i] = v;
        a.x[i] = x - (rate * (m * first) / (sqrtf(v * second) + epsilon) + apart * x);
    }
}

lh_status lh_cuda_adam(const lh_launch *launch, const lh_adam_args *args) {
    if (args->count <= 0) return LH_OK;
    return LH_LAUNCH(adam_kernel, lh_blocks(args->count, PER_THREAD * LH_THREADS), LH_THREADS, 0,
                     launch, *args);
}
