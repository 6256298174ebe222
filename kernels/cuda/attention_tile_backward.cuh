/* What the backward kernels for tensor cores share. Passes over queries sum dq, those over keys dk
 * and dv, so that nothing is added from two places; each makes the scores again (Dao et al. 2022,
 * "FlashAttention").
 *
 *   P = exp(S - lse)   dP = dropout(dO V^T)   dS = P (dP - dO . O)
 *
 * What makes P and dS of a block of products takes no branches for single pairs: every lane has
 * eight of them, and their steps overlap. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_BACKWARD_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_BACKWARD_CUH

#include "kernels/cuda/attention_tile_bias.cuh"
#include "kernels/cuda/attention_tile_dropout.cuh"

/* Of a block's gradients by diagonals. */
template <typename operand> struct lh_spread_shape {
    enum { pitch = LH_BAND + LH_PACKED_BYTES / (int)sizeof(operand) };
    static_assert(LH_STEP * pitch * sizeof(operand) <= LH_BAND_FLOATS * sizeof(float),
                  "gradients by diagonals lie where the products of a band lay");
};

/* A block's shared memory: its own rows, those that pass by, and what is made of them. Rows are q
 * and dout, the others k and v, in a pass over queries; the reverse in one over keys. Where scores
 * have position vectors, there is room for a third tile, since a pair's vectors take two. */
template <int width, bool placed, typename operand = __nv_bfloat16> struct lh_backward_memory {
    typedef lh_tile_shape<width, operand> shape;
    enum { tile = shape::elements, products = placed ? (int)LH_BAND_FLOATS : 1 };
    operand row[2][tile], other[(placed ? 3 : 2) * tile];
    float product[LH_TILE_WARPS][products]; /* a warp's, of queries and a band of vectors */
    float lse[LH_TILE], delta[LH_TILE];     /* of the queries; lse as lh_stage_sums gives it */
};

/* A pass of warps with so many stripes: its threads, and blocks on a multiprocessor. */
template <int stripes> struct lh_backward_block {
    enum { threads = LH_TILE_THREADS / stripes, blocks = stripes * 2 };
};

/* Where a warp stands. */
typedef struct lh_warp_place {
    int first, lane, warp; /* first: of its rows, within the block's tile */
} lh_warp_place;

/* 16 staged rows, as room for results. */
template <int width, typename operand>
__device__ static inline float *lh_scratch_of(operand *rows, int first) {
    return reinterpret_cast<float *>(rows + first * lh_tile_shape<width, operand>::pitch);
}

/* Of the calling thread; a warp has `stripes` times 16 rows, one warp's after the other's. */
template <int stripes = 1> __device__ static inline lh_warp_place lh_find_place(void) {
    lh_warp_place place;
    place.lane = (int)(threadIdx.x % LH_WARP);
    place.warp = (int)(threadIdx.x / LH_WARP);
    place.first = place.warp * stripes * LH_STEP;
    return place;
}

/* lse, in units of log 2, and delta of the query of row i, if there is one: number_of(i) >= 0. One
 * that is not there or saw nothing gets an lse that makes all of its weights 0. A block's work. */
template <typename memory_type, typename numbering>
__device__ static inline void lh_stage_sums(const real *lse, const real *delta,
                                            const numbering &number_of, memory_type *memory) {
    for (int i = (int)threadIdx.x; i < LH_TILE; i += (int)blockDim.x) {
        const int64_t number = number_of(i);
        const real of_query = number < 0 ? -INFINITY : lse[number];
        memory->lse[i] = of_query == -INFINITY ? INFINITY : LH_LOG2_E * of_query;
        memory->delta[i] = number < 0 ? 0 : delta[number];
    }
}

/* ---- products of a warp ---- */

/* Blocks of 16 others that a warp takes at once: what it reads of its own rows serves all of them.
 */
template <int width, bool placed, int stripes> struct lh_at_once {
    enum { blocks = !placed && (stripes == 2 || width == LH_WIDEST_TILE) ? 2 : 1 };
};

/* += its rows by `blocks` times 16 others: number 0 is q . k, number 1 is dout . v, whichever are
 * the rows. */
template <int width, bool placed, typename operand, int stripes, int blocks>
__device__ static inline void lh_multiply(const lh_backward_memory<width, placed, operand> &memory,
                                          int number, int first, int other,
                                          lh_sums (&sums)[stripes][blocks]) {
    enum { pitch = lh_tile_shape<width, operand>::pitch };
    lh_multiply_rows<width>(memory.row[number] + first * pitch,
                            memory.other + number * memory.tile + other * pitch, sums);
}

/* Both products from nothing. */
template <int width, bool placed, typename operand, int stripes, int blocks>
__device__ static inline void
lh_multiply_both(const lh_backward_memory<width, placed, operand> &memory, int first, int other,
                 lh_sums (&scores)[stripes][blocks], lh_sums (&slopes)[stripes][blocks]) {
    lh_clear_all(scores);
    lh_clear_all(slopes);
    lh_multiply(memory, 0, first, other, scores);
    lh_multiply(memory, 1, first, other, slopes);
}

/* Row `row` of a block's gradients by diagonals query - key + 15, zeros on all other diagonals. */
template <typename operand>
__device__ static inline void lh_put_diagonal(operand *spread, int row, int column, real gradient) {
    const int diagonal = row - column + LH_STEP - 1;
    operand *own = spread + row * lh_spread_shape<operand>::pitch;
    lh_store(&own[diagonal], LH_SET, gradient);
    lh_store(&own[(diagonal + LH_STEP) % LH_BAND], LH_SET, 0);
}

/* dq += gradients of 16 x 16 scores by the vectors of their diagonals, by way of `spread`. */
template <int width, typename operand>
__device__ static inline void lh_add_by_diagonals(lh_sums &gradients, operand *spread,
                                                  const operand *band, int lane,
                                                  lh_sums (&dq)[width / LH_STEP]) {
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n)
        lh_put_diagonal(spread, lh_row_at(lane, n), lh_column_at(lane, n), lh_part(gradients, n));
    __syncwarp();
    LH_UNROLL
    for (int half = 0; half < 2; ++half)
        lh_add_weighted<width, false>(spread + half * LH_STEP, lh_spread_shape<operand>::pitch,
                                      band + half * LH_STEP * lh_tile_shape<width, operand>::pitch,
                                      dq);
    __syncwarp();
}

/* A warp's queries and the 64 staged keys. multiply(key, scores, slopes) gives the products q . k
 * and dO . v with the next keys, differentiate(s, cell_of, scores, slopes) makes weights and
 * gradients of 16 x 16 of them, of stripe s, where part n of a lane is at cell_of(n). `vectors` are
 * the pair's, or NULL. */
template <int width, bool placed, int stripes, typename operand, typename multiplying,
          typename differentiating>
__device__ static inline void
lh_visit_keys(lh_backward_memory<width, placed, operand> *memory, const lh_warp_place &at,
              const operand *vectors, const multiplying &multiply,
              const differentiating &differentiate, lh_sums (&dq)[stripes][width / LH_STEP]) {
    enum {
        pitch = lh_tile_shape<width, operand>::pitch,
        blocks = lh_at_once<width, placed, stripes>::blocks
    };
    LH_NO_UNROLL
    for (int begin = 0; begin < LH_TILE; begin += blocks * LH_STEP) {
        lh_sums scores[stripes][blocks], slopes[stripes][blocks];
        multiply(begin, scores, slopes);
        LH_UNROLL
        for (int b = 0; b < blocks; ++b) {
            const int c = begin + b * LH_STEP;
            LH_UNROLL
            for (int s = 0; s < stripes; ++s) {
                const auto cell_of = [=](int n) -> lh_cell {
                    return {at.first + s * LH_STEP + lh_row_at(at.lane, n),
                            c + lh_column_at(at.lane, n)};
                };
                differentiate(s, cell_of, scores[s][b], slopes[s][b]);
            }
            lh_add_rounded<width>(slopes, b, memory->other + c * pitch, dq);
            if constexpr (placed)
                if (vectors != NULL)
                    lh_add_by_diagonals<width>(
                        slopes[0][b], reinterpret_cast<operand *>(memory->product[at.warp]),
                        lh_band_of<width>(vectors, at.first, c), at.lane, dq[0]);
        }
    }
}

/* A warp's keys and the 64 staged queries. */
template <int width, bool placed, int stripes, typename operand, typename multiplying,
          typename differentiating>
__device__ static inline void
lh_visit_queries(lh_backward_memory<width, placed, operand> *memory, const lh_warp_place &at,
                 const multiplying &multiply, const differentiating &differentiate,
                 lh_sums (&dk)[stripes][width / LH_STEP], lh_sums (&dv)[stripes][width / LH_STEP]) {
    enum {
        pitch = lh_tile_shape<width, operand>::pitch,
        blocks = lh_at_once<width, placed, stripes>::blocks
    };
    LH_NO_UNROLL
    for (int begin = 0; begin < LH_TILE; begin += blocks * LH_STEP) {
        lh_sums scores[stripes][blocks], slopes[stripes][blocks];
        multiply(begin, scores, slopes);
        LH_UNROLL
        for (int b = 0; b < blocks; ++b) {
            const int c = begin + b * LH_STEP;
            LH_UNROLL
            for (int s = 0; s < stripes; ++s) {
                const auto cell_of = [=](int n) -> lh_cell {
                    return {c + lh_column_at(at.lane, n),
                            at.first + s * LH_STEP + lh_row_at(at.lane, n)};
                };
                differentiate(s, cell_of, scores[s][b], slopes[s][b]);
            }
            lh_add_rounded<width>(scores, b, memory->other + memory->tile + c * pitch, dv);
            lh_add_rounded<width>(slopes, b, memory->other + c * pitch, dk);
        }
    }
}

/* ---- attention by windows ---- */

/* The pass over distances: dpositions, if they are wanted. `sums` is workspace of so many elements:
 * of each source [batch][heads][distances of tiles][128 diagonals][head_width]. */
int64_t lh_attention_tile_position_sums(const lh_attention_backward_args *args);
lh_status lh_attention_tile_positions(const lh_launch *launch,
                                      const lh_attention_backward_args *args,
                                      const lh_kept_table &kept, const real *delta, real *sums);

/* What the slopes of a pair of tiles have in common: a score before the head's scale is
 * product * q . k + bias, a weight 2^(head * score - lse), and `kept` of it if it is. */
typedef struct lh_slope_terms {
    real product, bias, head, kept;
    bool whole, one; /* one: bias is that of all diagonals, else 0 */
    bool plain;      /* whole, with one bias and without dropout */
} lh_slope_terms;

/* For all threads of a block alike: nothing in it depends on the row. */
__device__ static inline lh_slope_terms lh_slope_terms_of(const lh_attention_spec &spec,
                                                          const lh_tile_pair &pair, int64_t head,
                                                          const lh_pair_bias &bias) {
    const real of_head = LH_LOG2_E * lh_scale_of_head(spec, head);
    const bool whole = lh_pair_is_whole(pair), plain = whole && bias.one && !(spec.dropout > 0);
    return {spec.scale, bias.bias, of_head, lh_kept_scale(spec, pair), whole, bias.one, plain};
}

template <bool value> struct lh_known {
    enum { is = value };
};

/* Calls visit(lh_known<plain>()): what the one of two copies does not ask needs no registers. */
template <typename visiting>
__device__ static inline void lh_visit_either(bool plain, const visiting &visit) {
    if (plain)
        visit(lh_known<true>());
    else
        visit(lh_known<false>());
}

/* Which keys each query of a pair sees, unless all see all; a block's work. */
template <typename memory_type>
__device__ static inline void lh_stage_seen(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                            memory_type *memory) {
    if (lh_pair_is_whole(pair)) return;
    for (int i = (int)threadIdx.x; i < LH_TILE; i += (int)blockDim.x)
        memory->seen[i] = lh_keys_of(spec, pair, i);
}

/* A bit for each part of a block: whether the query sees the key. */
template <typename placing>
__device__ static inline uint32_t lh_seen_parts(const lh_seen_keys *keys_of,
                                                const placing &cell_of) {
    uint32_t seen = 0;
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n)
        seen |= (uint32_t)lh_is_among(keys_of[cell_of(n).query], cell_of(n).key) << n;
    return seen;
}

/* Of 16 x 16 pairs: makes of q . k what values were multiplied by, and of dO . v the gradients of
 * the scores. use(gradient, score) is told of each, the score before the head's scale. Of
 * a `plain` pair nothing is asked. */
template <bool plain, typename placing, typename using_slope, typename memory_type>
__device__ static inline void
lh_differentiate(const lh_attention_spec &spec, const lh_slope_terms &terms,
                 const lh_tile_pair &pair, const placing &cell_of, const using_slope &use,
                 const memory_type &memory, lh_sums &scores, lh_sums &slopes) {
    const uint32_t seen = plain || terms.whole ? ~(uint32_t)0 : lh_seen_parts(memory.seen, cell_of);
    const uint32_t kept = plain ? ~(uint32_t)0 : lh_kept_parts(spec, pair, memory.kept, cell_of);
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n)
        lh_part(scores, n) = lh_part(scores, n) * terms.product + terms.bias;
    if (!plain && !terms.one) {
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n)
            lh_part(scores, n) += memory.bias[cell_of(n).query - cell_of(n).key + LH_TILE - 1];
    }
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n) {
        const int query = cell_of(n).query;
        const real score = lh_part(scores, n), power = terms.head * score - memory.lse[query];
        const real weight = (seen >> n & 1) != 0 ? lh_exp2(power) : 0;
        const real keeps = (kept >> n & 1) != 0 ? terms.kept : 0;
        const real gradient = weight * (keeps * lh_part(slopes, n) - memory.delta[query]);
        use(gradient, score);
        lh_part(scores, n) = weight * keeps;
        lh_part(slopes, n) = gradient;
    }
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
