/* The sum of squares of a tensor, chunks joined in order. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

size_t lh_cpu_sum_squares_workspace(const lh_sum_squares_args *args) {
    return (size_t)lh_chunk_count(args->count, LH_CHUNK) * sizeof(double);
}

lh_status lh_cpu_sum_squares(const lh_launch *launch, const lh_sum_squares_args *args) {
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
    double *partial = launch->workspace;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(args->count, LH_CHUNK, chunk);
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = range.begin; i < range.end; ++i) {
            sum += (double)args->x[i] * (double)args->x[i];
        }
        partial[chunk] = sum;
    }
    double total = args->write == LH_ADD ? args->y[0] : 0.0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        total += partial[chunk];
    args->y[0] = total;
    return LH_OK;
}
