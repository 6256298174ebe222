/* Radix sort of each row of tokens by bucket, four bits at a time, stable: a block takes a row, a
 * thread a run of its slots. */
#include "kernels/cuda/warp.cuh"

enum { BITS = 4, DIGITS = 1 << BITS };

/* Turns counts[digit][thread] into where each thread puts its first token of each digit. */
__device__ static inline void sum_counts(int32_t *counts, int32_t *totals) {
    const int digit = (int)threadIdx.x;
    if (digit < DIGITS) {
        int32_t sum = 0;
        for (int t = 0; t < LH_THREADS; ++t) {
            const int32_t count = counts[digit * LH_THREADS + t];
            counts[digit * LH_THREADS + t] = sum;
            sum += count;
        }
        totals[digit] = sum;
    }
    __syncthreads();
    int32_t before = 0;
    for (int d = 0; d < DIGITS; ++d) {
        counts[d * LH_THREADS + threadIdx.x] += before;
        before += totals[d];
    }
    __syncthreads();
}

/* One pass: tokens of `from` (NULL: in order of position) to `to` by a digit of their bucket. */
__device__ static inline void sort_pass(const lh_lsh_sort_args &a, const int32_t *bucket,
                                        const int32_t *from, int32_t *to, int shift,
                                        int32_t *counts, int32_t *totals) {
    const int64_t size = lh_chunk_count(a.length, LH_THREADS);
    const int64_t begin = lh_min(a.length, threadIdx.x * size),
                  end = lh_min(a.length, begin + size);
    for (int d = 0; d < DIGITS; ++d)
        counts[d * LH_THREADS + threadIdx.x] = 0;
    for (int64_t s = begin; s < end; ++s) {
        const int32_t token = from != NULL ? from[s] : (int32_t)s;
        counts[((bucket[token] >> shift) & (DIGITS - 1)) * LH_THREADS + threadIdx.x] += 1;
    }
    __syncthreads();
    sum_counts(counts, totals);
    for (int64_t s = begin; s < end; ++s) {
        const int32_t token = from != NULL ? from[s] : (int32_t)s;
        const int32_t digit = (bucket[token] >> shift) & (DIGITS - 1);
        to[counts[digit * LH_THREADS + threadIdx.x]++] = token;
    }
    __syncthreads();
}

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
    LH_SHARED(int32_t, counts, [DIGITS * LH_THREADS]);
    LH_SHARED(int32_t, totals, [DIGITS]);
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const int32_t *bucket = a.bucket + row * a.length;
        int32_t *order = a.order + row * a.length, *other = workspace + row * a.length;
        const int32_t *from = NULL;
        for (int pass = 0; pass < passes; ++pass) {
            int32_t *to = (passes - pass) % 2 == 1 ? order : other; /* the last one to order */
            sort_pass(a, bucket, from, to, pass * BITS, counts, totals);
            from = to;
        }
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
    if (args->rows < 0 || args->length < 0 || args->buckets < 1 || args->chunk < 1)
        return LH_ESHAPE;
    if (args->rows * args->length == 0) return LH_OK;
    int passes = 1;
    while ((args->buckets - 1) >> (passes * BITS) > 0)
        ++passes;
    return LH_LAUNCH(sort_rows, lh_blocks(args->rows, 1), LH_THREADS, 0, launch, *args,
                     (int32_t *)launch->workspace, passes);
}
