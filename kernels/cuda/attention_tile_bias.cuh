/* The bias of a pair of tiles: of each diagonal, in shared memory, or one of all. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_BIAS_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_BIAS_CUH

#include "kernels/cuda/attention_tile.cuh"

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

/* The bucket of diagonal i - j + 63 of a pair that is biased. */
__device__ static inline int32_t lh_bucket_at(const lh_attention_spec &spec,
                                              const lh_tile_pair &pair, int diagonal) {
    const int64_t distance =
        pair.query - spec.source[pair.source].first - pair.key + diagonal - (LH_TILE - 1);
    const int64_t entry = lh_max(0, lh_min(distance - spec.bucket_first, spec.bucket_span - 1));
    return spec.bucket_of[entry];
}

/* Backward, in place of minus infinity: its weight is 0, and so is its gradient times it. */
constexpr real LH_LEAST_BIAS = -1e30f;

/* A warp's work, of which every warp of a block makes the same; no bias is below `least`. */
__device__ static inline lh_pair_bias
lh_find_bias(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t head, real least) {
    if (!lh_pair_is_biased(spec, pair)) return {true, -1, 0};
    const int32_t bucket = lh_bucket_at(spec, pair, 0);
    bool one = true;
    for (int x = lh_lane(); x < LH_TILE_DIAGONALS; x += LH_WARP)
        one = one && lh_bucket_at(spec, pair, x) == bucket;
    if (__all_sync(0xffffffffu, one) == 0) return {false, -1, 0};
    return {true, bucket, lh_larger(least, spec.bias[head * spec.buckets + bucket])};
}

/* The same, and unless it is one the bucket and the bias of each diagonal; a block's work. */
__device__ static inline lh_pair_bias lh_stage_bias(const lh_attention_spec &spec,
                                                    const lh_tile_pair &pair, int64_t head,
                                                    real least, float *bias, int32_t *bucket) {
    const lh_pair_bias common = lh_find_bias(spec, pair, head, least);
    if (common.one) return common;
    for (int x = (int)threadIdx.x; x < LH_TILE_DIAGONALS; x += (int)blockDim.x) {
        bucket[x] = lh_bucket_at(spec, pair, x);
        bias[x] = lh_larger(least, spec.bias[head * spec.buckets + bucket[x]]);
    }
    return common;
}

#endif
