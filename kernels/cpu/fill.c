/* Sets all elements to one value. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

lh_status lh_cpu_fill(const lh_launch *launch, const lh_fill_args *args) {
    (void)launch;
    const int64_t count = args->count;
    const real value = args->value;
    real *x = args->x;
    const int64_t chunks = lh_chunk_count(count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, LH_CHUNK, chunk);
#pragma omp simd
        for (int64_t i = range.begin; i < range.end; ++i)
            x[i] = value;
    }
    return LH_OK;
}
