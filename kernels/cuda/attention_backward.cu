/* Attention, backward, in passes that never add from two places: over queries (dq, and for each
 * query dO . O and its part of the head scale's gradient), over keys (dk, dv), and over distances
 * (bias and position vectors). Each makes the scores again (Dao et al. 2022, "FlashAttention").
 *
 *   P = exp(S - lse)   dP = dropout(dO V^T)   dS = P (dP - dO . O) */
#include "kernels/cuda/attention_tile.cuh"

/* Parts of the workspace: a number for each query, and sums by distance. */
typedef struct parts {
    real *delta, *scale; /* [batch][heads][queries] */
    real *bias;          /* [heads][span] */
    real *positions;     /* [heads][span][head_width] */
} parts;

static size_t lay_out(const lh_attention_backward_args *args, void *memory, parts *p) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t queries = spec->batch * spec->heads * spec->queries;
    const int64_t distances = spec->heads * lh_distances_of(spec).span;
    char *at = (char *)memory;
    size_t bytes = lh_take(&at, queries, &p->delta);
    bytes += lh_take(&at, queries, &p->scale);
    bytes += lh_take(&at, args->dbias != NULL ? distances : 0, &p->bias);
    return bytes +
           lh_take(&at, args->dpositions != NULL ? distances * spec->head_width : 0, &p->positions);
}

size_t lh_cuda_attention_backward_workspace(const lh_attention_backward_args *args) {
    if (lh_attention_fits_tiles(&args->spec, args->q.act.dtype))
        return lh_attention_tile_backward_workspace(args);
    parts p;
    return lay_out(args, NULL, &p);
}

/* One pair of a query and a key that it sees. */
typedef struct pair {
    real weight;   /* after dropout: what the value was multiplied by */
    real gradient; /* of the score */
    real raw;      /* the score before the head's scale */
} pair;

/* From q . k and dO . v. A query that saw nothing has a log sum exp of -infinity. */
template <typename element>
__device__ static inline pair
differentiate(const lh_attention_spec &spec, int64_t batch, int64_t head, int64_t query, int source,
              int64_t key, const element *q, real q_k, real dout_v, real lse, real delta) {
    const int64_t distance = query - spec.source[source].first - key;
    const real raw = lh_raw_score(spec, source, head, distance, q, q_k);
    const real p = lse == -INFINITY ? 0 : expf(lh_scale_of_head(spec, head) * raw - lse);
    const real kept = lh_kept(spec, batch, head, query, source, key);
    return {p * kept, p * (dout_v * kept - delta), raw};
}

/* lane's elements of y, or of what a row adds up to. */
typedef struct row_part {
    real at[LH_HEAD_PARTS];
} row_part;

template <typename element>
__device__ static inline void add_row(row_part *sum, real weight, const element *x, int64_t width,
                                      int lane) {
    for (int p = 0; p < LH_HEAD_PARTS; ++p) {
        const int64_t d = p * LH_WARP + lane;
        if (d < width) sum->at[p] += weight * lh_load(x + d);
    }
}

template <typename element>
__device__ static inline void store_row(const row_part *sum, real scale, element *y, lh_write write,
                                        int64_t width, int lane) {
    for (int p = 0; p < LH_HEAD_PARTS; ++p) {
        const int64_t d = p * LH_WARP + lane;
        if (d < width) lh_store(&y[d], write, scale * sum->at[p]);
    }
}

/* Copies a row for the lanes of a warp. */
template <typename element>
__device__ static inline void copy_row(const element *x, int64_t width, int lane, real *y) {
    for (int64_t d = lane; d < width; d += LH_WARP)
        y[d] = lh_load(x + d);
}

/* ---- over queries ---- */

/* A query, what its warp knows of it, and what it sums up. */
typedef struct query_row {
    int64_t batch, head, query;
    bool active;
    const real *q, *dout; /* in shared memory */
    real lse, delta, scale_sum;
    row_part dq;
} query_row;

/* 32 keys of a source from `base` on; values and keys take turns in `tile`. */
template <typename element>
__device__ static inline void visit_keys(const lh_attention_spec &spec, int s, int64_t base,
                                         int64_t end, real *tile, int lane, query_row *row) {
    const int64_t width = spec.head_width, pitch = width + 1, key = base + lane;
    const bool sees = row->active && key < end && lh_sees(spec, s, row->batch, row->query, key);
    __syncthreads();
    lh_stage_rows<element>(spec.source[s].v, row->batch, row->head, base, end, width, tile, pitch);
    __syncthreads();
    const real dout_v = sees ? lh_dot(row->dout, tile + lane * pitch, width) : 0;
    __syncthreads();
    lh_stage_rows<element>(spec.source[s].k, row->batch, row->head, base, end, width, tile, pitch);
    __syncthreads();
    pair of = {0, 0, 0};
    if (sees)
        of =
            differentiate(spec, row->batch, row->head, row->query, s, key, row->q,
                          lh_dot(row->q, tile + lane * pitch, width), dout_v, row->lse, row->delta);
    if (sees && row->lse != -INFINITY && of.raw != -INFINITY)
        row->scale_sum += of.gradient * of.raw;
    const int64_t distance = row->query - spec.source[s].first - base;
    for (int j = 0; j < LH_WARP; ++j) {
        const real gradient = __shfl_sync(0xffffffffu, of.gradient, j);
        if (gradient == 0) continue;
        add_row(&row->dq, gradient, tile + j * pitch, width, lane);
        const real *r = lh_position(spec, s, row->head, distance - j);
        if (r != NULL) add_row(&row->dq, gradient, r, width, lane);
    }
}

/* The query's vectors for all lanes, and dO . O. */
template <typename element>
__device__ static inline void begin_row(const lh_attention_backward_args &a, int64_t number,
                                        int lane, real *q, real *dout, query_row *row) {
    const int64_t width = a.spec.head_width;
    row->q = q;
    row->dout = dout;
    row->lse = -INFINITY;
    if (row->active) {
        copy_row(lh_head_row<element>(a.q, row->batch, row->head, row->query), width, lane, q);
        copy_row(lh_head_row<element>(a.dout, row->batch, row->head, row->query), width, lane,
                 dout);
        const element *o = lh_head_row<element>(a.out, row->batch, row->head, row->query);
        for (int64_t d = lane; d < width; d += LH_WARP)
            row->delta += lh_load(o + d) * dout[d];
        row->lse = a.lse[number];
    }
    row->delta = lh_warp_sum(row->delta);
}

template <typename element>
__global__ void __launch_bounds__(LH_THREADS)
    pass_queries(lh_attention_backward_args a, parts out, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(real, shared);
    const lh_attention_spec &spec = a.spec;
    const int64_t width = spec.head_width;
    const int lane = (int)(threadIdx.x % LH_WARP), warp = (int)(threadIdx.x / LH_WARP);
    real *tile = shared, *q = shared + LH_WARP * (width + 1) + 2 * warp * width;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t first = task % tiles * LH_WARPS;
        const int64_t last = lh_min(first + LH_WARPS, spec.queries) - 1;
        query_row row = {};
        row.head = task / tiles % spec.heads;
        row.batch = task / tiles / spec.heads;
        row.query = first + warp;
        row.active = row.query <= last;
        const int64_t number = (row.batch * spec.heads + row.head) * spec.queries + row.query;
        begin_row<element>(a, number, lane, q, q + width, &row);
        for (int s = 0; s < spec.source_count; ++s) {
            const lh_span seen = lh_keys_seen(spec, s, first, last);
            for (int64_t base = seen.begin; base < seen.end; base += LH_WARP)
                visit_keys<element>(spec, s, base, seen.end, tile, lane, &row);
        }
        row.scale_sum = lh_warp_sum(row.scale_sum);
        if (row.active && a.dq.act.data != NULL)
            store_row(&row.dq, spec.scale * lh_scale_of_head(spec, row.head),
                      lh_head_row<element>(a.dq, row.batch, row.head, row.query), a.dq_write, width,
                      lane);
        if (row.active && lane == 0) {
            out.delta[number] = row.delta;
            out.scale[number] = row.scale_sum;
        }
        __syncthreads();
    }
}

/* ---- over keys ---- */

template <typename element>
__global__ void __launch_bounds__(LH_THREADS)
    pass_keys(lh_attention_backward_args a, int s, parts in, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(real, shared);
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &source = spec.source[s];
    const int64_t width = spec.head_width, pitch = width + 1;
    const int lane = (int)(threadIdx.x % LH_WARP), warp = (int)(threadIdx.x / LH_WARP);
    real *tile = shared, *k = shared + LH_WARP * pitch + 2 * warp * width, *v = k + width;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_WARPS, key = first + warp;
        const int64_t last = lh_min(first + LH_WARPS, source.count) - 1;
        const bool active = key <= last;
        const int64_t number = (batch * spec.heads + head) * spec.queries;
        const lh_span seen = lh_queries_seeing(spec, s, first, last);
        row_part dk = {{0}}, dv = {{0}};
        if (active) {
            copy_row(lh_head_row<element>(source.k, batch, head, key), width, lane, k);
            copy_row(lh_head_row<element>(source.v, batch, head, key), width, lane, v);
        }
        for (int64_t base = seen.begin; base < seen.end; base += LH_WARP) {
            const int64_t query = base + lane;
            const bool sees = active && query < seen.end && lh_sees(spec, s, batch, query, key);
            __syncthreads();
            lh_stage_rows<element>(a.dout, batch, head, base, seen.end, width, tile, pitch);
            __syncthreads();
            const real dout_v = sees ? lh_dot(tile + lane * pitch, v, width) : 0;
            pair of = {0, 0, 0};
            if (sees) {
                const element *q = lh_head_row<element>(a.q, batch, head, query);
                of = differentiate(spec, batch, head, query, s, key, q, lh_dot(q, k, width), dout_v,
                                   a.lse[number + query], in.delta[number + query]);
            }
            for (int j = 0; j < LH_WARP; ++j) {
                const real weight = __shfl_sync(0xffffffffu, of.weight, j);
                const real gradient = __shfl_sync(0xffffffffu, of.gradient, j);
                if (weight != 0) add_row(&dv, weight, tile + j * pitch, width, lane);
                if (gradient != 0)
                    add_row(&dk, gradient, lh_head_row<element>(a.q, batch, head, base + j), width,
                            lane);
            }
        }
        const real scale = spec.scale * lh_scale_of_head(spec, head);
        if (active && source.dk.act.data != NULL)
            store_row(&dk, scale, lh_head_row<element>(source.dk, batch, head, key), source.write,
                      width, lane);
        if (active && source.dv.act.data != NULL)
            store_row(&dv, 1, lh_head_row<element>(source.dv, batch, head, key), source.write,
                      width, lane);
        __syncthreads();
    }
}

/* ---- over distances ---- */

/* A block takes one head and distance; its warps share out the queries of all batch rows. */
template <typename element>
__global__ void __launch_bounds__(LH_THREADS)
    pass_distances(lh_attention_backward_args a, parts p, lh_distances distances, bool bias,
                   bool positions) {
    LH_SHARED_DYNAMIC(real, shared); /* [LH_WARPS][head_width + 1] */
    const lh_attention_spec &spec = a.spec;
    const int64_t width = spec.head_width, pitch = width + 1;
    const int lane = (int)(threadIdx.x % LH_WARP), warp = (int)(threadIdx.x / LH_WARP);
    for (int64_t task = blockIdx.x; task < spec.heads * distances.span; task += gridDim.x) {
        const int64_t head = task / distances.span;
        const int64_t distance = distances.nearest + task % distances.span;
        real bias_sum = 0;
        row_part sum = {{0}};
        for (int64_t n = warp; n < spec.batch * spec.queries; n += LH_WARPS) {
            const int64_t batch = n / spec.queries, query = n % spec.queries;
            const int64_t number = (batch * spec.heads + head) * spec.queries + query;
            const element *q = lh_head_row<element>(a.q, batch, head, query);
            const element *dout = lh_head_row<element>(a.dout, batch, head, query);
            for (int s = 0; s < spec.source_count; ++s) {
                const int64_t key = query - distance - spec.source[s].first;
                if (spec.source[s].everywhere || key < 0 || key >= spec.source[s].count) continue;
                if (!lh_sees(spec, s, batch, query, key)) continue;
                const element *k = lh_head_row<element>(spec.source[s].k, batch, head, key);
                const element *v = lh_head_row<element>(spec.source[s].v, batch, head, key);
                real q_k = 0, dout_v = 0;
                for (int64_t d = lane; d < width; d += LH_WARP) {
                    q_k += lh_load(q + d) * lh_load(k + d);
                    dout_v += lh_load(dout + d) * lh_load(v + d);
                }
                q_k = lh_warp_sum(q_k);
                dout_v = lh_warp_sum(dout_v);
                const pair of = differentiate(spec, batch, head, query, s, key, q, q_k, dout_v,
                                              a.lse[number], p.delta[number]);
                bias_sum += of.gradient;
                if (of.gradient != 0) add_row(&sum, of.gradient, q, width, lane);
            }
        }
        store_row(&sum, 1, shared + warp * pitch, LH_SET, width, lane);
        if (lane == 0) shared[warp * pitch + width] = bias_sum;
        __syncthreads();
        const real scale = lh_scale_of_head(spec, head);
        for (int64_t d = threadIdx.x; d <= width; d += LH_THREADS) {
            real total = 0;
            for (int w = 0; w < LH_WARPS; ++w)
                total += shared[w * pitch + d];
            if (d == width && bias) p.bias[task] = scale * total;
            if (d < width && positions) p.positions[task * width + d] = spec.scale * scale * total;
        }
        __syncthreads();
    }
}

static lh_status join_bias(const lh_launch *launch, const lh_attention_backward_args *args,
                           const real *sums, lh_distances distances) {
    const lh_attention_backward_args a = *args;
    return lh_each(launch, a.spec.heads * a.spec.buckets, [=] __device__(int64_t i) {
        const lh_attention_spec &spec = a.spec;
        const int64_t head = i / spec.buckets, bucket = i % spec.buckets;
        double total = 0;
        for (int64_t x = 0; x < distances.span; ++x) {
            const int64_t entry = distances.nearest + x - spec.bucket_first;
            if (spec.bucket_of[lh_max(0, lh_min(entry, spec.bucket_span - 1))] == bucket)
                total += (double)sums[head * distances.span + x];
        }
        lh_store(&a.dbias[i], a.dbias_write, (real)total);
    });
}

static lh_status join_positions(const lh_launch *launch, const lh_attention_backward_args *args,
                                const real *sums, lh_distances distances) {
    const lh_attention_backward_args a = *args;
    const int64_t entries = a.spec.position_heads * a.spec.position_count;
    return lh_each(launch, entries * a.spec.head_width, [=] __device__(int64_t i) {
        const lh_attention_spec &spec = a.spec;
        const int64_t d = i % spec.head_width, entry = i / spec.head_width % spec.position_count;
        const int64_t table = i / spec.head_width / spec.position_count;
        double total = 0;
        for (int64_t head = 0; head < spec.heads; ++head) {
            if (spec.position_heads > 1 && head != table) continue;
            for (int64_t x = 0; x < distances.span; ++x) {
                const int64_t at = distances.nearest + x - spec.position_first;
                if (lh_max(0, lh_min(at, spec.position_count - 1)) == entry)
                    total += (double)sums[(head * distances.span + x) * spec.head_width + d];
            }
        }
        lh_store(&a.dpositions[i], a.dpositions_write, (real)total);
    });
}

static lh_status join_scale(const lh_launch *launch, const lh_attention_backward_args *args,
                            const real *sums) {
    const lh_attention_backward_args a = *args;
    return lh_each_row(launch, a.spec.heads, [=] __device__(int64_t head, int lane) {
        double total = 0;
        for (int64_t n = lane; n < a.spec.batch * a.spec.queries; n += LH_WARP) {
            const int64_t batch = n / a.spec.queries, query = n % a.spec.queries;
            total += (double)sums[(batch * a.spec.heads + head) * a.spec.queries + query];
        }
        total = lh_warp_sum(total);
        if (lane == 0) lh_store(&a.dhead_scale[head], a.dhead_scale_write, (real)total);
    });
}

/* ---- the launches ---- */

static size_t tile_bytes(const lh_attention_spec *spec) {
    const int64_t elements = LH_WARP * (spec->head_width + 1) + 2 * LH_WARPS * spec->head_width;
    return (size_t)elements * sizeof(real);
}

template <typename element>
static lh_status differentiate_keys(const lh_launch *launch, const lh_attention_backward_args *args,
                                    const parts &p) {
    const lh_attention_spec *spec = &args->spec;
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        const int64_t tiles = lh_chunk_count(source->count, LH_WARPS);
        const int64_t tasks = spec->batch * spec->heads * tiles;
        if (tasks == 0 || (source->dk.act.data == NULL && source->dv.act.data == NULL)) continue;
        LH_CUDA_TRY(LH_LAUNCH((pass_keys<element>), lh_blocks(tasks, 1), LH_THREADS,
                              tile_bytes(spec), launch, *args, s, p, tiles, tasks));
    }
    return LH_OK;
}

template <typename element>
static lh_status differentiate_distances(const lh_launch *launch,
                                         const lh_attention_backward_args *args, const parts &p) {
    const lh_attention_spec *spec = &args->spec;
    const lh_distances distances = lh_distances_of(spec);
    const bool bias = args->dbias != NULL && spec->bias != NULL;
    const bool positions = args->dpositions != NULL && spec->positions != NULL;
    const int64_t tasks = bias || positions ? spec->heads * distances.span : 0;
    if (tasks > 0) {
        const size_t bytes = (size_t)(LH_WARPS * (spec->head_width + 1)) * sizeof(real);
        LH_CUDA_TRY(LH_LAUNCH((pass_distances<element>), lh_blocks(tasks, 1), LH_THREADS, bytes,
                              launch, *args, p, distances, bias, positions));
    }
    if (bias) LH_CUDA_TRY(join_bias(launch, args, p.bias, distances));
    return positions ? join_positions(launch, args, p.positions, distances) : LH_OK;
}

template <typename element>
static lh_status backward(const lh_launch *launch, const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    parts p;
    (void)lay_out(args, launch->workspace, &p);
    const int64_t tiles = lh_chunk_count(spec->queries, LH_WARPS);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    if (tasks > 0)
        LH_CUDA_TRY(LH_LAUNCH((pass_queries<element>), lh_blocks(tasks, 1), LH_THREADS,
                              tile_bytes(spec), launch, *args, p, tiles, tasks));
    LH_CUDA_TRY(differentiate_keys<element>(launch, args, p));
    LH_CUDA_TRY(differentiate_distances<element>(launch, args, p));
    return args->dhead_scale != NULL ? join_scale(launch, args, p.scale) : LH_OK;
}

lh_status lh_cuda_attention_backward(const lh_launch *launch,
                                     const lh_attention_backward_args *args) {
    if (!lh_head_fits(args->spec.head_width)) return LH_ESHAPE;
    if (lh_attention_fits_tiles(&args->spec, args->q.act.dtype))
        return lh_attention_tile_backward(launch, args);
    return LH_FOR_ELEMENT(args->q.act.dtype, backward, launch, args);
}
