/* Attention on tensor cores, forward. Where scores have position vectors, q . r comes first, out of
 * vectors that lie where keys and values lie afterwards. */
#include "kernels/cuda/attention_tile_forward.cuh"

/* A block's shared memory. */
template <int width> struct forward_memory : lh_forward_memory<width> {
    float bias[LH_TILE_DIAGONALS + 1];
    int32_t bucket[LH_TILE_DIAGONALS + 1];
};

/* A lane's scores of a row. */
__device__ static inline void read_scores(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          real head_scale, const float *bias, const float *product,
                                          int row, int lane, lh_lane_scores &of_lane) {
    LH_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n) {
        const int j = lh_key_of_lane(n, lane);
        const real raw = spec.scale * product[j] + bias[row - j + LH_TILE - 1];
        of_lane[n] = lh_pair_holds(pair, row, j) ? head_scale * raw : -INFINITY;
    }
}

/* Takes away the keys of chunks that are too far back. */
__device__ static inline void hide_chunks(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          int row, int lane, lh_lane_scores &of_lane) {
    uint32_t seen = 0;
    LH_NO_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n)
        if (lh_pair_sees(spec, pair, row, lh_key_of_lane(n, lane))) seen |= 1u << n;
    LH_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n)
        if ((seen >> n & 1) == 0) of_lane[n] = -INFINITY;
}

/* What dropout leaves of the scores' weights: weights multiply values after the sum is known. */
__device__ static inline void drop_weights(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                           int64_t batch, int64_t head, int row, int lane,
                                           lh_lane_scores &of_lane) {
    uint32_t kept = 0;
    LH_NO_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n) {
        const int j = lh_key_of_lane(n, lane);
        if (lh_pair_holds(pair, row, j) &&
            lh_kept(spec, batch, head, pair.query + row, pair.source, pair.key + j) > 0)
            kept |= 1u << n;
    }
    const bool whole = spec.dropout_period > 0 && spec.source[pair.source].everywhere;
    const real scale = whole ? 1 : (real)(1 / (1 - spec.dropout));
    LH_UNROLL
    for (int n = 0; n < LH_SCORES_OF_LANE; ++n)
        of_lane[n] = (kept >> n & 1) != 0 ? scale * of_lane[n] : 0;
}

template <int width>
__device__ static inline void
attend_pair(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t batch, int64_t head,
            lh_sums (&sums)[LH_TILE_STEPS], forward_memory<width> &memory,
            lh_warp_rows<width> *rows) {
    const int lane = rows->lane;
    const real scale = lh_scale_of_head(spec, head);
    const auto read = [&](int row, const float *product, lh_lane_scores &of_lane) {
        read_scores(spec, pair, scale, memory.bias, product, row, lane, of_lane);
        if (pair.chunks) hide_chunks(spec, pair, row, lane, of_lane);
    };
    const auto drop = [&](int row, lh_lane_scores &of_lane) {
        if (spec.dropout > 0) drop_weights(spec, pair, batch, head, row, lane, of_lane);
    };
    lh_attend_keys<width>(memory, sums, read, drop, rows);
}

/* q . r of a warp's 16 queries and 64 keys; a block's work. */
template <int width>
__device__ static inline void place_keys(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                         int64_t head, forward_memory<width> *memory,
                                         const lh_warp_rows<width> &rows,
                                         lh_sums (&sums)[LH_TILE_STEPS]) {
    __syncthreads();
    lh_stage_positions<width>(spec, pair, head, memory->other);
    __syncthreads();
    if (rows.first >= pair.queries) return;
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c)
        lh_multiply_positions<width, false>(
            lh_queries_of(*memory, rows), lh_band_of<width>(memory->other, rows.first, c * LH_STEP),
            rows.places, memory->score + rows.first * LH_FLOAT_PITCH, sums[c]);
}

/* A block's 64 queries and all the keys of a source that they see. */
template <int width, bool placed>
__device__ static inline void
attend_source(const lh_attention_spec &spec, int s, int64_t batch, int64_t head, int64_t first,
              forward_memory<width> *memory, lh_warp_rows<width> *rows) {
    const lh_key_source &keys = spec.source[s];
    const int64_t last = lh_min(first + LH_TILE, spec.queries) - 1;
    const lh_span seen = lh_keys_seen(spec, s, first, last);
    for (int64_t base = seen.begin; base < seen.end; base += LH_TILE) {
        const lh_tile_pair pair =
            lh_pair_tiles(spec, s, batch, first, spec.queries, base, seen.end);
        lh_sums sums[LH_TILE_STEPS];
        lh_clear_sums(sums);
        if (placed && !keys.everywhere) place_keys<width>(spec, pair, head, memory, *rows, sums);
        __syncthreads();
        lh_stage_tile<width>(keys.k, batch, head, base, seen.end, spec.head_width, memory->other);
        lh_stage_tile<width>(keys.v, batch, head, base, seen.end, spec.head_width,
                             memory->other + memory->tile);
        lh_stage_bias(spec, pair, head, memory->bias, memory->bucket);
        __syncthreads();
        if (first + rows->first <= last)
            attend_pair<width>(spec, pair, batch, head, sums, *memory, rows);
    }
}

/* Divides by the sums of weights and stores the 16 rows. */
template <int width>
__device__ static inline void
finish_rows(const lh_attention_forward_args &a, int64_t batch, int64_t head, int64_t query,
            forward_memory<width> &memory, lh_warp_rows<width> *rows) {
    const lh_attention_spec &spec = a.spec;
    const int lane = rows->lane, row = lane / LH_LANES_OF_ROW;
    const lh_row_state state = rows->state;
    lh_multiply_out<width>(state.sum == 0 ? 0 : 1 / state.sum, memory, rows);
    const lh_tile_rows to =
        lh_rows_of(a.out, batch, head, query, spec.queries, spec.head_width, LH_SET);
    lh_store_rows<width>(
        rows->out, 1, to,
        reinterpret_cast<float *>(memory.q + rows->first * lh_tile_shape<width>::pitch), lane);
    if (lane % LH_LANES_OF_ROW == 0 && row < to.rows)
        a.lse[(batch * spec.heads + head) * spec.queries + query + row] =
            state.sum == 0 ? -INFINITY : state.maximum + logf(state.sum);
}

/* Blocks on a multiprocessor. With position vectors a third would spill the registers of the widest
 * heads. */
template <int width, bool placed> struct resident {
    enum { blocks = placed && width == LH_WIDEST_TILE ? 2 : 3 };
};

template <int width, bool placed>
__global__ void __launch_bounds__(LH_TILE_THREADS, (resident<width, placed>::blocks))
    attend_tiles(lh_attention_forward_args a, int64_t tiles, int64_t tasks) {
    LH_SHARED_DYNAMIC(forward_memory<width>, memory);
    const lh_attention_spec &spec = a.spec;
    lh_warp_rows<width> rows = lh_begin_rows<width>(memory);
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE, query = first + rows.first;
        rows.state = {-INFINITY, 0};
        lh_clear_sums(rows.out);
        lh_stage_tile<width>(a.q, batch, head, first, spec.queries, spec.head_width, memory->q);
        for (int s = 0; s < spec.source_count; ++s)
            attend_source<width, placed>(spec, s, batch, head, first, memory, &rows);
        __syncthreads();
        if (query < spec.queries) finish_rows<width>(a, batch, head, query, *memory, &rows);
        __syncthreads();
    }
}

template <int width, bool placed>
static lh_status launch_tiles(const lh_launch *launch, const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_TILE);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    const size_t bytes = sizeof(forward_memory<width>);
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH((attend_tiles<width, placed>), lh_blocks(tasks, 1), LH_TILE_THREADS, bytes,
                     launch, *args, tiles, tasks);
}

template <int width>
static lh_status launch_width(const lh_launch *launch, const lh_attention_forward_args *args) {
    return args->spec.positions != NULL ? launch_tiles<width, true>(launch, args)
                                        : launch_tiles<width, false>(launch, args);
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
