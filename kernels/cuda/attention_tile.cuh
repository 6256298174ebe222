/* What the attention kernels for tensor cores share. Operands are rounded to bf16, sums are f32.
 *
 * A block holds a tile of 64 rows (queries, or keys), 16 to a warp, and meets the other side in
 * tiles of 64. Scores live in fragments and shared memory only. Head vectors are padded with zeros
 * to 32, 64 or 128 elements. A value or key that is no number reaches every row of its tile. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_CUH

#include <mma.h>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/bf16.cuh"

enum {
    LH_TILE = 64, /* rows, on either side */
    LH_STEP = 16, /* rows and columns of a fragment */
    LH_TILE_STEPS = LH_TILE / LH_STEP,
    LH_TILE_WARPS = LH_TILE / LH_STEP,
    LH_TILE_THREADS = LH_TILE_WARPS * LH_WARP,
    LH_TILE_DIAGONALS = 2 * LH_TILE - 1,
    LH_SCORE_PITCH = LH_TILE + 8, /* of a row of weights in bf16 */
    LH_WIDEST_TILE = 128,
    LH_STEP_PARTS = LH_STEP * LH_STEP / LH_WARP /* elements of a fragment that a lane holds */
};

/* Pitch of a staged row: other banks for its neighbours, 16 bytes a unit. */
template <int width> struct lh_tile_shape {
    enum {
        pitch = width + 8,
        elements = LH_TILE * pitch, /* of a staged tile */
        steps = width / LH_STEP,
        scratch_pitch = pitch / 2, /* floats, in the memory of a warp's staged rows */
        scratch_steps = steps / 2  /* columns of fragments that it holds */
    };
};

typedef nvcuda::wmma::fragment<nvcuda::wmma::accumulator, LH_STEP, LH_STEP, LH_STEP, float> lh_sums;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, LH_STEP, LH_STEP, LH_STEP, __nv_bfloat16,
                               nvcuda::wmma::row_major>
    lh_left;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, LH_STEP, LH_STEP, LH_STEP, __nv_bfloat16,
                               nvcuda::wmma::row_major>
    lh_right;
typedef nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, LH_STEP, LH_STEP, LH_STEP, __nv_bfloat16,
                               nvcuda::wmma::col_major>
    lh_right_transposed;

/* The smallest width that is compiled for and holds a head vector. */
static inline int lh_tile_width(int64_t head_width) {
    return head_width <= 32 ? 32 : head_width <= 64 ? 64 : 128;
}

/* Whether the kernels for tensor cores take an attention; the others take all. */
static inline bool lh_attention_fits_tiles(const lh_attention_spec *spec) {
    return spec->precision == LH_PRECISION_BF16 && spec->head_width <= LH_WIDEST_TILE &&
           spec->positions == NULL;
}

lh_status lh_attention_tile_forward(const lh_launch *launch, const lh_attention_forward_args *args);
lh_status lh_attention_tile_backward(const lh_launch *launch,
                                     const lh_attention_backward_args *args);
size_t lh_attention_tile_backward_workspace(const lh_attention_backward_args *args);

/* ---- staging ---- */

/* A block rounds rows [begin, begin + 64) into `tile`; zeros from `end` on. */
template <int width>
__device__ static inline void lh_stage_tile(const lh_heads &heads, int64_t batch, int64_t head,
                                            int64_t begin, int64_t end, int64_t head_width,
                                            __nv_bfloat16 *tile) {
    enum { runs = width / LH_BF16_RUN, pitch = lh_tile_shape<width>::pitch };
    const real *rows = lh_head_row(heads, batch, head, begin);
    const bool whole =
        (uintptr_t)rows % sizeof(float4) == 0 && heads.token_stride % LH_BF16_RUN == 0;
    for (int i = (int)threadIdx.x; i < LH_TILE * runs; i += LH_TILE_THREADS) {
        const int row = i / runs, column = i % runs * LH_BF16_RUN;
        const int64_t filled = begin + row < end ? head_width : 0;
        *reinterpret_cast<lh_bf16_run *>(tile + row * pitch + column) =
            lh_bf16_load(rows + row * heads.token_stride, column, filled, whole);
    }
}

/* ---- fragments ---- */

/* Where in its fragment each of a lane's elements lies: row * 16 + column. Which lane holds what is
 * the card's own business, so a fragment of these numbers is read to learn it. */
typedef struct lh_places {
    int at[LH_STEP_PARTS];
} lh_places;

/* `memory` is the warp's own: 256 floats. */
__device__ static inline lh_places lh_find_places(float *memory, int lane) {
    lh_places places;
    lh_sums numbers;
    for (int i = lane; i < LH_STEP * LH_STEP; i += LH_WARP)
        memory[i] = (float)i;
    __syncwarp();
    nvcuda::wmma::load_matrix_sync(numbers, memory, LH_STEP, nvcuda::wmma::mem_row_major);
    static_assert((int)numbers.num_elements == LH_STEP_PARTS, "a lane holds 8 elements");
    LH_UNROLL
    for (int i = 0; i < LH_STEP_PARTS; ++i)
        places.at[i] = (int)numbers.x[i];
    __syncwarp();
    return places;
}

__device__ static inline int lh_row_at(const lh_places &places, int part) {
    return places.at[part] / LH_STEP;
}

__device__ static inline int lh_column_at(const lh_places &places, int part) {
    return places.at[part] % LH_STEP;
}

template <int count> __device__ static inline void lh_clear_sums(lh_sums (&sums)[count]) {
    LH_UNROLL
    for (int i = 0; i < count; ++i)
        nvcuda::wmma::fill_fragment(sums[i], 0.0f);
}

/* The warp's 16 rows by the 64 of the other side: scores = rows others^T. */
template <int width>
__device__ static inline void lh_multiply_rows(const __nv_bfloat16 *rows,
                                               const __nv_bfloat16 *others,
                                               lh_sums (&scores)[LH_TILE_STEPS]) {
    enum { pitch = lh_tile_shape<width>::pitch };
    lh_left a;
    lh_right_transposed b;
    lh_clear_sums(scores);
    LH_UNROLL
    for (int d = 0; d < width; d += LH_STEP) {
        nvcuda::wmma::load_matrix_sync(a, rows + d, pitch);
        LH_UNROLL
        for (int c = 0; c < LH_TILE_STEPS; ++c) {
            nvcuda::wmma::load_matrix_sync(b, others + c * LH_STEP * pitch + d, pitch);
            nvcuda::wmma::mma_sync(scores[c], a, b, scores[c]);
        }
    }
}

/* sums += weights others: 16 x 64 by 64 x width. */
template <int width>
__device__ static inline void lh_add_weighted(const __nv_bfloat16 *weights, unsigned weight_pitch,
                                              const __nv_bfloat16 *others,
                                              lh_sums (&sums)[width / LH_STEP]) {
    enum { pitch = lh_tile_shape<width>::pitch };
    lh_left a;
    lh_right b;
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c) {
        nvcuda::wmma::load_matrix_sync(a, weights + c * LH_STEP, weight_pitch);
        LH_UNROLL
        for (int d = 0; d < lh_tile_shape<width>::steps; ++d) {
            nvcuda::wmma::load_matrix_sync(b, others + c * LH_STEP * pitch + d * LH_STEP, pitch);
            nvcuda::wmma::mma_sync(sums[d], a, b, sums[d]);
        }
    }
}

/* Where the rows of a warp's result go. */
typedef struct lh_tile_rows {
    real *data; /* row 0 */
    int64_t token_stride;
    int rows, width;
    lh_write write;
} lh_tile_rows;

/* Stores a warp's 16 rows, scaled, by way of `scratch`, the memory of its own staged rows. */
template <int width>
__device__ static inline void lh_store_rows(lh_sums (&sums)[width / LH_STEP], real scale,
                                            const lh_tile_rows &to, float *scratch, int lane) {
    typedef lh_tile_shape<width> shape;
    enum { columns = shape::scratch_steps * LH_STEP };
    LH_UNROLL
    for (int half = 0; half < 2; ++half) {
        __syncwarp();
        LH_UNROLL
        for (int d = 0; d < shape::scratch_steps; ++d)
            nvcuda::wmma::store_matrix_sync(scratch + d * LH_STEP,
                                            sums[half * shape::scratch_steps + d],
                                            shape::scratch_pitch, nvcuda::wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < LH_STEP * columns; i += LH_WARP) {
            const int row = i / columns, column = half * columns + i % columns;
            if (row < to.rows && column < to.width)
                lh_store(to.data + row * to.token_stride + column, to.write,
                         scale * scratch[row * shape::scratch_pitch + i % columns]);
        }
    }
}

/* ---- who sees whom in a pair of tiles ---- */

/* 64 queries from `query` on and 64 keys of a source from `key` on. i and j count within them. */
typedef struct lh_tile_pair {
    int64_t batch;
    int source, queries, keys; /* those that there are: others are seen by nobody */
    int nearest, farthest;     /* of i - j */
    bool chunks;
    int64_t query, key;
} lh_tile_pair;

__device__ static inline int lh_clamp_diagonal(int64_t difference) {
    return (int)lh_max(-LH_TILE, lh_min(difference, LH_TILE));
}

__device__ static inline lh_tile_pair lh_pair_tiles(const lh_attention_spec &spec, int source,
                                                    int64_t batch, int64_t query, int64_t query_end,
                                                    int64_t key, int64_t key_end) {
    const lh_key_source &keys = spec.source[source];
    const int64_t offset = query - keys.first - key; /* distance = offset + i - j */
    lh_tile_pair pair;
    pair.batch = batch;
    pair.source = source;
    pair.query = query;
    pair.key = key;
    pair.queries = (int)lh_min(query_end - query, LH_TILE);
    const int64_t filled = keys.filled != NULL ? keys.filled[batch] : key_end;
    pair.keys = (int)lh_max(0, lh_min(lh_min(key_end, filled) - key, LH_TILE));
    pair.nearest = keys.everywhere ? -LH_TILE : lh_clamp_diagonal(spec.min_distance - offset);
    pair.farthest = keys.everywhere ? LH_TILE : lh_clamp_diagonal(spec.max_distance - offset);
    pair.chunks = spec.chunk > 0 && !keys.everywhere;
    return pair;
}

/* Whether the key is within the window of the query. */
__device__ static inline bool lh_pair_holds(const lh_tile_pair &pair, int i, int j) {
    return i < pair.queries && j < pair.keys && i - j >= pair.nearest && i - j <= pair.farthest;
}

/* The same with chunks. */
__device__ static inline bool lh_pair_sees(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                           int i, int j) {
    if (!lh_pair_holds(pair, i, j) || !pair.chunks) return lh_pair_holds(pair, i, j);
    return lh_sees(spec, pair.source, pair.batch, pair.query + i, pair.key + j);
}

/* The bucket of each diagonal i - j + 63 of a pair and its bias; a block's work. */
__device__ static inline void lh_stage_bias(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                            int64_t head, float *bias, int32_t *bucket) {
    const lh_key_source &keys = spec.source[pair.source];
    const bool biased = spec.bias != NULL && !keys.everywhere;
    for (int x = (int)threadIdx.x; x < LH_TILE_DIAGONALS; x += LH_TILE_THREADS) {
        const int64_t distance = pair.query - keys.first - pair.key + x - (LH_TILE - 1);
        const int64_t entry = lh_max(0, lh_min(distance - spec.bucket_first, spec.bucket_span - 1));
        bucket[x] = biased ? spec.bucket_of[entry] : -1;
        bias[x] = biased ? spec.bias[head * spec.buckets + bucket[x]] : 0;
    }
}

#endif
