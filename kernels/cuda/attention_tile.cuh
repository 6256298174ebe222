/* What the attention kernels for tensor cores share. Operands are rounded to bf16, or to tf32, and
 * lie in shared memory as bf16 or as float; sums are f32.
 *
 * A block holds a tile of 64 rows (queries, or keys), 16 or 32 to a warp, and meets the other side
 * in tiles of 64. Scores live in registers. Head vectors are padded with zeros to 32, 64 or 128
 * elements. A value or key that is no number reaches every row of its tile. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_CUH

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/mma.cuh"

enum {
    LH_TILE = 64, /* rows, on either side */
    LH_STEP = 16, /* rows and columns of a fragment */
    LH_TILE_STEPS = LH_TILE / LH_STEP,
    LH_TILE_WARPS = LH_TILE / LH_STEP,
    LH_TILE_THREADS = LH_TILE_WARPS * LH_WARP,
    LH_PACKED_BYTES = 16, /* what a thread moves at once */
    LH_TILE_DIAGONALS = 2 * LH_TILE - 1,
    LH_WIDEST_TILE = 128,
    LH_MOST_TOKENS = 1 << 29,       /* so that sums of three such numbers are an int */
    LH_WIDEST_BYTES = 160 << 10,    /* of shared memory that they take at most in tf32 */
    LH_EVERY_CARD_BYTES = 99 << 10, /* that a block may have of every card from 8.0 on */
    LH_STEP_PARTS = LH_STEP * LH_STEP / LH_WARP, /* elements of a fragment that a lane holds */
    LH_BAND = 2 * LH_STEP,                       /* diagonals of 16 x 16 pairs, and one more */
    LH_BAND_PITCH = LH_BAND + 4,                 /* floats */
    LH_BAND_FLOATS = LH_STEP * LH_BAND_PITCH
};

/* Scores are counted in units of log 2, so that a weight is a power of 2. */
constexpr real LH_LOG2_E = 1.44269504f, LH_LN_2 = 0.69314718f;

/* Pitch of a staged row: other banks for its neighbours, 16 bytes a unit. */
template <int width, typename operand = __nv_bfloat16> struct lh_tile_shape {
    enum {
        pitch = width + LH_PACKED_BYTES / (int)sizeof(operand),
        elements = LH_TILE * pitch, /* of a staged tile */
        steps = width / LH_STEP,
        scratch_pitch = pitch / 2, /* floats, in the memory of a warp's staged rows */
        scratch_steps = steps / 2  /* columns of fragments that it holds */
    };
};

/* The smallest width that is compiled for and holds a head vector. */
static inline int lh_tile_width(int64_t head_width) {
    return head_width <= 32 ? 32 : head_width <= 64 ? 64 : 128;
}

/* Whether tiles of such heads are compiled for a precision and a block has the memory for them. */
static inline bool lh_tiles_have_room(lh_precision precision, int64_t head_width) {
    if (precision == LH_PRECISION_F32 || head_width > LH_WIDEST_TILE) return false;
    return precision == LH_PRECISION_BF16 || lh_tile_width(head_width) < LH_WIDEST_TILE ||
           lh_has_shared(LH_WIDEST_BYTES);
}

/* Whether they count the tokens of an attention. */
static inline bool lh_tiles_count(const lh_attention_spec *spec) {
    int64_t most = spec->queries;
    for (int s = 0; s < spec->source_count; ++s)
        most = lh_max(most, spec->source[s].count);
    return most <= LH_MOST_TOKENS;
}

/* Whether the kernels for tensor cores take an attention of such queries; the others take all. In
 * tf32 those of f32 and, with the widest heads, without position vectors, which would need more
 * shared memory than they may have. */
bool lh_attention_fits_tiles(const lh_attention_spec *spec, lh_dtype dtype);

lh_status lh_attention_tile_forward(const lh_launch *launch, const lh_attention_forward_args *args);
size_t lh_attention_tile_forward_workspace(const lh_attention_forward_args *args);
lh_status lh_attention_tile_backward(const lh_launch *launch,
                                     const lh_attention_backward_args *args);
size_t lh_attention_tile_backward_workspace(const lh_attention_backward_args *args);

/* ---- staging ---- */

/* Four floats as operands. */
__device__ static inline void lh_put_packed(const float4 &x, __nv_bfloat16 *to) {
    const int2 packed = {(int)lh_pack(x.x, x.y), (int)lh_pack(x.z, x.w)};
    *reinterpret_cast<int2 *>(to) = packed;
}

/* The same as floats that are rounded to tf32. */
__device__ static inline void lh_put_packed(const float4 &x, float *to) {
    const int4 rounded = {(int)lh_round_tf32(x.x), (int)lh_round_tf32(x.y), (int)lh_round_tf32(x.z),
                          (int)lh_round_tf32(x.w)};
    *reinterpret_cast<int4 *>(to) = rounded;
}

/* Elements [column, column + 4) of a row of `width`; 0 past its end. */
template <typename element>
__device__ static inline void lh_put_run(const element *row, int64_t column, int64_t width,
                                         __nv_bfloat16 *to) {
    *reinterpret_cast<lh_bf16_run *>(to) = lh_bf16_load(row, column, width, false);
}

/* The same, rounded to tf32. */
__device__ static inline void lh_put_run(const real *row, int64_t column, int64_t width,
                                         float *to) {
    LH_UNROLL
    for (int i = 0; i < LH_RUN; ++i)
        to[i] = __uint_as_float(lh_round_tf32(column + i < width ? row[column + i] : 0));
}

/* Rows that begin and end at multiples of 16 bytes: a thread has the same columns of every
 * `step`-th row. */
template <int width, int rows, int threads, typename numbering>
__device__ static inline void lh_stage_packed(const __nv_bfloat16 *first, int64_t stride,
                                              int64_t head_width, const numbering &token_of,
                                              __nv_bfloat16 *tile) {
    enum { run = LH_PACKED_BYTES / sizeof(__nv_bfloat16), runs = width / run };
    enum { pitch = lh_tile_shape<width>::pitch, step = threads / runs };
    static_assert(threads % runs == 0 && rows % step == 0, "every thread has as much");
    const int column = (int)threadIdx.x % runs * run, begin = (int)threadIdx.x / runs;
    const bool inside = column < head_width;
    LH_UNROLL
    for (int n = 0; n < rows / step; ++n) {
        const int64_t token = token_of(begin + n * step);
        const bool there = inside && token >= 0;
        lh_copy_later(tile + (begin + n * step) * pitch + column,
                      there ? first + token * stride + column : first, there);
    }
}

/* Rows one after the other: `count` from token `begin` on. */
typedef struct lh_row_run {
    int64_t begin;
    int count;
    __device__ int64_t operator()(int row) const {
        return row < count ? begin + row : -1;
    }
} lh_row_run;

/* The same of such rows: of those that are not there no more than an address is made, and where
 * all are nothing is asked of any. */
template <int width, int rows, int threads>
__device__ static inline void lh_stage_packed(const __nv_bfloat16 *first, int64_t stride,
                                              int64_t head_width, const lh_row_run &run_of_rows,
                                              __nv_bfloat16 *tile) {
    enum { run = LH_PACKED_BYTES / sizeof(__nv_bfloat16), runs = width / run };
    enum { pitch = lh_tile_shape<width>::pitch, step = threads / runs };
    const int column = (int)threadIdx.x % runs * run, begin = (int)threadIdx.x / runs;
    const int count = column < head_width ? run_of_rows.count : 0;
    const int64_t apart = step * stride * (int64_t)sizeof *first;
    uintptr_t from = (uintptr_t)(first + (run_of_rows.begin + begin) * stride + column);
    __nv_bfloat16 *to = tile + begin * pitch + column;
    if (count >= rows) {
        LH_UNROLL
        for (int n = 0; n < rows / step; ++n, from += apart)
            lh_copy_later(to + n * step * pitch, reinterpret_cast<const void *>(from), true);
        return;
    }
    LH_UNROLL
    for (int n = 0; n < rows / step; ++n, from += apart)
        lh_copy_later(to + n * step * pitch, reinterpret_cast<const void *>(from),
                      begin + n * step < count);
}

/* The same of floats: a thread asks for some of its rows before it stores the first. */
template <int width, int rows, int threads, typename numbering, typename operand>
__device__ static inline void lh_stage_packed(const real *first, int64_t stride, int64_t head_width,
                                              const numbering &token_of, operand *tile) {
    enum { run = LH_PACKED_BYTES / sizeof(real), runs = width / run };
    enum { pitch = lh_tile_shape<width, operand>::pitch, step = threads / runs };
    enum { passes = rows / step, asked = passes < 4 ? passes : 4 };
    static_assert(threads % runs == 0 && passes % asked == 0, "every thread has as much");
    const int column = (int)threadIdx.x % runs * run, begin = (int)threadIdx.x / runs;
    const bool inside = column < head_width;
    LH_NO_UNROLL
    for (int row = begin; row < rows; row += asked * step) {
        float4 x[asked];
        LH_UNROLL
        for (int n = 0; n < asked; ++n) {
            const int64_t token = token_of(row + n * step);
            x[n] = {0, 0, 0, 0};
            if (inside && token >= 0)
                x[n] = *reinterpret_cast<const float4 *>(first + token * stride + column);
        }
        LH_UNROLL
        for (int n = 0; n < asked; ++n)
            lh_put_packed(x[n], tile + (row + n * step) * pitch + column);
    }
}

/* Any rows. */
template <typename element, int width, int rows, typename numbering, typename operand>
__device__ static inline void lh_stage_runs(const element *first, int64_t stride,
                                            int64_t head_width, const numbering &token_of,
                                            operand *tile) {
    enum { runs = width / LH_RUN, pitch = lh_tile_shape<width, operand>::pitch };
    LH_NO_UNROLL
    for (int i = (int)threadIdx.x; i < rows * runs; i += (int)blockDim.x) {
        const int row = i / runs, column = i % runs * LH_RUN;
        const int64_t token = token_of(row);
        const element *from = first + lh_max(token, 0) * stride;
        lh_put_run(from, column, token < 0 ? 0 : head_width, tile + row * pitch + column);
    }
}

/* A block stages rows by the widest loads that their addresses allow; the element in memory is the
 * template's. Others call lh_stage_tokens. */
template <typename element, int width, int rows, int threads, typename numbering, typename operand>
__device__ static inline void lh_stage_elements(const lh_heads &heads, int64_t batch, int64_t head,
                                                int64_t head_width, const numbering &token_of,
                                                operand *tile) {
    enum { run = LH_PACKED_BYTES / sizeof(element) };
    const element *first = lh_head_row<element>(heads, batch, head, 0);
    const bool packed = (uintptr_t)first % LH_PACKED_BYTES == 0 && head_width % run == 0 &&
                        heads.token_stride % run == 0;
    if (packed)
        lh_stage_packed<width, rows, threads>(first, heads.token_stride, head_width, token_of,
                                              tile);
    else
        lh_stage_runs<element, width, rows>(first, heads.token_stride, head_width, token_of, tile);
}

/* A block brings `rows` rows of a head into `tile`, that of token_of(n) to row n; zeros
 * where it is negative. Those that are bf16 in memory, too, come later: see lh_await_copies. */
template <int width, int rows, int threads = LH_TILE_THREADS, typename numbering>
__device__ static inline void lh_stage_tokens(const lh_heads &heads, int64_t batch, int64_t head,
                                              int64_t head_width, const numbering &token_of,
                                              __nv_bfloat16 *tile) {
    if (heads.act.dtype == LH_BF16)
        lh_stage_elements<__nv_bfloat16, width, rows, threads>(heads, batch, head, head_width,
                                                               token_of, tile);
    else
        lh_stage_elements<real, width, rows, threads>(heads, batch, head, head_width, token_of,
                                                      tile);
}

/* What is multiplied in tf32 is f32 in memory. */
template <int width, int rows, int threads = LH_TILE_THREADS, typename numbering>
__device__ static inline void lh_stage_tokens(const lh_heads &heads, int64_t batch, int64_t head,
                                              int64_t head_width, const numbering &token_of,
                                              float *tile) {
    lh_stage_elements<real, width, rows, threads>(heads, batch, head, head_width, token_of, tile);
}

/* Tokens [begin, begin + 64); zeros from `end` on. */
template <int width, int threads = LH_TILE_THREADS, typename operand>
__device__ static inline void lh_stage_tile(const lh_heads &heads, int64_t batch, int64_t head,
                                            int64_t begin, int64_t end, int64_t head_width,
                                            operand *tile) {
    const lh_row_run run = {begin, (int)lh_min(end - begin, LH_TILE)};
    lh_stage_tokens<width, LH_TILE, threads>(heads, batch, head, head_width, run, tile);
}

/* ---- products of a warp ---- */

/* 16 x 16 sums, in two blocks of columns. A lane holds LH_STEP_PARTS of them. */
typedef struct lh_sums {
    lh_mma_sums of[LH_STEP / LH_MMA_COLUMNS];
} lh_sums;

/* Of the calling thread within its warp. */
__device__ static inline int lh_lane(void) {
    return (int)(threadIdx.x % LH_WARP);
}

/* Of a lane's sum number `part` of LH_STEP_PARTS: its row within the 16 x 16 ... */
__device__ static inline int lh_row_at(int lane, int part) {
    return lh_mma_row(lane, part % LH_MMA_SUMS);
}

/* ... and its column. */
__device__ static inline int lh_column_at(int lane, int part) {
    return part / LH_MMA_SUMS * LH_MMA_COLUMNS + lh_mma_column(lane, part % LH_MMA_SUMS);
}

/* That sum itself. */
__device__ static inline float &lh_part(lh_sums &sums, int part) {
    return sums.of[part / LH_MMA_SUMS][part % LH_MMA_SUMS];
}

/* Sets `count` blocks of a lane's sums to 0. */
template <int count> __device__ static inline void lh_clear_sums(lh_sums (&sums)[count]) {
    LH_UNROLL
    for (int i = 0; i < count; ++i)
        lh_clear_sums(sums[i].of);
}

/* Of all stripes. */
template <int stripes, int blocks>
__device__ static inline void lh_clear_all(lh_sums (&sums)[stripes][blocks]) {
    LH_UNROLL
    for (int s = 0; s < stripes; ++s)
        lh_clear_sums(sums[s]);
}

/* A lane's sums of 16 x 16, to rows `pitch` apart. */
__device__ static inline void lh_write_sums(lh_sums &sums, int pitch, float *to) {
    const int lane = lh_lane();
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n)
        to[lh_row_at(lane, n) * pitch + lh_column_at(lane, n)] = lh_part(sums, n);
}

/* sums += rows others^T: the warp's `stripes` times 16 rows by `blocks` times 16 others. */
template <int width, typename operand, int stripes, int blocks>
__device__ static inline void lh_multiply_rows(const operand *rows, const operand *others,
                                               lh_sums (&sums)[stripes][blocks]) {
    enum { pitch = lh_tile_shape<width, operand>::pitch };
    const int lane = lh_lane();
    LH_UNROLL
    for (int d = 0; d < width; d += LH_STEP) {
        typename lh_left_of<operand>::type left[stripes];
        LH_UNROLL
        for (int s = 0; s < stripes; ++s)
            lh_load_left(rows + s * LH_STEP * pitch + d, pitch, lane, left[s]);
        LH_UNROLL
        for (int c = 0; c < blocks; ++c) {
            typename lh_right_of<operand>::type right;
            lh_load_across<pitch>(others + c * LH_STEP * pitch + d, lane, right);
            LH_UNROLL
            for (int s = 0; s < stripes; ++s)
                lh_multiply_blocks(left[s], right, sums[s][c].of);
        }
    }
}

/* A stripe's 16 x 16 weights as an operand. */
template <typename operand> using lh_weights = typename lh_left_of<operand>::type;

/* sums += weights others: 16 others. */
template <int width, typename operand, int stripes>
__device__ static inline void lh_add_products(const lh_weights<operand> (&weights)[stripes],
                                              const operand *others,
                                              lh_sums (&sums)[stripes][width / LH_STEP]) {
    typedef lh_tile_shape<width, operand> shape;
    LH_UNROLL
    for (int d = 0; d < shape::steps; ++d) {
        typename lh_right_of<operand>::type right;
        lh_load_downwards<shape::pitch>(others + d * LH_STEP, lh_lane(), right);
        LH_UNROLL
        for (int s = 0; s < stripes; ++s)
            lh_multiply_blocks(weights[s], right, sums[s][d].of);
    }
}

/* The same of weights that are sums, rounded: block b of each stripe. */
template <int width, typename operand, int stripes, int blocks>
__device__ static inline void lh_add_rounded(const lh_sums (&weights)[stripes][blocks], int b,
                                             const operand *others,
                                             lh_sums (&sums)[stripes][width / LH_STEP]) {
    lh_weights<operand> left[stripes];
    LH_UNROLL
    for (int s = 0; s < stripes; ++s)
        lh_make_left(weights[s][b].of[0], weights[s][b].of[1], left[s]);
    lh_add_products<width, operand>(left, others, sums);
}

/* The same of weights in memory, 16 x 16 by rows, or by columns: bf16 ... */
template <int width, bool by_columns>
__device__ static inline void lh_add_weighted(const __nv_bfloat16 *weights, int weight_pitch,
                                              const __nv_bfloat16 *others,
                                              lh_sums (&sums)[width / LH_STEP]) {
    lh_mma_left left[1];
    lh_load_matrices(left[0],
                     by_columns ? lh_row_across(weights, weight_pitch, lh_lane())
                                : lh_row_downwards(weights, weight_pitch, lh_lane()),
                     by_columns);
    lh_add_products<width, __nv_bfloat16>(left, others,
                                          reinterpret_cast<lh_sums(&)[1][width / LH_STEP]>(sums));
}

/* ... or floats, which are rounded. */
template <int width, bool by_columns>
__device__ static inline void lh_add_weighted(const float *weights, int weight_pitch,
                                              const float *others,
                                              lh_sums (&sums)[width / LH_STEP]) {
    lh_sums own[1][1];
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n) {
        const int row = lh_row_at(lh_lane(), n), column = lh_column_at(lh_lane(), n);
        lh_part(own[0][0], n) =
            weights[by_columns ? column * weight_pitch + row : row * weight_pitch + column];
    }
    lh_add_rounded<width>(own, 0, others, reinterpret_cast<lh_sums(&)[1][width / LH_STEP]>(sums));
}

/* Block c of a row of four, in a loop that is not written out. */
__device__ static inline void lh_pick(lh_sums (&blocks)[LH_TILE_STEPS], int c, lh_sums &one) {
    static_assert(LH_TILE_STEPS == 4, "one of four");
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n) {
        const float low = c == 0 ? lh_part(blocks[0], n) : lh_part(blocks[1], n);
        const float high = c == 2 ? lh_part(blocks[2], n) : lh_part(blocks[3], n);
        lh_part(one, n) = c < 2 ? low : high;
    }
}

/* Brings a warp's 16 rows of sums into `scratch`, the memory of its own staged rows: half of the
 * columns, then the others; take(first) finds those from column `first` on there, in 16 rows of
 * shape::scratch_pitch floats. */
template <int width, typename taking>
__device__ static inline void lh_take_halves(lh_sums (&sums)[width / LH_STEP], float *scratch,
                                             const taking &take) {
    typedef lh_tile_shape<width> shape;
    LH_UNROLL
    for (int half = 0; half < 2; ++half) {
        __syncwarp();
        LH_UNROLL
        for (int d = 0; d < shape::scratch_steps; ++d)
            lh_write_sums(sums[half * shape::scratch_steps + d], shape::scratch_pitch,
                          scratch + d * LH_STEP);
        __syncwarp();
        take(half * shape::scratch_steps * LH_STEP);
    }
    __syncwarp();
}

/* A warp calls put(row, column, value) for 16 rows of sums, a row's columns side by side in the
 * lanes. */
template <int width, typename putting>
__device__ static inline void lh_put_rows(lh_sums (&sums)[width / LH_STEP], float *scratch,
                                          int lane, const putting &put) {
    typedef lh_tile_shape<width> shape;
    enum { columns = shape::scratch_steps * LH_STEP };
    lh_take_halves<width>(sums, scratch, [&](int first) {
        for (int i = lane; i < LH_STEP * columns; i += LH_WARP) {
            const int row = i / columns, column = i % columns;
            put(row, first + column, scratch[row * shape::scratch_pitch + column]);
        }
    });
}

/* Where the rows of a warp's result go. */
typedef struct lh_tile_rows {
    lh_act act;
    int64_t first, token_stride; /* where row 0 begins, and how far apart rows are */
    int rows, width;
    lh_write write;
} lh_tile_rows;

/* Those of a head's tokens from `token` on, of which there are `end`; up to 16. */
__device__ static inline lh_tile_rows lh_rows_of(const lh_heads &heads, int64_t batch, int64_t head,
                                                 int64_t token, int64_t end, int64_t head_width,
                                                 lh_write write) {
    return {heads.act,          lh_head_offset(heads, batch, head, token),
            heads.token_stride, (int)lh_min(end - token, LH_STEP),
            (int)head_width,    write};
}

/* Whether they are set, and begin and end at multiples of 16 bytes. */
template <typename element> __device__ static inline bool lh_are_packed(const lh_tile_rows &to) {
    enum { run = LH_PACKED_BYTES / sizeof(element) };
    return to.write == LH_SET && to.width % run == 0 && to.token_stride % run == 0 &&
           (uintptr_t)(lh_elements<element>(to.act) + to.first) % LH_PACKED_BYTES == 0;
}

/* 16 bytes of numbers, scaled. */
__device__ static inline void lh_store_packed(const float *from, real scale, __nv_bfloat16 *to) {
    unsigned pairs[4];
    LH_UNROLL
    for (int n = 0; n < 4; ++n)
        pairs[n] = lh_pack(scale * from[2 * n], scale * from[2 * n + 1]);
    *reinterpret_cast<int4 *>(to) = {(int)pairs[0], (int)pairs[1], (int)pairs[2], (int)pairs[3]};
}

__device__ static inline void lh_store_packed(const float *from, real scale, real *to) {
    *reinterpret_cast<float4 *>(to) = {scale * from[0], scale * from[1], scale * from[2],
                                       scale * from[3]};
}

/* A warp's 16 rows that are packed: a lane stores the same columns of every `step`-th row. */
template <int width, typename element>
__device__ static inline void lh_store_packed_rows(lh_sums (&sums)[width / LH_STEP], real scale,
                                                   const lh_tile_rows &to, float *scratch,
                                                   int lane) {
    typedef lh_tile_shape<width> shape;
    enum { run = LH_PACKED_BYTES / sizeof(element) };
    enum { runs = shape::scratch_steps * LH_STEP / run, step = LH_WARP / runs };
    const int column = lane % runs * run;
    lh_take_halves<width>(sums, scratch, [&](int first) {
        if (first + column >= to.width) return;
        element *row = lh_elements<element>(to.act) + to.first + first + column;
        LH_UNROLL
        for (int n = lane / runs; n < LH_STEP; n += step)
            if (n < to.rows)
                lh_store_packed(scratch + n * shape::scratch_pitch + column, scale,
                                row + n * to.token_stride);
    });
}

/* An element, where there is such a row and column. */
__device__ static inline void lh_store_element(const lh_tile_rows &to, int row, int column,
                                               real value) {
    if (row < to.rows && column < to.width)
        lh_store_as(to.act, to.first + row * to.token_stride + column, to.write, value);
}

/* Stores a warp's 16 rows, scaled. */
template <int width>
__device__ static inline void lh_store_rows(lh_sums (&sums)[width / LH_STEP], real scale,
                                            const lh_tile_rows &to, float *scratch, int lane) {
    if (to.act.dtype == LH_BF16 && lh_are_packed<__nv_bfloat16>(to))
        return lh_store_packed_rows<width, __nv_bfloat16>(sums, scale, to, scratch, lane);
    if (to.act.dtype == LH_REAL && lh_are_packed<real>(to))
        return lh_store_packed_rows<width, real>(sums, scale, to, scratch, lane);
    lh_put_rows<width>(sums, scratch, lane, [&](int row, int column, real value) {
        lh_store_element(to, row, column, scale * value);
    });
}

#endif
