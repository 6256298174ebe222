/* What the forward kernels for tensor cores share: 64 queries a block, 16 to a warp, keys and
 * values by 64, the softmax kept up to date as they arrive (Milakov and Gimelshein 2018; Dao et al.
 * 2022, "FlashAttention"). */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_FORWARD_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_FORWARD_CUH

#include "kernels/cuda/attention_tile.cuh"

enum {
    LH_FLOAT_PITCH = LH_TILE + 4, /* of a row of scores; their weights in bf16 take its place */
    LH_WEIGHT_PITCH = 2 * LH_FLOAT_PITCH, /* in bf16 */
    LH_LANES_OF_ROW = LH_WARP / LH_STEP,  /* that share out a row of scores */
    LH_SCORES_OF_LANE = LH_TILE / LH_LANES_OF_ROW
};

/* A block's shared memory. */
template <int width> struct lh_forward_memory {
    enum { tile = lh_tile_shape<width>::elements };
    __nv_bfloat16 q[tile], other[2 * tile]; /* others: keys, then values */
    float score[LH_TILE * LH_FLOAT_PITCH];  /* a quarter to each warp */
    float factor[LH_TILE];
};

/* Row lane / 2 of a warp's 16, known to its two lanes. */
typedef struct lh_row_state {
    real maximum, sum; /* of the scores so far; of exp(score - maximum) */
} lh_row_state;

/* What a warp knows of its 16 queries. */
template <int width> struct lh_warp_rows {
    int first, lane; /* first: within the block's tile */
    lh_places places;
    lh_row_state state;
    lh_sums out[width / LH_STEP];
};

/* A lane's scores: every other one of its row. */
typedef real lh_lane_scores[LH_SCORES_OF_LANE];

__device__ static inline int lh_key_of_lane(int n, int lane) {
    return n * LH_LANES_OF_ROW + lane % LH_LANES_OF_ROW;
}

template <int width>
__device__ static inline lh_warp_rows<width> lh_begin_rows(lh_forward_memory<width> *memory) {
    lh_warp_rows<width> rows;
    rows.lane = (int)(threadIdx.x % LH_WARP);
    rows.first = (int)(threadIdx.x / LH_WARP) * LH_STEP;
    rows.places = lh_find_places(memory->score + rows.first * LH_FLOAT_PITCH, rows.lane);
    return rows;
}

template <int width>
__device__ static inline const __nv_bfloat16 *lh_queries_of(const lh_forward_memory<width> &memory,
                                                            const lh_warp_rows<width> &rows) {
    return memory.q + rows.first * lh_tile_shape<width>::pitch;
}

/* Makes weights of the scores, with the maximum as it now is; gives what earlier sums shrink by. */
__device__ static inline real lh_take_in(lh_lane_scores &of_lane, lh_row_state *state) {
    real most = of_lane[0], sum = 0;
    LH_UNROLL
    for (int n = 1; n < LH_SCORES_OF_LANE; ++n)
        most = lh_larger(most, of_lane[n]);
    most = lh_larger(most, __shfl_xor_sync(0xffffffffu, most, 1));
    const real before = state->maximum;
    state->maximum = lh_larger(before, most);
    const real reference = state->maximum == -INFINITY ? 0 : state->maximum;
    LH_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n) {
        of_lane[n] = __expf(of_lane[n] - reference);
        sum += of_lane[n];
    }
    const real factor = __expf(before - reference);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    state->sum = state->sum * factor + sum;
    return factor;
}

/* The weights, rounded, take the place of the scores. */
__device__ static inline void lh_write_weights(const lh_lane_scores &of_lane, int lane,
                                               float *score) {
    __nv_bfloat16 *weight = reinterpret_cast<__nv_bfloat16 *>(score);
    __syncwarp();
    LH_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n)
        weight[lane / LH_LANES_OF_ROW * LH_WEIGHT_PITCH + lh_key_of_lane(n, lane)] =
            __float2bfloat16_rn(of_lane[n]);
}

template <int width>
__device__ static inline void lh_shrink(const float *factor, lh_warp_rows<width> *rows) {
    LH_UNROLL
    for (int i = 0; i < LH_STEP_PARTS; ++i) {
        const float by = factor[lh_row_at(rows->places, i)];
        LH_UNROLL
        for (int d = 0; d < width / LH_STEP; ++d)
            rows->out[d].x[i] *= by;
    }
}

/* A warp's 16 queries and the 64 staged keys. `sums` are the products that add to q . k;
 * read(row, products, of_lane) makes a lane's scores of its row's products, -infinity where a key
 * is not seen; drop(row, of_lane) changes weights after their sum is known. */
template <int width, typename reading, typename dropping>
__device__ static inline void lh_attend_keys(lh_forward_memory<width> &memory,
                                             lh_sums (&sums)[LH_TILE_STEPS], const reading &read,
                                             const dropping &drop, lh_warp_rows<width> *rows) {
    const int lane = rows->lane, row = rows->first + lane / LH_LANES_OF_ROW;
    float *score = memory.score + rows->first * LH_FLOAT_PITCH;
    float *factor = memory.factor + rows->first;
    lh_lane_scores of_lane;
    lh_multiply_rows<width>(lh_queries_of(memory, *rows), memory.other, sums);
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c)
        nvcuda::wmma::store_matrix_sync(score + c * LH_STEP, sums[c], LH_FLOAT_PITCH,
                                        nvcuda::wmma::mem_row_major);
    __syncwarp();
    read(row, score + lane / LH_LANES_OF_ROW * LH_FLOAT_PITCH, of_lane);
    const real by = lh_take_in(of_lane, &rows->state);
    drop(row, of_lane);
    lh_write_weights(of_lane, lane, score);
    if (lane % LH_LANES_OF_ROW == 0) factor[lane / LH_LANES_OF_ROW] = by;
    __syncwarp();
    lh_shrink<width>(factor, rows);
    lh_add_weighted<width, LH_TILE_STEPS>(reinterpret_cast<const __nv_bfloat16 *>(score),
                                          LH_WEIGHT_PITCH, memory.other + memory.tile, rows->out);
    __syncwarp();
}

/* out of a warp's 16 queries times a factor that each lane gives for its row. */
template <int width>
__device__ static inline void lh_multiply_out(real by, lh_forward_memory<width> &memory,
                                              lh_warp_rows<width> *rows) {
    float *factor = memory.factor + rows->first;
    if (rows->lane % LH_LANES_OF_ROW == 0) factor[rows->lane / LH_LANES_OF_ROW] = by;
    __syncwarp();
    lh_shrink<width>(factor, rows);
}

#endif
