/* What the forward kernels for tensor cores share: 64 queries a block, 16 to a warp, keys and
 * values by 64, the softmax kept up to date as they arrive (Milakov and Gimelshein 2018; Dao et al.
 * 2022, "FlashAttention"). Scores, weights and sums stay in registers, and a warp's weights are an
 * operand as they are (Dao 2023, "FlashAttention-2"). */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_FORWARD_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_FORWARD_CUH

#include "kernels/cuda/attention_tile.cuh"

enum {
    LH_SCORE_BLOCKS = LH_TILE / LH_MMA_COLUMNS,
    LH_LANE_ROWS = LH_MMA_SUMS / 2 /* rows of which a lane holds scores: two of every 8 */
};

/* Scores are counted in units of log 2, so that a weight is a power of 2. */
constexpr real LH_LOG2_E = 1.44269504f, LH_LN_2 = 0.69314718f;

/* A block's shared memory. */
template <int width> struct lh_forward_memory {
    enum { tile = lh_tile_shape<width>::elements };
    __nv_bfloat16 q[tile], other[2 * tile]; /* others: keys, then values */
};

/* One of a lane's rows, known to the four lanes that share it. */
typedef struct lh_row_state {
    real maximum; /* of the scores so far */
    real sum;     /* of 2^(score - maximum), over the lane's own keys */
} lh_row_state;

/* What a warp knows of its 16 queries. */
template <int width> struct lh_warp_rows {
    int first, lane; /* first: within the block's tile */
    lh_row_state state[LH_LANE_ROWS];
    lh_mma_sums out[width / LH_MMA_COLUMNS];
};

/* A lane's part of 16 x 64 scores. */
typedef lh_mma_sums lh_scores[LH_SCORE_BLOCKS];

/* Key and query of number n of a lane's block c, within their tiles. */
__device__ static inline int lh_score_key(int c, int n, int lane) {
    return c * LH_MMA_COLUMNS + lh_mma_column(lane, n);
}

/* The number of a lane's row h in a block, of its first key. */
__device__ static inline int lh_row_begin(int h) {
    return h * LH_MMA_SUMS / LH_LANE_ROWS;
}

template <int width>
__device__ static inline int lh_lane_row(const lh_warp_rows<width> &rows, int h) {
    return rows.first + lh_mma_row(rows.lane, lh_row_begin(h));
}

template <int width> __device__ static inline void lh_begin_rows(lh_warp_rows<width> *rows) {
    rows->lane = (int)(threadIdx.x % LH_WARP);
    rows->first = (int)(threadIdx.x / LH_WARP) * LH_STEP;
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h)
        rows->state[h] = {-INFINITY, 0};
    lh_clear_sums(rows->out);
}

template <int width>
__device__ static inline const __nv_bfloat16 *lh_queries_of(const lh_forward_memory<width> &memory,
                                                            const lh_warp_rows<width> &rows) {
    return memory.q + rows.first * lh_tile_shape<width>::pitch;
}

/* Calls visit(c, n) for the scores of a lane's row h. */
template <typename visiting>
__device__ static inline void lh_each_score(int h, const visiting &visit) {
    LH_UNROLL
    for (int c = 0; c < LH_SCORE_BLOCKS; ++c) {
        LH_UNROLL
        for (int n = 0; n < LH_MMA_SUMS / LH_LANE_ROWS; ++n)
            visit(c, lh_row_begin(h) + n);
    }
}

/* Makes weights of a row's scores, with the maximum as it now is; gives what earlier sums shrink
 * by. */
__device__ static inline real lh_take_in(lh_scores &scores, int h, lh_row_state *state) {
    const real before = state->maximum;
    real most = before, sum = 0;
    lh_each_score(h, [&](int c, int n) { most = lh_larger(most, scores[c][n]); });
    LH_UNROLL
    for (int lanes = 1; lanes < LH_MMA_LANES; lanes *= 2)
        most = lh_larger(most, __shfl_xor_sync(0xffffffffu, most, lanes));
    const real reference = most == -INFINITY ? 0 : most;
    lh_each_score(h, [&](int c, int n) {
        scores[c][n] = lh_exp2(scores[c][n] - reference);
        sum += scores[c][n];
    });
    const real factor = lh_exp2(before - reference);
    *state = {most, state->sum * factor + sum};
    return factor;
}

/* A row of the output times a factor. */
template <int width>
__device__ static inline void lh_shrink(real by, int h, lh_warp_rows<width> *rows) {
    LH_UNROLL
    for (int d = 0; d < width / LH_MMA_COLUMNS; ++d) {
        LH_UNROLL
        for (int n = 0; n < LH_MMA_SUMS / LH_LANE_ROWS; ++n)
            rows->out[d][lh_row_begin(h) + n] *= by;
    }
}

/* A warp's 16 queries and the 64 staged keys. `scores` are the products that add to q . k;
 * read(scores) makes scores of the products, -infinity where a key is not seen; drop(scores)
 * changes weights after their sum is known. */
template <int width, typename reading, typename dropping>
__device__ static inline void lh_attend_keys(const lh_forward_memory<width> &memory,
                                             lh_scores &scores, const reading &read,
                                             const dropping &drop, lh_warp_rows<width> *rows) {
    enum { pitch = lh_tile_shape<width>::pitch };
    lh_multiply_transposed<width, pitch>(lh_queries_of(memory, *rows), memory.other, rows->lane,
                                         scores);
    read(scores);
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h)
        lh_shrink<width>(lh_take_in(scores, h, &rows->state[h]), h, rows);
    drop(scores);
    LH_UNROLL
    for (int c = 0; c < LH_SCORE_BLOCKS; c += 2) {
        lh_mma_left weights;
        lh_make_left(scores[c], scores[c + 1], weights);
        lh_multiply_rows_of<pitch>(weights, memory.other + memory.tile + c * LH_MMA_COLUMNS * pitch,
                                   rows->lane, rows->out);
    }
}

/* A row's sum over all keys: that of its four lanes. */
__device__ static inline real lh_row_sum(const lh_row_state &state) {
    real sum = state.sum;
    LH_UNROLL
    for (int lanes = 1; lanes < LH_MMA_LANES; lanes *= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    return sum;
}

/* log sum exp of a row's scores. */
__device__ static inline real lh_row_lse(const lh_row_state &state, real sum) {
    return sum == 0 ? -INFINITY : state.maximum * LH_LN_2 + logf(sum);
}

/* Gives each element of a warp's output to put(row, column, value), by way of its staged queries.
 */
template <int width, typename putting>
__device__ static inline void lh_put_out(const lh_warp_rows<width> &rows, __nv_bfloat16 *queries,
                                         const putting &put) {
    typedef lh_tile_shape<width> shape;
    enum { blocks = width / LH_MMA_COLUMNS / 2 };
    float *scratch = reinterpret_cast<float *>(queries);
    const auto spill = [&](int half) {
        LH_UNROLL
        for (int d = 0; d < blocks; ++d) {
            LH_UNROLL
            for (int n = 0; n < LH_MMA_SUMS; ++n)
                scratch[lh_mma_row(rows.lane, n) * shape::scratch_pitch + d * LH_MMA_COLUMNS +
                        lh_mma_column(rows.lane, n)] = rows.out[half * blocks + d][n];
        }
    };
    lh_put_halves<width>(scratch, rows.lane, spill, put);
}

#endif
