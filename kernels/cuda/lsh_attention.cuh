/* What the kernels of LSH attention share: what is known of the sorted tokens. */
#ifndef LH_KERNELS_CUDA_LSH_ATTENTION_CUH
#define LH_KERNELS_CUDA_LSH_ATTENTION_CUH

#include "kernels/cuda/attention_tile.cuh"

/* The sorted tokens of one batch row and head. */
typedef struct lh_lsh_view {
    int64_t length, rounds, chunk;
    bool any_bucket;
    const int32_t *order, *slot, *first; /* [rounds][length] */
} lh_lsh_view;

template <typename arguments>
__device__ static inline lh_lsh_view lh_lsh_view_of(const arguments &a, int64_t pair) {
    const int64_t at = pair * a.rounds * a.length;
    return {a.length, a.rounds, a.chunk, a.any_bucket, a.order + at, a.slot + at, a.first + at};
}

/* The kernels for tensor cores, which take heads of up to 128 and up to 16 rounds in bf16 or tf32,
 * within buckets; in tf32 the widest heads where a block may have the memory. */
enum { LH_LSH_TILE_ROUNDS = 16 };

template <typename arguments> static inline bool lh_lsh_fits_tiles(const arguments *a) {
    return lh_tiles_have_room(a->precision, a->head_width) && a->rounds <= LH_LSH_TILE_ROUNDS &&
           !a->any_bucket;
}

lh_status lh_lsh_attention_tile_forward(const lh_launch *launch,
                                        const lh_lsh_attention_forward_args *args);
/* `delta` = dout . out: [batch][heads][length]. */
lh_status lh_lsh_attention_tile_backward(const lh_launch *launch,
                                         const lh_lsh_attention_backward_args *args,
                                         const real *delta);

#endif
