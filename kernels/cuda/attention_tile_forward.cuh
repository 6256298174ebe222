/* What the forward kernels for tensor cores share: 64 queries a block, in stripes of 16, one or two
 * to a warp, so that what it reads of keys and values serves both; keys and values by 64, the
 * softmax kept up to date as they arrive (Milakov and Gimelshein 2018; Dao et al. 2022,
 * "FlashAttention"). Scores, weights and sums stay in registers, and a warp's weights are an
 * operand as they are (Dao 2023, "FlashAttention-2"). */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_FORWARD_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_FORWARD_CUH

#include "kernels/cuda/attention_tile.cuh"

enum {
    LH_LANE_ROWS = 2, /* of which a lane holds scores: two of every 8 */
    LH_ROW_PARTS = LH_STEP_PARTS / LH_LANE_ROWS
};

/* By so much, in units of log 2, scores may rise above the maximum that is counted from before sums
 * shrink: what is left out then is most of all shrinking. */
constexpr real LH_SLACK = 8;

/* A block's shared memory. */
template <int width, typename operand = __nv_bfloat16> struct lh_forward_memory {
    enum { tile = lh_tile_shape<width, operand>::elements };
    operand q[tile], other[2 * tile]; /* others: keys, then values */
};

/* One of a lane's rows, known to the four lanes that share it. */
typedef struct lh_row_state {
    real maximum; /* of the scores so far, or LH_SLACK less */
    real sum;     /* of 2^(score - maximum), over the lane's own keys */
} lh_row_state;

/* What a warp knows of 16 of its queries. */
typedef struct lh_stripe {
    int first, lane; /* first: within the block's tile */
    lh_row_state state[LH_LANE_ROWS];
} lh_stripe;

/* And of all. */
template <int width, int stripes> struct lh_warp_rows {
    lh_stripe stripe[stripes];
    lh_sums out[stripes][width / LH_STEP];
};

/* A lane's part of 16 x 64 scores. */
typedef lh_sums lh_scores[LH_TILE_STEPS];

/* Part n of the scores of a lane's row h in a block. */
__device__ static inline int lh_row_part(int h, int n) {
    return h * 2 + n / 2 * LH_MMA_SUMS + n % 2;
}

/* The key of a part of block c, within its tile. */
__device__ static inline int lh_score_key(int c, int part, int lane) {
    return c * LH_STEP + lh_column_at(lane, part);
}

/* A lane's row h, within the warp's 16. */
__device__ static inline int lh_lane_row(int h, int lane) {
    return lh_row_at(lane, lh_row_part(h, 0));
}

/* A lane's part of its warp's rows before the first key: maximum -infinity, sums 0. */
template <int width, int stripes>
__device__ static inline void lh_begin_rows(lh_warp_rows<width, stripes> *rows) {
    LH_UNROLL
    for (int s = 0; s < stripes; ++s) {
        rows->stripe[s].lane = (int)(threadIdx.x % LH_WARP);
        rows->stripe[s].first = ((int)(threadIdx.x / LH_WARP) * stripes + s) * LH_STEP;
        LH_UNROLL
        for (int h = 0; h < LH_LANE_ROWS; ++h)
            rows->stripe[s].state[h] = {-INFINITY, 0};
        lh_clear_sums(rows->out[s]);
    }
}

/* The staged queries of a stripe. */
template <int width, typename operand>
__device__ static inline const operand *
lh_queries_of(const lh_forward_memory<width, operand> &memory, const lh_stripe &stripe) {
    return memory.q + stripe.first * lh_tile_shape<width, operand>::pitch;
}

/* Calls visit(c, part, score) for the scores of a lane's row h. */
template <typename visiting>
__device__ static inline void lh_each_score(lh_scores &scores, int h, const visiting &visit) {
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c) {
        LH_UNROLL
        for (int n = 0; n < LH_ROW_PARTS; ++n)
            visit(c, lh_row_part(h, n), lh_part(scores[c], lh_row_part(h, n)));
    }
}

/* Makes weights of a row's scores; gives what earlier sums shrink by: 1 unless the maximum rises by
 * more than LH_SLACK, below which all of them stay far from the largest number. */
__device__ static inline real lh_take_in(lh_scores &scores, int h, lh_row_state *state) {
    const real before = state->maximum;
    real most = before, sum = 0;
    lh_each_score(scores, h, [&](int, int, real score) { most = lh_larger(most, score); });
    LH_UNROLL
    for (int lanes = 1; lanes < LH_MMA_LANES; lanes *= 2)
        most = lh_larger(most, __shfl_xor_sync(0xffffffffu, most, lanes));
    most = most <= before + LH_SLACK ? before : most;
    const real reference = most == -INFINITY ? 0 : most;
    lh_each_score(scores, h, [&](int, int, real &score) {
        score = lh_exp2(score - reference);
        sum += score;
    });
    const real factor = lh_exp2(before - reference);
    *state = {most, state->sum * factor + sum};
    return factor;
}

/* Row h of a stripe's output times a factor. */
template <int steps>
__device__ static inline void lh_shrink(real by, int h, lh_sums (&out)[steps]) {
    LH_UNROLL
    for (int d = 0; d < steps; ++d) {
        LH_UNROLL
        for (int n = 0; n < LH_ROW_PARTS; ++n)
            lh_part(out[d], lh_row_part(h, n)) *= by;
    }
}

/* A warp's queries and the 64 staged values. read(stripe, scores) makes scores of the products of a
 * stripe, -infinity where a key is not seen; drop(stripe, scores) changes weights after their sum
 * is known. */
template <int width, int stripes, typename operand, typename reading, typename dropping>
__device__ static inline void
lh_attend_values(const lh_forward_memory<width, operand> &memory, lh_scores (&scores)[stripes],
                 const reading &read, const dropping &drop, lh_warp_rows<width, stripes> *rows) {
    enum { pitch = lh_tile_shape<width, operand>::pitch };
    lh_weights<operand> weights[LH_TILE_STEPS][stripes];
    LH_UNROLL
    for (int s = 0; s < stripes; ++s) {
        lh_stripe &stripe = rows->stripe[s];
        read(stripe, scores[s]);
        real shrink[LH_LANE_ROWS];
        bool any = false;
        LH_UNROLL
        for (int h = 0; h < LH_LANE_ROWS; ++h) {
            shrink[h] = lh_take_in(scores[s], h, &stripe.state[h]);
            any = any || shrink[h] != 1;
        }
        if (__any_sync(0xffffffffu, any) != 0) {
            LH_UNROLL
            for (int h = 0; h < LH_LANE_ROWS; ++h)
                lh_shrink(shrink[h], h, rows->out[s]);
        }
        drop(stripe, scores[s]);
        LH_UNROLL
        for (int c = 0; c < LH_TILE_STEPS; ++c)
            lh_make_left(scores[s][c].of[0], scores[s][c].of[1], weights[c][s]);
    }
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c)
        lh_add_products<width, operand>(
            weights[c], memory.other + memory.tile + c * LH_STEP * pitch, rows->out);
}

/* A block's 64 queries and the keys [begin, end), 64 at a time: values come while scores are made
 * of the keys, and the next keys while the values are added up. place(base, scores) makes what adds
 * to the products and, unless keys come `ahead`, may do so in their memory; bring_keys(base) and
 * bring_values(base) stage them; attend(base, scores) is a warp's, which takes part or not. */
template <int width, int stripes, typename operand, typename placing, typename keys,
          typename values, typename attending>
__device__ static inline void
lh_attend_span(int64_t begin, int64_t end, bool takes_part, bool ahead, const placing &place,
               const keys &bring_keys, const values &bring_values, const attending &attend,
               const lh_forward_memory<width, operand> &memory,
               const lh_warp_rows<width, stripes> &rows) {
    __syncthreads();
    for (int64_t base = begin; base < end; base += LH_TILE) {
        lh_scores scores[stripes];
        lh_clear_all(scores);
        place(base, scores);
        if (!ahead || base == begin) bring_keys(base);
        lh_await_copies();
        __syncthreads();
        bring_values(base);
        if (takes_part)
            lh_multiply_rows<width>(lh_queries_of(memory, rows.stripe[0]), memory.other, scores);
        lh_await_copies();
        __syncthreads();
        if (ahead && base + LH_TILE < end) bring_keys(base + LH_TILE);
        if (takes_part) attend(base, scores);
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

#endif
