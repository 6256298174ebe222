/* Attention, forward: 8 queries a block, a warp each; keys come by 32 through shared memory, the
 * softmax is kept up to date as they arrive (Milakov and Gimelshein 2018). */
#include "kernels/cuda/attention_tile.cuh"

/* What a warp knows of its query. */
typedef struct row_state {
    real maximum, sum;        /* of the scores so far; of exp(score - maximum) */
    real part[LH_HEAD_PARTS]; /* lane's elements of the output before the division */
} row_state;

/* Adds the weighted values of a tile: weight is lane's, of key base + lane. */
template <typename element>
__device__ static inline void add_values(const lh_attention_spec &spec, int source, int64_t batch,
                                         int64_t head, int64_t base, int lane, real weight,
                                         row_state *row) {
    for (int j = 0; j < LH_WARP; ++j) {
        const real w = __shfl_sync(0xffffffffu, weight, j);
        if (w == 0) continue; /* nor is a value felt that nobody sees */
        const element *v = lh_head_row<element>(spec.source[source].v, batch, head, base + j);
        for (int p = 0; p < LH_HEAD_PARTS; ++p) {
            const int64_t d = p * LH_WARP + lane;
            if (d < spec.head_width) row->part[p] += w * lh_load(v + d);
        }
    }
}

/* Takes in the scores of a tile, -infinity where a key is not seen. */
__device__ static inline real take_in(real score, row_state *row) {
    const real before = row->maximum;
    row->maximum = lh_larger(before, lh_warp_max(score));
    if (row->maximum == -INFINITY) return 0;
    const real factor = expf(before - row->maximum), weight = expf(score - row->maximum);
    row->sum = row->sum * factor + lh_warp_sum(weight);
    for (int p = 0; p < LH_HEAD_PARTS; ++p)
        row->part[p] *= factor;
    return weight;
}

template <typename element>
__device__ static inline void finish_row(const lh_attention_forward_args &a, int64_t batch,
                                         int64_t head, int64_t query, int lane,
                                         const row_state *row) {
    element *out = lh_head_row<element>(a.out, batch, head, query);
    for (int p = 0; p < LH_HEAD_PARTS; ++p) {
        const int64_t d = p * LH_WARP + lane;
        if (d < a.spec.head_width)
            lh_store(out + d, LH_SET, row->sum == 0 ? 0 : row->part[p] / row->sum);
    }
    if (lane != 0) return;
    a.lse[(batch * a.spec.heads + head) * a.spec.queries + query] =
        row->sum == 0 ? -INFINITY : row->maximum + logf(row->sum);
}

template <typename element>
__global__ void __launch_bounds__(LH_THREADS)
    attend(lh_attention_forward_args a, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(real, shared);
    const lh_attention_spec &spec = a.spec;
    const int64_t width = spec.head_width, pitch = width + 1;
    const int lane = (int)(threadIdx.x % LH_WARP), warp = (int)(threadIdx.x / LH_WARP);
    real *keys = shared, *q = shared + LH_WARP * pitch + warp * width;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_WARPS, query = first + warp;
        const int64_t last = lh_min(first + LH_WARPS, spec.queries) - 1;
        const bool active = query <= last;
        const real scale = lh_scale_of_head(spec, head);
        row_state row = {-INFINITY, 0, {0}};
        for (int64_t d = lane; d < width && active; d += LH_WARP)
            q[d] = lh_load(lh_head_row<element>(a.q, batch, head, query) + d);
        for (int s = 0; s < spec.source_count; ++s) {
            const lh_span seen = lh_keys_seen(spec, s, first, last);
            for (int64_t base = seen.begin; base < seen.end; base += LH_WARP) {
                __syncthreads();
                lh_stage_rows<element>(spec.source[s].k, batch, head, base, seen.end, width, keys,
                                       pitch);
                __syncthreads();
                const int64_t key = base + lane;
                const bool sees = active && key < seen.end && lh_sees(spec, s, batch, query, key);
                real score = -INFINITY;
                if (sees)
                    score = scale * lh_raw_score(spec, s, head, query - spec.source[s].first - key,
                                                 q, lh_dot(q, keys + lane * pitch, width));
                real weight = take_in(score, &row);
                weight = sees ? weight * lh_kept(spec, batch, head, query, s, key) : 0;
                add_values<element>(spec, s, batch, head, base, lane, weight, &row);
            }
        }
        if (active) finish_row<element>(a, batch, head, query, lane, &row);
        __syncthreads();
    }
}

size_t lh_cuda_attention_forward_workspace(const lh_attention_forward_args *args) {
    const bool tiles = lh_attention_fits_tiles(&args->spec, args->q.act.dtype);
    return tiles ? lh_attention_tile_forward_workspace(args) : 0;
}

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_WARPS);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    if (tasks == 0) return LH_OK;
    const int64_t elements = LH_WARP * (spec->head_width + 1) + LH_WARPS * spec->head_width;
    return LH_LAUNCH((attend<element>), lh_blocks(tasks, 1), LH_THREADS,
                     (size_t)elements * sizeof(real), launch, *args, tiles, tasks);
}

lh_status lh_cuda_attention_forward(const lh_launch *launch,
                                    const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    if (!lh_head_fits(spec->head_width)) return LH_ESHAPE;
    if (lh_attention_fits_tiles(spec, args->q.act.dtype))
        return lh_attention_tile_forward(launch, args);
    return LH_FOR_ELEMENT(args->q.act.dtype, forward, launch, args);
}
