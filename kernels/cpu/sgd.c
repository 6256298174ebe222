/* Gradient descent with momentum and weight decay. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

static void update(const lh_sgd_args *args, lh_range range, real factor) {
    const real rate = (real)args->step->rate, momentum = (real)args->momentum;
    const real decay = (real)args->weight_decay;
    real *x = args->x, *m = args->m;
    if (m == NULL) {
#pragma omp simd
        for (int64_t i = range.begin; i < range.end; ++i) {
            x[i] -= rate * (factor * args->g[i] + decay * x[i]);
        }
        return;
    }
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        m[i] = momentum * m[i] + (factor * args->g[i] + decay * x[i]);
        x[i] -= rate * m[i];
    }
}

lh_status lh_cpu_sgd(const lh_launch *launch, const lh_sgd_args *args) {
    (void)launch;
    const real factor = args->factor != NULL ? *args->factor : 1;
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        update(args, lh_chunk(args->count, LH_CHUNK, chunk), factor);
    }
    return LH_OK;
}
