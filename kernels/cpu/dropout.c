#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

/* One run of `width` elements whose words begin at `first`: four neighbours share a Philox block.
 */
static void run(const lh_dropout_args *args, lh_random_key key, uint64_t first, const real *x,
                real *y) {
    const uint32_t threshold = lh_dropout_threshold(args->rate);
    const real kept = (real)(1.0 / (1.0 - args->rate));
    lh_random_block block = lh_random_words(key, first >> 2);
    for (int64_t i = 0; i < args->width; ++i) {
        const uint64_t index = first + (uint64_t)i;
        if ((index & 3u) == 0) block = lh_random_words(key, index >> 2);
        const real value = block.word[index & 3u] >= threshold ? x[i] * kept : 0;
        y[i] = args->write == LH_ADD ? y[i] + value : value;
    }
}

lh_status LH_CPU(dropout)(const lh_launch *launch, const lh_dropout_args *args) {
    (void)launch;
    if (args->rate < 0 || args->rate >= 1) return LH_EOPTION;
    const int64_t width = args->width, rows = args->outer * args->length;
    const int64_t size = lh_rows_per_chunk(4 * width), chunks = lh_chunk_count(rows, size);
    const lh_random_key key = *args->key;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(rows, size, chunk);
        for (int64_t r = range.begin; r < range.end; ++r) {
            const int64_t t = args->period > 0 ? r % args->length % args->period : r;
            run(args, key, (uint64_t)(t * width), args->x + r * width, args->y + r * width);
        }
    }
    return LH_OK;
}
