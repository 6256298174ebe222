#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

LH_SPECIALIZED void combine(const lh_linear_combination_args *args, lh_range range, bool two,
                            bool add) {
    const real alpha = args->alpha, beta = args->beta;
    const real *a = args->a, *b = args->b;
    real *y = args->y;
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        const real value = two ? alpha * a[i] + beta * b[i] : alpha * a[i];
        y[i] = add ? y[i] + value : value;
    }
}

static void combine_range(const lh_linear_combination_args *args, lh_range range) {
    const bool two = args->b != NULL;
    const bool add = args->write == LH_ADD;
    if (two && add)
        combine(args, range, true, true);
    else if (two)
        combine(args, range, true, false);
    else if (add)
        combine(args, range, false, true);
    else
        combine(args, range, false, false);
}

lh_status LH_CPU(linear_combination)(const lh_launch *launch,
                                     const lh_linear_combination_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        combine_range(args, lh_chunk(args->count, LH_CHUNK, chunk));
    return LH_OK;
}
