/* Normal random numbers by their place in a stream. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

lh_status lh_cpu_normal(const lh_launch *launch, const lh_normal_args *args) {
    (void)launch;
    const int64_t size = LH_CHUNK / 16, chunks = lh_chunk_count(args->count, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(args->count, size, chunk);
        for (int64_t i = range.begin; i < range.end; ++i)
            args->x[i] = (real)lh_random_normal(*args->key, (uint64_t)(args->first + i));
    }
    return LH_OK;
}
