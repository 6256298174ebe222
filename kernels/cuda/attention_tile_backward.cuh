/* What the backward kernels for tensor cores share. Passes over queries sum dq, those over keys dk
 * and dv, so that nothing is added from two places; each makes the scores again (Dao et al. 2022,
 * "FlashAttention").
 *
 *   P = exp(S - lse)   dP = dropout(dO V^T)   dS = P (dP - dO . O) */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_BACKWARD_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_BACKWARD_CUH

#include "kernels/cuda/attention_tile.cuh"

enum { LH_SPREAD_PITCH = LH_BAND + 8 /* of a block's gradients by diagonals, in bf16 */ };

/* A block's shared memory: its own rows, those that pass by, and what is made of them. Rows are q
 * and dout, the others k and v, in a pass over queries; the reverse in one over keys. Where scores
 * have position vectors, there is room for a third tile, since a pair's vectors take two. */
template <int width, bool placed> struct lh_backward_memory {
    enum { tile = lh_tile_shape<width>::elements, products = placed ? (int)LH_BAND_FLOATS : 1 };
    __nv_bfloat16 row[2][tile], other[(placed ? 3 : 2) * tile];
    float product[LH_TILE_WARPS][products]; /* a warp's, of queries and a band of vectors */
    float lse[LH_TILE], delta[LH_TILE];     /* of the queries */
};

static_assert(LH_STEP * LH_SPREAD_PITCH * sizeof(__nv_bfloat16) <= LH_BAND_FLOATS * sizeof(float),
              "gradients by diagonals lie where the products of a band lay");

/* What a pair of a query and a key gives. */
typedef struct lh_slope {
    real weight;   /* after dropout: what the value was multiplied by */
    real gradient; /* of the score */
    real raw;      /* the score before the head's scale; 0 when the key is not seen */
} lh_slope;

/* Where a warp stands. */
typedef struct lh_warp_place {
    int first, lane, warp; /* first: of its 16 rows, within the block's tile */
} lh_warp_place;

/* The warp's 16 staged rows, as room for its results. */
template <int width> __device__ static inline float *lh_scratch_of(__nv_bfloat16 *rows, int first) {
    return reinterpret_cast<float *>(rows + first * lh_tile_shape<width>::pitch);
}

__device__ static inline lh_warp_place lh_find_place(void) {
    lh_warp_place place;
    place.lane = (int)(threadIdx.x % LH_WARP);
    place.warp = (int)(threadIdx.x / LH_WARP);
    place.first = place.warp * LH_STEP;
    return place;
}

/* lse and delta of the query of row i, if there is one: number_of(i) >= 0; a block's work. */
template <typename memory_type, typename numbering>
__device__ static inline void lh_stage_sums(const real *lse, const real *delta,
                                            const numbering &number_of, memory_type *memory) {
    for (int i = (int)threadIdx.x; i < LH_TILE; i += LH_TILE_THREADS) {
        const int64_t number = number_of(i);
        memory->lse[i] = number < 0 ? -INFINITY : lse[number];
        memory->delta[i] = number < 0 ? 0 : delta[number];
    }
}

/* ---- products of a warp ---- */

/* A product with 16 others. */
typedef lh_sums lh_block_sums[1];

/* += its 16 rows by `blocks` times 16 others: number 0 is q . k, number 1 is dout . v, whichever
 * are the rows. */
template <int width, bool placed, int blocks>
__device__ static inline void lh_multiply(const lh_backward_memory<width, placed> &memory,
                                          int number, int first, int other,
                                          lh_sums (&sums)[blocks]) {
    enum { pitch = lh_tile_shape<width>::pitch };
    lh_multiply_rows<width>(memory.row[number] + first * pitch,
                            memory.other + number * memory.tile + other * pitch, sums);
}

/* Both products from nothing. */
template <int width, bool placed>
__device__ static inline void lh_multiply_both(const lh_backward_memory<width, placed> &memory,
                                               int first, int other, lh_block_sums &scores,
                                               lh_block_sums &slopes) {
    lh_clear_sums(scores);
    lh_clear_sums(slopes);
    lh_multiply(memory, 0, first, other, scores);
    lh_multiply(memory, 1, first, other, slopes);
}

/* Row `row` of a block's gradients by diagonals query - key + 15, zeros on all other diagonals. */
__device__ static inline void lh_put_diagonal(__nv_bfloat16 *spread, int row, int column,
                                              __nv_bfloat16 gradient) {
    const int diagonal = row - column + LH_STEP - 1;
    spread[row * LH_SPREAD_PITCH + diagonal] = gradient;
    spread[row * LH_SPREAD_PITCH + (diagonal + LH_STEP) % LH_BAND] = __float2bfloat16_rn(0);
}

/* A warp's 16 queries and the 64 staged keys. multiply(key, scores, slopes) gives the products with
 * 16 keys, differentiate(i, j, q_k, dout_v) what a pair makes of them. `vectors` are the pair's, or
 * NULL. */
template <int width, bool placed, typename multiplying, typename differentiating>
__device__ static inline void
lh_visit_keys(lh_backward_memory<width, placed> *memory, const lh_warp_place &at,
              const __nv_bfloat16 *vectors, const multiplying &multiply,
              const differentiating &differentiate, lh_sums (&dq)[width / LH_STEP]) {
    enum { pitch = lh_tile_shape<width>::pitch };
    __nv_bfloat16 *spread = reinterpret_cast<__nv_bfloat16 *>(memory->product[at.warp]);
    LH_NO_UNROLL
    for (int c = 0; c < LH_TILE; c += LH_STEP) {
        lh_block_sums scores, slopes;
        lh_sums gradients;
        multiply(c, scores, slopes);
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n) {
            const int row = lh_row_at(at.lane, n), column = lh_column_at(at.lane, n);
            const lh_slope of = differentiate(at.first + row, c + column, lh_part(scores[0], n),
                                              lh_part(slopes[0], n));
            lh_part(gradients, n) = of.gradient;
            if (placed && vectors != NULL)
                lh_put_diagonal(spread, row, column, __float2bfloat16_rn(of.gradient));
        }
        lh_add_rounded<width>(gradients, memory->other + c * pitch, dq);
        if (!placed || vectors == NULL) continue;
        __syncwarp();
        LH_UNROLL
        for (int half = 0; half < 2; ++half)
            lh_add_weighted<width, false>(
                spread + half * LH_STEP, LH_SPREAD_PITCH,
                lh_band_of<width>(vectors, at.first, c) + half * LH_STEP * pitch, dq);
        __syncwarp();
    }
}

/* A warp's 16 keys and the 64 staged queries. */
template <int width, bool placed, typename multiplying, typename differentiating>
__device__ static inline void
lh_visit_queries(lh_backward_memory<width, placed> *memory, const lh_warp_place &at,
                 const multiplying &multiply, const differentiating &differentiate,
                 lh_sums (&dk)[width / LH_STEP], lh_sums (&dv)[width / LH_STEP]) {
    enum { pitch = lh_tile_shape<width>::pitch };
    LH_NO_UNROLL
    for (int c = 0; c < LH_TILE; c += LH_STEP) {
        lh_block_sums scores, slopes;
        lh_sums weights, gradients;
        multiply(c, scores, slopes);
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n) {
            const int row = lh_row_at(at.lane, n), column = lh_column_at(at.lane, n);
            const lh_slope of = differentiate(c + column, at.first + row, lh_part(scores[0], n),
                                              lh_part(slopes[0], n));
            lh_part(weights, n) = of.weight;
            lh_part(gradients, n) = of.gradient;
        }
        lh_add_rounded<width>(weights, memory->other + memory->tile + c * pitch, dv);
        lh_add_rounded<width>(gradients, memory->other + c * pitch, dk);
    }
}

/* ---- attention by windows ---- */

/* The pass over distances: dpositions, if they are wanted. `sums` is workspace of so many elements:
 * of each source [batch][heads][distances of tiles][128 diagonals][head_width]. */
int64_t lh_attention_tile_position_sums(const lh_attention_backward_args *args);
lh_status lh_attention_tile_positions(const lh_launch *launch,
                                      const lh_attention_backward_args *args, const real *delta,
                                      real *sums);

/* From q . k and dO . v. A query that saw nothing has a log sum exp of -infinity. */
template <typename memory_type>
__device__ static inline lh_slope
lh_differentiate(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t batch,
                 int64_t head, int i, int j, real q_k, real dout_v, const memory_type &memory) {
    if (!lh_pair_sees(spec, pair, i, j) || memory.lse[i] == -INFINITY) return {0, 0, 0};
    const real raw = spec.scale * q_k + memory.bias[i - j + LH_TILE - 1];
    const real p = __expf(lh_scale_of_head(spec, head) * raw - memory.lse[i]);
    const real kept = lh_kept(spec, batch, head, pair.query + i, pair.source, pair.key + j);
    return {p * kept, p * (dout_v * kept - memory.delta[i]), raw};
}

/* lse and delta of 64 queries; a block's work. */
template <typename memory_type>
__device__ static inline void lh_stage_queries(const lh_attention_backward_args &a,
                                               const real *delta, int64_t batch, int64_t head,
                                               int64_t query, memory_type *memory) {
    const int64_t number = (batch * a.spec.heads + head) * a.spec.queries + query;
    const int64_t queries = a.spec.queries - query;
    lh_stage_sums(
        a.lse, delta, [=](int i) { return i < queries ? number + i : -1; }, memory);
}

#endif
