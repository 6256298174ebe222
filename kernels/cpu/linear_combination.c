/* alpha a + beta b, which is also how gradients are added and scaled. */
#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

LH_SPECIALIZED void combine(const lh_linear_combination_args *args, lh_dtype dtype, lh_dtype other,
                            lh_range range, bool two, bool add) {
    const real alpha = args->alpha, beta = args->beta;
    const void *a = args->a.data, *b = args->b.data;
    void *y = args->y.data;
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        const real first = alpha * lh_load(dtype, a, i);
        const real value = two ? first + beta * lh_load(other, b, i) : first;
        lh_store(dtype, y, i, add ? lh_load(dtype, y, i) + value : value);
    }
}

LH_SPECIALIZED void combine_range(const lh_linear_combination_args *args, lh_dtype dtype,
                                  lh_dtype other, lh_range range) {
    const bool two = args->b.data != NULL;
    const bool add = args->write == LH_ADD;
    if (two && add)
        combine(args, dtype, other, range, true, true);
    else if (two)
        combine(args, dtype, other, range, true, false);
    else if (add)
        combine(args, dtype, other, range, false, true);
    else
        combine(args, dtype, other, range, false, false);
}

LH_SPECIALIZED void combine_others(const lh_linear_combination_args *args, lh_dtype dtype,
                                   lh_range range) {
    if (args->b.dtype == LH_BF16)
        combine_range(args, dtype, LH_BF16, range);
    else
        combine_range(args, dtype, LH_REAL, range);
}

lh_status lh_cpu_linear_combination(const lh_launch *launch,
                                    const lh_linear_combination_args *args) {
    (void)launch;
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(args->count, LH_CHUNK, chunk);
        if (args->y.dtype == LH_BF16)
            combine_others(args, LH_BF16, range);
        else
            combine_others(args, LH_REAL, range);
    }
    return LH_OK;
}
