/* Attention on tensor cores, backward, in passes that never add from two places: over queries (dq,
 * and the sums of bias and head scale), and over keys (dk, dv). Each makes the scores again (Dao et
 * al. 2022, "FlashAttention").
 *
 *   P = exp(S - lse)   dP = dropout(dO V^T)   dS = P (dP - dO . O) */
#include <stddef.h>

#include "kernels/cuda/attention_tile.cuh"

enum {
    BLOCK_PITCH = LH_STEP + 8, /* of 16 x 16 weights in bf16 */
    BLOCK = LH_STEP * BLOCK_PITCH,
    TILE_PITCH = LH_TILE + 4 /* of the gradients of a pair's scores */
};

/* Parts of the workspace. */
typedef struct tile_parts {
    real *delta; /* dO . O: [batch][heads][queries] */
    real *scale; /* sums of the head scale's gradient by 16 queries: [batch][heads][stripes] */
    real *bias;  /* sums of the bias' gradient by 64 queries: [batch][heads][tiles][buckets] */
} tile_parts;

static size_t take(char **at, int64_t count, real **out) {
    const size_t bytes = ((size_t)count * sizeof(real) + 63) / 64 * 64;
    *out = (real *)*at;
    *at += bytes;
    return bytes;
}

static size_t lay_out(const lh_attention_backward_args *args, void *memory, tile_parts *p) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t heads = spec->batch * spec->heads;
    const int64_t sums = lh_chunk_count(spec->queries, LH_TILE) * spec->buckets;
    char *at = (char *)memory;
    size_t bytes = take(&at, heads * spec->queries, &p->delta);
    bytes += take(&at, heads * lh_chunk_count(spec->queries, LH_STEP), &p->scale);
    return bytes + take(&at, args->dbias != NULL ? heads * sums : 0, &p->bias);
}

size_t lh_attention_tile_backward_workspace(const lh_attention_backward_args *args) {
    tile_parts p;
    return lay_out(args, NULL, &p);
}

/* A block's shared memory: its own rows, those that pass by, and what is made of them. Rows are q
 * and dout, the others k and v, in the pass over queries; the reverse in that over keys. */
template <int width> struct backward_memory {
    __nv_bfloat16 row[2][lh_tile_shape<width>::elements], other[2][lh_tile_shape<width>::elements];
    __nv_bfloat16 weight[LH_TILE_WARPS][BLOCK], gradient[LH_TILE_WARPS][BLOCK];
    float lse[LH_TILE], delta[LH_TILE]; /* of the queries */
    float bias[LH_TILE_DIAGONALS + 1], diagonal[LH_TILE_DIAGONALS + 1];
    int32_t bucket[LH_TILE_DIAGONALS + 1];
    float tile[LH_TILE * TILE_PITCH]; /* only where the bias has a gradient */
};

/* ---- one pair of a query and a key ---- */

typedef struct score {
    real weight;   /* after dropout: what the value was multiplied by */
    real gradient; /* of the score */
    real raw;      /* the score before the head's scale; 0 when the key is not seen */
} score;

/* From q . k and dO . v. A query that saw nothing has a log sum exp of -infinity. */
template <int width>
__device__ static inline score
differentiate(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t batch, int64_t head,
              int i, int j, real q_k, real dout_v, const backward_memory<width> &memory) {
    if (!lh_pair_sees(spec, pair, i, j) || memory.lse[i] == -INFINITY) return {0, 0, 0};
    const real raw = spec.scale * q_k + memory.bias[i - j + LH_TILE - 1];
    const real p = __expf(lh_scale_of_head(spec, head) * raw - memory.lse[i]);
    const real kept = lh_kept(spec, batch, head, pair.query + i, pair.source, pair.key + j);
    return {p * kept, p * (dout_v * kept - memory.delta[i]), raw};
}

/* ---- products of a warp ---- */

/* Its 16 rows by 16 others: both scores = rows others^T. */
template <int width>
__device__ static inline void multiply_block(const backward_memory<width> &memory, int first,
                                             int other, lh_sums &scores, lh_sums &slopes) {
    enum { pitch = lh_tile_shape<width>::pitch };
    lh_left a;
    lh_right_transposed b;
    nvcuda::wmma::fill_fragment(scores, 0.0f);
    nvcuda::wmma::fill_fragment(slopes, 0.0f);
    LH_UNROLL
    for (int d = 0; d < width; d += LH_STEP) {
        nvcuda::wmma::load_matrix_sync(a, memory.row[0] + first * pitch + d, pitch);
        nvcuda::wmma::load_matrix_sync(b, memory.other[0] + other * pitch + d, pitch);
        nvcuda::wmma::mma_sync(scores, a, b, scores);
        nvcuda::wmma::load_matrix_sync(a, memory.row[1] + first * pitch + d, pitch);
        nvcuda::wmma::load_matrix_sync(b, memory.other[1] + other * pitch + d, pitch);
        nvcuda::wmma::mma_sync(slopes, a, b, slopes);
    }
}

/* sums += weights others: 16 x 16 by 16 x width. */
template <int width>
__device__ static inline void add_block(const __nv_bfloat16 *weights, const __nv_bfloat16 *others,
                                        lh_sums (&sums)[width / LH_STEP]) {
    lh_left a;
    lh_right b;
    nvcuda::wmma::load_matrix_sync(a, weights, BLOCK_PITCH);
    LH_UNROLL
    for (int d = 0; d < width / LH_STEP; ++d) {
        nvcuda::wmma::load_matrix_sync(b, others + d * LH_STEP, lh_tile_shape<width>::pitch);
        nvcuda::wmma::mma_sync(sums[d], a, b, sums[d]);
    }
}

/* lse and delta of 64 queries; a block's work. */
template <int width>
__device__ static inline void stage_queries(const lh_attention_backward_args &a,
                                            const tile_parts &p, int64_t batch, int64_t head,
                                            int64_t query, backward_memory<width> *memory) {
    const int64_t number = (batch * a.spec.heads + head) * a.spec.queries;
    for (int i = (int)threadIdx.x; i < LH_TILE; i += LH_TILE_THREADS) {
        const bool there = query + i < a.spec.queries;
        memory->lse[i] = there ? a.lse[number + query + i] : -INFINITY;
        memory->delta[i] = there ? p.delta[number + query + i] : 0;
    }
}

/* The warp's 16 staged rows, as room for its results. */
template <int width> __device__ static inline float *scratch_of(__nv_bfloat16 *rows, int first) {
    return reinterpret_cast<float *>(rows + first * lh_tile_shape<width>::pitch);
}

/* ---- over queries ---- */

/* What a warp sums up for its 16 queries. */
template <int width> struct query_rows {
    int first, lane, warp;
    lh_places places;
    real scale_sum;
    lh_sums dq[width / LH_STEP];
};

/* A warp's 16 queries and the 64 staged keys. */
template <int width>
__device__ static inline void visit_keys(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                         int64_t batch, int64_t head, bool biased,
                                         backward_memory<width> *memory, query_rows<width> *rows) {
    __nv_bfloat16 *gradient = memory->gradient[rows->warp];
    LH_NO_UNROLL
    for (int c = 0; c < LH_TILE; c += LH_STEP) {
        lh_sums scores, slopes;
        multiply_block<width>(*memory, rows->first, c, scores, slopes);
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n) {
            const int row = lh_row_at(rows->places, n), column = lh_column_at(rows->places, n);
            const score of = differentiate(spec, pair, batch, head, rows->first + row, c + column,
                                           scores.x[n], slopes.x[n], *memory);
            rows->scale_sum += of.gradient * of.raw;
            gradient[row * BLOCK_PITCH + column] = __float2bfloat16_rn(of.gradient);
            if (biased) memory->tile[(rows->first + row) * TILE_PITCH + c + column] = of.gradient;
        }
        __syncwarp();
        add_block<width>(gradient, memory->other[0] + c * lh_tile_shape<width>::pitch, rows->dq);
        __syncwarp();
    }
}

/* Adds the gradients of a pair's scores to those of the bias; a block's work. A thread sums a
 * diagonal, then one takes a bucket's diagonals. */
template <int width>
__device__ static inline void add_bias(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                       backward_memory<width> *memory, real *sums) {
    __syncthreads();
    for (int x = (int)threadIdx.x; x < LH_TILE_DIAGONALS; x += LH_TILE_THREADS) {
        const int off = x - (LH_TILE - 1); /* i - j */
        real sum = 0;
        for (int i = off > 0 ? off : 0; i < pair.queries && i - off < LH_TILE; ++i)
            sum += memory->tile[i * TILE_PITCH + i - off];
        memory->diagonal[x] = sum;
    }
    __syncthreads();
    for (int64_t b = threadIdx.x; b < spec.buckets; b += LH_TILE_THREADS) {
        real sum = 0;
        for (int x = 0; x < LH_TILE_DIAGONALS; ++x)
            sum += memory->bucket[x] == b ? memory->diagonal[x] : 0;
        sums[b] += sum;
    }
}

template <int width>
__device__ static inline void
store_queries(const lh_attention_backward_args &a, const tile_parts &p, int64_t batch, int64_t head,
              int64_t query, backward_memory<width> *memory, query_rows<width> *rows) {
    const lh_attention_spec &spec = a.spec;
    const int64_t stripes = lh_chunk_count(spec.queries, LH_STEP);
    const real scale_sum = lh_warp_sum(rows->scale_sum);
    if (rows->lane == 0)
        p.scale[(batch * spec.heads + head) * stripes + query / LH_STEP] = scale_sum;
    if (a.dq.data == NULL) return;
    const lh_tile_rows to = {lh_head_row(a.dq, batch, head, query), a.dq.token_stride,
                             (int)lh_min(spec.queries - query, LH_STEP), (int)spec.head_width,
                             a.dq_write};
    lh_store_rows<width>(rows->dq, spec.scale * lh_scale_of_head(spec, head), to,
                         scratch_of<width>(memory->row[0], rows->first), rows->lane);
}

/* A block's 64 queries and all the keys that they see. */
template <int width>
__device__ static inline void
pass_query_tile(const lh_attention_backward_args &a, const tile_parts &p, int64_t batch,
                int64_t head, int64_t first, real *bias_sums, backward_memory<width> *memory,
                query_rows<width> *rows) {
    const lh_attention_spec &spec = a.spec;
    const int64_t last = lh_min(first + LH_TILE, spec.queries) - 1, width_used = spec.head_width;
    lh_stage_tile<width>(a.q, batch, head, first, spec.queries, width_used, memory->row[0]);
    lh_stage_tile<width>(a.dout, batch, head, first, spec.queries, width_used, memory->row[1]);
    stage_queries<width>(a, p, batch, head, first, memory);
    for (int s = 0; s < spec.source_count; ++s) {
        const lh_key_source &keys = spec.source[s];
        const lh_span seen = lh_keys_seen(spec, s, first, last);
        const bool biased = bias_sums != NULL && !keys.everywhere;
        for (int64_t base = seen.begin; base < seen.end; base += LH_TILE) {
            const lh_tile_pair pair =
                lh_pair_tiles(spec, s, batch, first, spec.queries, base, seen.end);
            __syncthreads();
            lh_stage_tile<width>(keys.k, batch, head, base, seen.end, width_used, memory->other[0]);
            lh_stage_tile<width>(keys.v, batch, head, base, seen.end, width_used, memory->other[1]);
            lh_stage_bias(spec, pair, head, memory->bias, memory->bucket);
            __syncthreads();
            if (first + rows->first <= last)
                visit_keys<width>(spec, pair, batch, head, biased, memory, rows);
            if (biased) add_bias<width>(spec, pair, memory, bias_sums);
        }
    }
}

template <int width>
__global__ void __launch_bounds__(LH_TILE_THREADS, 2)
    pass_queries(lh_attention_backward_args a, tile_parts p, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(backward_memory<width>, memory);
    const lh_attention_spec &spec = a.spec;
    const bool biased = a.dbias != NULL && spec.bias != NULL;
    query_rows<width> rows;
    rows.lane = (int)(threadIdx.x % LH_WARP);
    rows.warp = (int)(threadIdx.x / LH_WARP);
    rows.first = rows.warp * LH_STEP;
    rows.places = lh_find_places(scratch_of<width>(memory->row[0], rows.first), rows.lane);
    __syncthreads();
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE;
        real *bias_sums = biased ? p.bias + task * spec.buckets : NULL;
        for (int64_t b = threadIdx.x; biased && b < spec.buckets; b += LH_TILE_THREADS)
            bias_sums[b] = 0;
        rows.scale_sum = 0;
        lh_clear_sums(rows.dq);
        pass_query_tile<width>(a, p, batch, head, first, bias_sums, memory, &rows);
        __syncthreads();
        if (first + rows.first < spec.queries)
            store_queries<width>(a, p, batch, head, first + rows.first, memory, &rows);
        __syncthreads();
    }
}

/* ---- over keys ---- */

/* What a warp sums up for its 16 keys. */
template <int width> struct key_rows {
    int first, lane, warp;
    lh_places places;
    lh_sums dk[width / LH_STEP], dv[width / LH_STEP];
};

/* A warp's 16 keys and the 64 staged queries. */
template <int width>
__device__ static inline void visit_queries(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                            int64_t batch, int64_t head,
                                            backward_memory<width> *memory, key_rows<width> *rows) {
    enum { pitch = lh_tile_shape<width>::pitch };
    __nv_bfloat16 *weight = memory->weight[rows->warp], *gradient = memory->gradient[rows->warp];
    LH_NO_UNROLL
    for (int c = 0; c < LH_TILE; c += LH_STEP) {
        lh_sums scores, slopes;
        multiply_block<width>(*memory, rows->first, c, scores, slopes);
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n) {
            const int row = lh_row_at(rows->places, n), column = lh_column_at(rows->places, n);
            const score of = differentiate(spec, pair, batch, head, c + column, rows->first + row,
                                           scores.x[n], slopes.x[n], *memory);
            weight[row * BLOCK_PITCH + column] = __float2bfloat16_rn(of.weight);
            gradient[row * BLOCK_PITCH + column] = __float2bfloat16_rn(of.gradient);
        }
        __syncwarp();
        add_block<width>(weight, memory->other[1] + c * pitch, rows->dv);
        add_block<width>(gradient, memory->other[0] + c * pitch, rows->dk);
        __syncwarp();
    }
}

template <int width>
__device__ static inline void store_keys(const lh_attention_spec &spec, const lh_key_source &source,
                                         int64_t batch, int64_t head, int64_t key,
                                         backward_memory<width> *memory, key_rows<width> *rows) {
    lh_tile_rows to = {NULL, 0, (int)lh_min(source.count - key, LH_STEP), (int)spec.head_width,
                       source.write};
    if (source.dk.data != NULL) {
        to.data = lh_head_row(source.dk, batch, head, key);
        to.token_stride = source.dk.token_stride;
        lh_store_rows<width>(rows->dk, spec.scale * lh_scale_of_head(spec, head), to,
                             scratch_of<width>(memory->row[0], rows->first), rows->lane);
    }
    if (source.dv.data != NULL) {
        to.data = lh_head_row(source.dv, batch, head, key);
        to.token_stride = source.dv.token_stride;
        lh_store_rows<width>(rows->dv, 1, to, scratch_of<width>(memory->row[1], rows->first),
                             rows->lane);
    }
}

/* A block's 64 keys of a source and all the queries that see them. */
template <int width>
__device__ static inline void
pass_key_tile(const lh_attention_backward_args &a, const tile_parts &p, int s, int64_t batch,
              int64_t head, int64_t first, backward_memory<width> *memory, key_rows<width> *rows) {
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &keys = spec.source[s];
    const int64_t last = lh_min(first + LH_TILE, keys.count) - 1, width_used = spec.head_width;
    const lh_span seen = lh_queries_seeing(spec, s, first, last);
    lh_stage_tile<width>(keys.k, batch, head, first, keys.count, width_used, memory->row[0]);
    lh_stage_tile<width>(keys.v, batch, head, first, keys.count, width_used, memory->row[1]);
    for (int64_t base = seen.begin; base < seen.end; base += LH_TILE) {
        const lh_tile_pair pair = lh_pair_tiles(spec, s, batch, base, seen.end, first, keys.count);
        __syncthreads();
        lh_stage_tile<width>(a.q, batch, head, base, seen.end, width_used, memory->other[0]);
        lh_stage_tile<width>(a.dout, batch, head, base, seen.end, width_used, memory->other[1]);
        stage_queries<width>(a, p, batch, head, base, memory);
        lh_stage_bias(spec, pair, head, memory->bias, memory->bucket);
        __syncthreads();
        if (first + rows->first <= last)
            visit_queries<width>(spec, pair, batch, head, memory, rows);
    }
}

template <int width>
__global__ void __launch_bounds__(LH_TILE_THREADS, 2)
    pass_keys(lh_attention_backward_args a, int s, tile_parts p, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(backward_memory<width>, memory);
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &source = spec.source[s];
    key_rows<width> rows;
    rows.lane = (int)(threadIdx.x % LH_WARP);
    rows.warp = (int)(threadIdx.x / LH_WARP);
    rows.first = rows.warp * LH_STEP;
    rows.places = lh_find_places(scratch_of<width>(memory->row[0], rows.first), rows.lane);
    __syncthreads();
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE;
        lh_clear_sums(rows.dk);
        lh_clear_sums(rows.dv);
        pass_key_tile<width>(a, p, s, batch, head, first, memory, &rows);
        __syncthreads();
        if (first + rows.first < source.count)
            store_keys<width>(spec, source, batch, head, first + rows.first, memory, &rows);
        __syncthreads();
    }
}

/* ---- the launches ---- */

/* delta = dO . O. */
static lh_status make_delta(const lh_launch *launch, const lh_attention_backward_args *args,
                            real *delta) {
    const lh_attention_backward_args a = *args;
    const int64_t rows = a.spec.batch * a.spec.heads * a.spec.queries;
    return lh_each_row(launch, rows, [=] __device__(int64_t number, int lane) {
        const int64_t query = number % a.spec.queries, head = number / a.spec.queries;
        const int64_t batch = head / a.spec.heads;
        const real *out = lh_head_row(a.out, batch, head % a.spec.heads, query);
        const real *dout = lh_head_row(a.dout, batch, head % a.spec.heads, query);
        real sum = 0;
        for (int64_t d = lane; d < a.spec.head_width; d += LH_WARP)
            sum += out[d] * dout[d];
        sum = lh_warp_sum(sum);
        if (lane == 0) delta[number] = sum;
    });
}

/* out[head][entry] (+)= scale of the head * sum over batch rows and parts of sums. */
static lh_status join(const lh_launch *launch, const lh_attention_spec *from, int64_t pieces,
                      int64_t entries, const real *sums, bool scaled, real *out, lh_write write) {
    const lh_attention_spec spec = *from;
    return lh_each_row(launch, spec.heads * entries, [=] __device__(int64_t i, int lane) {
        const int64_t head = i / entries, entry = i % entries;
        double total = 0;
        for (int64_t n = lane; n < spec.batch * pieces; n += LH_WARP) {
            const int64_t row = n / pieces * spec.heads + head;
            total += (double)sums[(row * pieces + n % pieces) * entries + entry];
        }
        total = lh_warp_sum(total);
        const real scale = scaled ? lh_scale_of_head(spec, head) : 1;
        if (lane == 0) lh_store(&out[i], write, scale * (real)total);
    });
}

template <int width>
static lh_status launch_queries(const lh_launch *launch, const lh_attention_backward_args *args,
                                const tile_parts &p) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_TILE);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    const size_t bytes = args->dbias != NULL ? sizeof(backward_memory<width>)
                                             : offsetof(backward_memory<width>, tile);
    if (tasks == 0) return LH_OK;
    LH_CUDA_TRY(LH_CUDA(cudaFuncSetAttribute(pass_queries<width>,
                                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             (int)sizeof(backward_memory<width>))));
    return LH_LAUNCH((pass_queries<width>), lh_blocks(tasks, 1), LH_TILE_THREADS, bytes, launch,
                     *args, p, tiles, tasks);
}

template <int width>
static lh_status launch_keys(const lh_launch *launch, const lh_attention_backward_args *args,
                             const tile_parts &p) {
    const lh_attention_spec *spec = &args->spec;
    const size_t bytes = offsetof(backward_memory<width>, tile);
    LH_CUDA_TRY(LH_CUDA(cudaFuncSetAttribute(
        pass_keys<width>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        const int64_t tiles = lh_chunk_count(source->count, LH_TILE);
        const int64_t tasks = spec->batch * spec->heads * tiles;
        if (tasks == 0 || (source->dk.data == NULL && source->dv.data == NULL)) continue;
        LH_CUDA_TRY(LH_LAUNCH((pass_keys<width>), lh_blocks(tasks, 1), LH_TILE_THREADS, bytes,
                              launch, *args, s, p, tiles, tasks));
    }
    return LH_OK;
}

template <int width>
static lh_status launch_width(const lh_launch *launch, const lh_attention_backward_args *args,
                              const tile_parts &p) {
    LH_CUDA_TRY(launch_queries<width>(launch, args, p));
    return launch_keys<width>(launch, args, p);
}

static lh_status launch_passes(const lh_launch *launch, const lh_attention_backward_args *args,
                               const tile_parts &p) {
    switch (lh_tile_width(args->spec.head_width)) {
    case 32:
        return launch_width<32>(launch, args, p);
    case 64:
        return launch_width<64>(launch, args, p);
    default:
        return launch_width<128>(launch, args, p);
    }
}

lh_status lh_attention_tile_backward(const lh_launch *launch,
                                     const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    tile_parts p;
    (void)lay_out(args, launch->workspace, &p);
    LH_CUDA_TRY(make_delta(launch, args, p.delta));
    LH_CUDA_TRY(launch_passes(launch, args, p));
    if (args->dhead_scale != NULL)
        LH_CUDA_TRY(join(launch, spec, lh_chunk_count(spec->queries, LH_STEP), 1, p.scale, false,
                         args->dhead_scale, args->dhead_scale_write));
    if (args->dbias == NULL || spec->bias == NULL) return LH_OK;
    return join(launch, spec, lh_chunk_count(spec->queries, LH_TILE), spec->buckets, p.bias, true,
                args->dbias, args->dbias_write);
}
