/* A stable sort of items by key, four bits at a time: a block's work, whose threads each take a run
 * of neighbours, so that equal keys keep their order. */
#ifndef LH_KERNELS_CUDA_RADIX_SORT_CUH
#define LH_KERNELS_CUDA_RADIX_SORT_CUH

#include "kernels/cuda/warp.cuh"

enum {
    LH_RADIX_BITS = 4,
    LH_RADIX_DIGITS = 1 << LH_RADIX_BITS,
    LH_RADIX_AHEAD = 8 /* items that a thread has under way */
};

/* Passes for keys 0 .. largest. */
static inline int lh_radix_passes(int64_t largest) {
    int passes = 1;
    while (largest >> (passes * LH_RADIX_BITS) > 0)
        ++passes;
    return passes;
}

/* Turns counts[digit][thread] into where each thread puts its first item of each digit; a warp
 * takes a digit. */
__device__ static inline void lh_radix_places(int32_t *counts, int32_t *totals) {
    const int threads = (int)blockDim.x, lane = (int)(threadIdx.x % LH_WARP);
    for (int digit = (int)(threadIdx.x / LH_WARP); digit < LH_RADIX_DIGITS;
         digit += threads / LH_WARP) {
        int32_t before = 0;
        for (int t = lane; t < threads; t += LH_WARP) {
            const int32_t count = counts[digit * threads + t];
            int32_t sum = count;
            for (int by = 1; by < LH_WARP; by *= 2) {
                const int32_t theirs = __shfl_up_sync(0xffffffffu, sum, (unsigned)by);
                sum += lane >= by ? theirs : 0;
            }
            counts[digit * threads + t] = before + sum - count;
            before += __shfl_sync(0xffffffffu, sum, LH_WARP - 1);
        }
        if (lane == 0) totals[digit] = before;
    }
    __syncthreads();
    int32_t before = 0;
    for (int d = 0; d < LH_RADIX_DIGITS; ++d) {
        counts[d * threads + (int)threadIdx.x] += before;
        before += totals[d];
    }
    __syncthreads();
}

/* Calls body(item, digit) for the items [begin, end) of `from`, in order; the keys of several are
 * asked for before the first is used. */
template <typename keying, typename work>
__device__ static inline void lh_radix_each(int64_t begin, int64_t end, const keying &key_of,
                                            const int32_t *from, int shift, const work &body) {
    for (int64_t s = begin; s < end; s += LH_RADIX_AHEAD) {
        int32_t item[LH_RADIX_AHEAD], key[LH_RADIX_AHEAD];
        LH_UNROLL
        for (int n = 0; n < LH_RADIX_AHEAD; ++n)
            item[n] = s + n >= end ? 0 : from != NULL ? from[s + n] : (int32_t)(s + n);
        LH_UNROLL
        for (int n = 0; n < LH_RADIX_AHEAD; ++n)
            key[n] = s + n < end ? key_of(item[n]) : 0;
        LH_UNROLL
        for (int n = 0; n < LH_RADIX_AHEAD; ++n)
            if (s + n < end) body(item[n], (key[n] >> shift) & (LH_RADIX_DIGITS - 1));
    }
}

/* One pass: items of `from` (NULL: 0, 1, ...) to `to` by bits [shift, shift + 4) of key_of(item).
 * Shared memory: counts[16][threads of the block], totals[16]. */
template <typename keying>
__device__ static inline void lh_radix_pass(int64_t count, const keying &key_of,
                                            const int32_t *from, int32_t *to, int shift,
                                            int32_t *counts, int32_t *totals) {
    const int threads = (int)blockDim.x, thread = (int)threadIdx.x;
    const int64_t size = lh_chunk_count(count, threads);
    const int64_t begin = lh_min(count, thread * size), end = lh_min(count, begin + size);
    for (int d = 0; d < LH_RADIX_DIGITS; ++d)
        counts[d * threads + thread] = 0;
    lh_radix_each(begin, end, key_of, from, shift,
                  [=](int32_t, int32_t digit) { counts[digit * threads + thread] += 1; });
    __syncthreads();
    lh_radix_places(counts, totals);
    lh_radix_each(begin, end, key_of, from, shift, [=](int32_t item, int32_t digit) {
        to[counts[digit * threads + thread]++] = item;
    });
    __syncthreads();
}

/* All of them; what comes out lies in `order`. */
template <typename keying>
__device__ static inline void lh_radix_sort(int64_t count, const keying &key_of, int passes,
                                            int32_t *order, int32_t *other, int32_t *counts,
                                            int32_t *totals) {
    const int32_t *from = NULL;
    for (int pass = 0; pass < passes; ++pass) {
        int32_t *to = (passes - pass) % 2 == 1 ? order : other;
        lh_radix_pass(count, key_of, from, to, pass * LH_RADIX_BITS, counts, totals);
        from = to;
    }
}

#endif
