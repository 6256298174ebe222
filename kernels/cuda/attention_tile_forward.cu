/* Attention on tensor cores, forward: 64 queries a block, keys and values by 64, the softmax kept
 * up to date as they arrive (Milakov and Gimelshein 2018; Dao et al. 2022, "FlashAttention"). */
#include "kernels/cuda/attention_tile.cuh"

using nvcuda::wmma::mem_row_major;
using nvcuda::wmma::store_matrix_sync;

enum {
    FLOAT_PITCH = LH_SCORE_PITCH,     /* of a row of scores; their weights in bf16 take its place */
    WEIGHT_PITCH = 2 * FLOAT_PITCH,   /* in bf16 */
    LANES_OF_ROW = LH_WARP / LH_STEP, /* that share out a row of scores */
    SCORES_OF_LANE = LH_TILE / LANES_OF_ROW
};

/* A block's shared memory. */
template <int width> struct forward_memory {
    __nv_bfloat16 q[lh_tile_shape<width>::elements], k[lh_tile_shape<width>::elements],
        v[lh_tile_shape<width>::elements];
    float score[LH_TILE * FLOAT_PITCH]; /* a quarter to each warp */
    float factor[LH_TILE];
    float bias[LH_TILE_DIAGONALS + 1];
    int32_t bucket[LH_TILE_DIAGONALS + 1];
};

/* Row lane / 2 of a warp's 16, known to its two lanes. */
typedef struct row_state {
    real maximum, sum; /* of the scores so far; of exp(score - maximum) */
} row_state;

/* lane's scores: every other one of its row. */
__device__ static inline void read_scores(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          real head_scale, const float *bias, const float *score,
                                          int row, int lane, real (&of_lane)[SCORES_OF_LANE]) {
    LH_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n) {
        const int j = n * LANES_OF_ROW + lane % LANES_OF_ROW;
        const real raw =
            spec.scale * score[lane / LANES_OF_ROW * FLOAT_PITCH + j] + bias[row - j + LH_TILE - 1];
        of_lane[n] = lh_pair_holds(pair, row, j) ? head_scale * raw : -INFINITY;
    }
}

/* Takes away the keys of chunks that are too far back. */
__device__ static inline void hide_chunks(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          int row, int lane, real (&of_lane)[SCORES_OF_LANE]) {
    uint32_t seen = 0;
    LH_NO_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n)
        if (lh_pair_sees(spec, pair, row, n * LANES_OF_ROW + lane % LANES_OF_ROW)) seen |= 1u << n;
    LH_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n)
        if ((seen >> n & 1) == 0) of_lane[n] = -INFINITY;
}

/* Makes weights of the scores, with the maximum as it now is; gives what earlier sums shrink by. */
__device__ static inline real take_in(real (&of_lane)[SCORES_OF_LANE], row_state *state) {
    real most = of_lane[0], sum = 0;
    LH_UNROLL
    for (int n = 1; n < SCORES_OF_LANE; ++n)
        most = lh_larger(most, of_lane[n]);
    most = lh_larger(most, __shfl_xor_sync(0xffffffffu, most, 1));
    const real before = state->maximum;
    state->maximum = lh_larger(before, most);
    const real reference = state->maximum == -INFINITY ? 0 : state->maximum;
    LH_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n) {
        of_lane[n] = __expf(of_lane[n] - reference);
        sum += of_lane[n];
    }
    const real factor = __expf(before - reference);
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    state->sum = state->sum * factor + sum;
    return factor;
}

/* The weights, rounded, take the place of the scores. */
__device__ static inline void write_weights(const real (&of_lane)[SCORES_OF_LANE], int lane,
                                            float *score) {
    __nv_bfloat16 *weight = reinterpret_cast<__nv_bfloat16 *>(score);
    __syncwarp();
    LH_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n)
        weight[lane / LANES_OF_ROW * WEIGHT_PITCH + n * LANES_OF_ROW + lane % LANES_OF_ROW] =
            __float2bfloat16_rn(of_lane[n]);
}

/* What dropout leaves of the scores' weights: weights multiply values after the sum is known. */
__device__ static inline void drop(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                   int64_t batch, int64_t head, int row, int lane,
                                   real (&of_lane)[SCORES_OF_LANE]) {
    uint32_t kept = 0;
    LH_NO_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n) {
        const int j = n * LANES_OF_ROW + lane % LANES_OF_ROW;
        if (lh_pair_holds(pair, row, j) &&
            lh_kept(spec, batch, head, pair.query + row, pair.source, pair.key + j) > 0)
            kept |= 1u << n;
    }
    const bool whole = spec.dropout_period > 0 && spec.source[pair.source].everywhere;
    const real scale = whole ? 1 : (real)(1 / (1 - spec.dropout));
    LH_UNROLL
    for (int n = 0; n < SCORES_OF_LANE; ++n)
        of_lane[n] = (kept >> n & 1) != 0 ? scale * of_lane[n] : 0;
}

/* What a warp knows of its 16 queries. */
template <int width> struct warp_rows {
    int first, lane; /* first: within the block's tile */
    lh_places places;
    row_state state;
    lh_sums out[width / LH_STEP];
};

template <int width>
__device__ static inline void shrink(const float *factor, warp_rows<width> *rows) {
    LH_UNROLL
    for (int i = 0; i < LH_STEP_PARTS; ++i) {
        const float by = factor[lh_row_at(rows->places, i)];
        LH_UNROLL
        for (int d = 0; d < width / LH_STEP; ++d)
            rows->out[d].x[i] *= by;
    }
}

/* A warp's 16 queries and the 64 staged keys. */
template <int width>
__device__ static inline void attend_pair(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          int64_t batch, int64_t head,
                                          forward_memory<width> &memory, warp_rows<width> *rows) {
    const int lane = rows->lane, row = rows->first + lane / LANES_OF_ROW;
    float *score = memory.score + rows->first * FLOAT_PITCH, *factor = memory.factor + rows->first;
    lh_sums scores[LH_TILE_STEPS];
    real of_lane[SCORES_OF_LANE];
    lh_multiply_rows<width>(memory.q + rows->first * lh_tile_shape<width>::pitch, memory.k, scores);
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c)
        store_matrix_sync(score + c * LH_STEP, scores[c], FLOAT_PITCH, mem_row_major);
    __syncwarp();
    read_scores(spec, pair, lh_scale_of_head(spec, head), memory.bias, score, row, lane, of_lane);
    if (pair.chunks) hide_chunks(spec, pair, row, lane, of_lane);
    const real by = take_in(of_lane, &rows->state);
    if (spec.dropout > 0) drop(spec, pair, batch, head, row, lane, of_lane);
    write_weights(of_lane, lane, score);
    if (lane % LANES_OF_ROW == 0) factor[lane / LANES_OF_ROW] = by;
    __syncwarp();
    shrink<width>(factor, rows);
    lh_add_weighted<width>(reinterpret_cast<const __nv_bfloat16 *>(score), WEIGHT_PITCH, memory.v,
                           rows->out);
    __syncwarp();
}

/* Divides by the sums of weights and stores the 16 rows. */
template <int width>
__device__ static inline void finish_rows(const lh_attention_forward_args &a, int64_t batch,
                                          int64_t head, int64_t query,
                                          forward_memory<width> &memory, warp_rows<width> *rows) {
    const lh_attention_spec &spec = a.spec;
    const int lane = rows->lane, row = lane / LANES_OF_ROW;
    const row_state state = rows->state;
    float *factor = memory.factor + rows->first;
    if (lane % LANES_OF_ROW == 0) factor[row] = state.sum == 0 ? 0 : 1 / state.sum;
    __syncwarp();
    shrink<width>(factor, rows);
    const lh_tile_rows to = {lh_head_row(a.out, batch, head, query), a.out.token_stride,
                             (int)lh_min(spec.queries - query, LH_STEP), (int)spec.head_width,
                             LH_SET};
    lh_store_rows<width>(
        rows->out, 1, to,
        reinterpret_cast<float *>(memory.q + rows->first * lh_tile_shape<width>::pitch), lane);
    if (lane % LANES_OF_ROW == 0 && row < to.rows)
        a.lse[(batch * spec.heads + head) * spec.queries + query + row] =
            state.sum == 0 ? -INFINITY : state.maximum + logf(state.sum);
}

template <int width>
__global__ void __launch_bounds__(LH_TILE_THREADS, 3)
    attend_tiles(lh_attention_forward_args a, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(forward_memory<width>, memory);
    const lh_attention_spec &spec = a.spec;
    warp_rows<width> rows;
    rows.lane = (int)(threadIdx.x % LH_WARP);
    rows.first = (int)(threadIdx.x / LH_WARP) * LH_STEP;
    rows.places = lh_find_places(memory->score + rows.first * FLOAT_PITCH, rows.lane);
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE, query = first + rows.first;
        const int64_t last = lh_min(first + LH_TILE, spec.queries) - 1;
        rows.state = {-INFINITY, 0};
        lh_clear_sums(rows.out);
        lh_stage_tile<width>(a.q, batch, head, first, spec.queries, spec.head_width, memory->q);
        for (int s = 0; s < spec.source_count; ++s) {
            const lh_key_source &keys = spec.source[s];
            const lh_span seen = lh_keys_seen(spec, s, first, last);
            for (int64_t base = seen.begin; base < seen.end; base += LH_TILE) {
                const lh_tile_pair pair =
                    lh_pair_tiles(spec, s, batch, first, spec.queries, base, seen.end);
                __syncthreads();
                lh_stage_tile<width>(keys.k, batch, head, base, seen.end, spec.head_width,
                                     memory->k);
                lh_stage_tile<width>(keys.v, batch, head, base, seen.end, spec.head_width,
                                     memory->v);
                lh_stage_bias(spec, pair, head, memory->bias, memory->bucket);
                __syncthreads();
                if (query <= last) attend_pair<width>(spec, pair, batch, head, *memory, &rows);
            }
        }
        __syncthreads();
        if (query <= last) finish_rows<width>(a, batch, head, query, *memory, &rows);
        __syncthreads();
    }
}

template <int width>
static lh_status launch_width(const lh_launch *launch, const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_TILE);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    const size_t bytes = sizeof(forward_memory<width>);
    if (tasks == 0) return LH_OK;
    LH_CUDA_TRY(LH_CUDA(cudaFuncSetAttribute(
        attend_tiles<width>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)));
    return LH_LAUNCH((attend_tiles<width>), lh_blocks(tasks, 1), LH_TILE_THREADS, bytes, launch,
                     *args, tiles, tasks);
}

lh_status lh_attention_tile_forward(const lh_launch *launch,
                                    const lh_attention_forward_args *args) {
    switch (lh_tile_width(args->spec.head_width)) {
    case 32:
        return launch_width<32>(launch, args);
    case 64:
        return launch_width<64>(launch, args);
    default:
        return launch_width<128>(launch, args);
    }
}
