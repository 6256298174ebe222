/* Adam and AdamW, element by element. */
#include <math.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

/* What one step multiplies with, in the compute type. */
typedef struct coefficients {
    real beta1, beta2, rest1, rest2;   /* rest: 1 - beta, which a small difference needs exact */
    real first, second;                /* 1 / (1 - beta^(t + 1)) */
    real rate, epsilon, joined, apart; /* weight decay inside the gradient, or beside it */
    real factor;
} coefficients;

static coefficients prepare(const lh_adam_args *args) {
    const double steps = (double)args->step->step + 1.0;
    return (coefficients){.beta1 = (real)args->beta1,
                          .beta2 = (real)args->beta2,
                          .rest1 = (real)(1.0 - args->beta1),
                          .rest2 = (real)(1.0 - args->beta2),
                          .first = (real)(1.0 / (1.0 - pow(args->beta1, steps))),
                          .second = (real)(1.0 / (1.0 - pow(args->beta2, steps))),
                          .rate = (real)args->step->rate,
                          .epsilon = (real)args->epsilon,
                          .joined = args->decoupled ? 0 : (real)args->weight_decay,
                          .apart =
                              args->decoupled ? (real)(args->step->rate * args->weight_decay) : 0,
                          .factor = args->factor != NULL ? *args->factor : 1};
}

static void update(const lh_adam_args *args, lh_range range, const coefficients k) {
    real *x = args->x, *m = args->m, *v = args->v;
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        const real g = k.factor * args->g[i] + k.joined * x[i];
        m[i] = k.beta1 * m[i] + k.rest1 * g;
        v[i] = k.beta2 * v[i] + k.rest2 * g * g;
        const real root = (real)sqrt((double)(v[i] * k.second)) + k.epsilon;
        x[i] -= k.rate * (m[i] * k.first) / root + k.apart * x[i];
    }
}

lh_status lh_cpu_adam(const lh_launch *launch, const lh_adam_args *args) {
    (void)launch;
    const coefficients k = prepare(args);
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        update(args, lh_chunk(args->count, LH_CHUNK, chunk), k);
    }
    return LH_OK;
}
