/* Sorts each row of tokens by bucket: a block takes a row. */
#include "kernels/cuda/radix_sort.cuh"

/* The first slot of the bucket that slot `at` belongs to. */
__device__ static inline int64_t bucket_start(const int32_t *bucket, const int32_t *order,
                                              int64_t at) {
    const int32_t own = bucket[order[at]];
    int64_t low = 0, high = at;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (bucket[order[middle]] < own)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__global__ void __launch_bounds__(LH_THREADS)
    sort_rows(lh_lsh_sort_args a, int32_t *workspace, int passes) {
    LH_SHARED(int32_t, counts, [LH_RADIX_DIGITS * LH_THREADS]);
    LH_SHARED(int32_t, totals, [LH_RADIX_DIGITS]);
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const int32_t *bucket = a.bucket + row * a.length;
        int32_t *order = a.order + row * a.length, *other = workspace + row * a.length;
        const auto key_of = [=](int32_t token) { return bucket[token]; };
        lh_radix_sort(a.length, key_of, passes, order, other, counts, totals);
        for (int64_t s = threadIdx.x; s < a.length; s += LH_THREADS) {
            const int64_t start = bucket_start(bucket, order, s);
            a.slot[row * a.length + order[s]] = (int32_t)s;
            a.first[row * a.length + order[s]] =
                (int32_t)lh_max(start, (s / a.chunk - 1) * a.chunk);
        }
        __syncthreads();
    }
}

size_t lh_cuda_lsh_sort_workspace(const lh_lsh_sort_args *args) {
    return (size_t)(args->rows * args->length) * sizeof(int32_t);
}

lh_status lh_cuda_lsh_sort(const lh_launch *launch, const lh_lsh_sort_args *args) {
    if (args->rows * args->length == 0) return LH_OK;
    return LH_LAUNCH(sort_rows, lh_blocks(args->rows, 1), LH_THREADS, 0, launch, *args,
                     (int32_t *)launch->workspace, lh_radix_passes(args->buckets - 1));
}
