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

/* That of pair = batch row * heads + head; the tables of the spec are [pair][rounds][length]. */
__device__ static inline lh_lsh_view lh_lsh_view_of(const lh_lsh_attention_spec &spec,
                                                    int64_t pair) {
    const int64_t at = pair * spec.rounds * spec.length;
    return {spec.length,     spec.rounds,    spec.chunk,     spec.any_bucket,
            spec.order + at, spec.slot + at, spec.first + at};
}

/* The kernels for tensor cores, which take heads of up to 128 and up to 16 rounds in bf16 or tf32,
 * within buckets; in tf32 the widest heads where a block may have the memory. */
enum { LH_LSH_TILE_ROUNDS = 16 };

/* Whether they take this one. */
static inline bool lh_lsh_fits_tiles(const lh_lsh_attention_spec &spec) {
    return lh_tiles_have_room(spec.precision, spec.head_width) &&
           spec.rounds <= LH_LSH_TILE_ROUNDS && !spec.any_bucket;
}

lh_status lh_lsh_attention_tile_forward(const lh_launch *launch,
                                        const lh_lsh_attention_forward_args *args);
/* `delta` = dout . out: [batch][heads][length]. */
lh_status lh_lsh_attention_tile_backward(const lh_launch *launch,
                                         const lh_lsh_attention_backward_args *args,
                                         const real *delta);

#endif
