/* The bias of a pair of tiles: of each diagonal, in shared memory, or one of all. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_BIAS_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_BIAS_CUH

#include "kernels/cuda/attention_tile_pairs.cuh"

/* Whether scores of this pair have a relative bias: keys without positions never do. */
__device__ static inline bool lh_pair_is_biased(const lh_attention_spec &spec,
                                                const lh_tile_pair &pair) {
    return spec.bias != NULL && !spec.source[pair.source].everywhere;
}

/* What all diagonals of a pair have in common, if they do: far from a query a bucket is wide, and
 * keys without positions have none. */
typedef struct lh_pair_bias {
    bool one;
    int32_t bucket; /* -1: none */
    real bias;
} lh_pair_bias;

/* The entry of the buckets' table for diagonal i - j + 63 of a pair is the least of them and the
 * diagonal's number, within the table. */
__device__ static inline int lh_least_entry(const lh_attention_spec &spec,
                                            const lh_tile_pair &pair) {
    return lh_clamp_tokens(pair.query - spec.source[pair.source].first - pair.key - (LH_TILE - 1) -
                           spec.bucket_first);
}

/* Backward, in place of minus infinity: its weight is 0, and so is its gradient times it. */
constexpr real LH_LEAST_BIAS = -1e30f;

/* Finds it and, unless it is one, stages the bucket and the bias of each diagonal; no bias is below
 * `least`. A block's work: each warp reads all diagonals, and stores its share. */
template <int threads = LH_TILE_THREADS>
__device__ static inline lh_pair_bias lh_stage_bias(const lh_attention_spec &spec,
                                                    const lh_tile_pair &pair, int64_t head,
                                                    real least, float *bias, int32_t *bucket) {
    enum { parts = (LH_TILE_DIAGONALS + 1) / LH_WARP, warps = threads / LH_WARP };
    if (!lh_pair_is_biased(spec, pair)) return {true, -1, 0};
    const int least_entry = lh_least_entry(spec, pair);
    const int last_entry = lh_clamp_tokens(spec.bucket_span - 1);
    const real *of_bucket = spec.bias + head * spec.buckets;
    int32_t own[parts];
    LH_UNROLL
    for (int n = 0; n < parts; ++n) {
        const int x = min(n * (int)LH_WARP + lh_lane(), LH_TILE_DIAGONALS - 1);
        own[n] = spec.bucket_of[max(0, min(least_entry + x, last_entry))];
    }
    const int32_t first = __shfl_sync(0xffffffffu, own[0], 0);
    bool one = true;
    real value[parts];
    LH_UNROLL
    for (int n = 0; n < parts; ++n) {
        one = one && own[n] == first;
        value[n] = lh_larger(least, of_bucket[own[n]]);
    }
    if (__all_sync(0xffffffffu, one) != 0) return {true, first, value[0]};
    LH_UNROLL
    for (int n = 0; n < parts; ++n) {
        const int x = n * LH_WARP + lh_lane();
        if (n % warps != (int)threadIdx.x / LH_WARP) continue;
        bucket[x] = own[n];
        bias[x] = value[n];
    }
    return {false, -1, 0};
}

#endif
