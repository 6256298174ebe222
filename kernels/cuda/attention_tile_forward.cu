/* Attention on tensor cores, forward. Where scores have position vectors, q . r comes first, out of
 * vectors that lie where keys and values lie afterwards. */
#include "kernels/cuda/attention_tile_bias.cuh"
#include "kernels/cuda/attention_tile_dropout.cuh"
#include "kernels/cuda/attention_tile_forward.cuh"

/* A block's shared memory. */
template <int width, bool placed, typename operand = __nv_bfloat16>
struct forward_memory : lh_forward_memory<width, operand> {
    float bias[LH_TILE_DIAGONALS + 1];
    int32_t bucket[LH_TILE_DIAGONALS + 1];
    lh_pair_kept kept;
    float product[placed ? LH_TILE_STEPS : 1][placed ? LH_BAND_FLOATS : 1]; /* of each stripe */
};

/* Scores of the products: of the rows `first` and on of a pair, `biases` by diagonals unless it
 * has one bias. */
__device__ static inline void scale_products(const lh_attention_spec &spec, real head_scale,
                                             const lh_pair_bias &bias, const float *biases,
                                             int first, int lane, lh_scores &scores) {
    const real scale = LH_LOG2_E * head_scale, of_product = scale * spec.scale;
    const real of_all = scale * bias.bias;
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h)
        lh_each_score(scores, h,
                      [&](int, int, real &score) { score = score * of_product + of_all; });
    if (bias.one) return;
    const float *of_lane = biases + first + lh_row_at(lane, 0) - lh_column_at(lane, 0);
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h)
        lh_each_score(scores, h, [&](int c, int part, real &score) {
            score += scale * of_lane[lh_lane_row(h, 0) - lh_score_key(c, part, 0) + LH_TILE - 1];
        });
}

/* Takes away the keys that are not seen. */
__device__ static inline void hide_keys(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                        int first, int lane, lh_scores &scores) {
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h) {
        const lh_seen_keys seen = lh_keys_of(spec, pair, first + lh_lane_row(h, lane));
        lh_each_score(scores, h, [&](int c, int part, real &score) {
            const int key = lh_score_key(c, part, lane);
            score = lh_is_among(seen, key) ? score : -INFINITY;
        });
    }
}

/* What dropout leaves of the scores' weights: weights multiply values after the sum is known. */
__device__ static inline void drop_weights(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                           const lh_pair_kept &kept, int first, int lane,
                                           lh_scores &scores) {
    if (!lh_drops(spec, pair.source)) return;
    const real scale = lh_kept_scale(spec, pair);
    const int own = lh_score_key(0, 0, lane);
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h)
        lh_each_score(scores, h, [&](int c, int part, real &weight) {
            const int query = first + lh_lane_row(h, lane), key = lh_score_key(c, part, 0);
            const uint32_t bits =
                lh_kept_from(kept, query, key / LH_KEPT_KEYS * LH_KEPT_KEYS + own);
            weight = (bits >> key % LH_KEPT_KEYS & 1) != 0 ? scale * weight : 0;
        });
}

template <int width, bool placed, int stripes, typename operand>
__device__ static inline void attend_pair(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          int64_t head, const lh_pair_bias &bias,
                                          lh_scores (&scores)[stripes],
                                          const forward_memory<width, placed, operand> &memory,
                                          lh_warp_rows<width, stripes> *rows) {
    const auto read = [&](const lh_stripe &own, lh_scores &products) {
        scale_products(spec, lh_scale_of_head(spec, head), bias, memory.bias, own.first, own.lane,
                       products);
        if (!lh_pair_is_whole(pair)) hide_keys(spec, pair, own.first, own.lane, products);
    };
    const auto drop = [&](const lh_stripe &own, lh_scores &weights) {
        drop_weights(spec, pair, memory.kept, own.first, own.lane, weights);
    };
    const auto keep = [](const lh_stripe &, lh_scores &) {};
    /* Two copies, since with dropout the widest heads spill, and the other need not. */
    if (spec.dropout > 0)
        lh_attend_values(memory, scores, read, drop, rows);
    else
        lh_attend_values(memory, scores, read, keep, rows);
}

/* q . r of a warp's queries and 64 keys; a block's work, in the memory of keys and values. */
template <int width, int stripes, typename operand>
__device__ static inline void place_keys(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                         int64_t head, forward_memory<width, true, operand> *memory,
                                         const lh_warp_rows<width, stripes> &rows,
                                         lh_scores (&scores)[stripes]) {
    __syncthreads();
    lh_stage_positions<width, LH_TILE_THREADS / stripes>(spec, pair, head, memory->other);
    lh_await_copies();
    __syncthreads();
    LH_UNROLL
    for (int s = 0; s < stripes; ++s) {
        const int first = rows.stripe[s].first;
        LH_UNROLL
        for (int c = 0; c < LH_TILE_STEPS; ++c)
            lh_multiply_positions<width, false>(
                lh_queries_of(*memory, rows.stripe[s]),
                lh_band_of<width>(memory->other, first, c * LH_STEP),
                memory->product[first / LH_STEP], scores[s][c]);
    }
    __syncthreads();
}

/* A block's 64 queries and all the keys of a source that they see. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
attend_source(const lh_attention_spec &spec, const lh_kept_table &table, int source, int64_t batch,
              int64_t head, int64_t first, forward_memory<width, placed, operand> *memory,
              lh_warp_rows<width, stripes> *rows) {
    enum { threads = LH_TILE_THREADS / stripes };
    const lh_key_source &keys = spec.source[source];
    const int64_t last = lh_min(first + LH_TILE, spec.queries) - 1;
    const lh_span seen = lh_keys_seen(spec, source, first, last);
    const lh_pair_limits limits = lh_limits_of(spec, source, batch, spec.queries, seen.end);
    lh_pair_bias bias = {};
    const auto pair_of = [&](int64_t base) { return lh_pair_tiles(limits, first, base); };
    const auto bring_keys = [&](int64_t base) {
        lh_stage_tile<width, threads>(keys.k, batch, head, base, seen.end, spec.head_width,
                                      memory->other);
    };
    const auto bring_values = [&](int64_t base) {
        lh_stage_tile<width, threads>(keys.v, batch, head, base, seen.end, spec.head_width,
                                      memory->other + memory->tile);
        bias = lh_stage_bias<threads>(spec, pair_of(base), head, -INFINITY, memory->bias,
                                      memory->bucket);
        lh_stage_kept(spec, table, pair_of(base), head, &memory->kept);
    };
    const auto attend = [&](int64_t base, lh_scores(&scores)[stripes]) {
        attend_pair<width>(spec, pair_of(base), head, bias, scores, *memory, rows);
    };
    const bool by_place = placed && !keys.everywhere;
    const auto place = [&](int64_t base, lh_scores(&scores)[stripes]) {
        if constexpr (placed)
            if (by_place) place_keys<width>(spec, pair_of(base), head, memory, *rows, scores);
    };
    lh_attend_span(seen.begin, seen.end, first + rows->stripe[0].first <= last, !by_place, place,
                   bring_keys, bring_values, attend, *memory, *rows);
}

/* Divides by the sums of weights and stores a stripe's 16 rows, of which the first is `query`. */
template <int width, typename operand>
__device__ static inline void
finish_rows(const lh_attention_forward_args &a, int64_t batch, int64_t head, int64_t query,
            lh_forward_memory<width, operand> *memory, const lh_stripe &stripe,
            lh_sums (&out)[width / LH_STEP]) {
    const lh_attention_spec &spec = a.spec;
    const lh_tile_rows to =
        lh_rows_of(a.out, batch, head, query, spec.queries, spec.head_width, LH_SET);
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h) {
        const int row = lh_lane_row(h, stripe.lane);
        const real sum = lh_row_sum(stripe.state[h]);
        lh_shrink(sum == 0 ? 0 : 1 / sum, h, out);
        if (stripe.lane % LH_MMA_LANES == 0 && row < to.rows)
            a.lse[(batch * spec.heads + head) * spec.queries + query + row] =
                lh_row_lse(stripe.state[h], sum);
    }
    lh_store_rows<width>(
        out, 1, to,
        reinterpret_cast<float *>(memory->q + stripe.first * lh_tile_shape<width, operand>::pitch),
        stripe.lane);
}

/* Stripes of a warp, and blocks on a multiprocessor: as many as have the registers. Of the `plain`,
 * warps of one stripe, of which there are twice as many, were quicker on an H200. */
template <int width, bool placed, typename operand> struct resident {
    enum { floats = sizeof(operand) == sizeof(float), widest = width == LH_WIDEST_TILE };
    enum { plain = !placed && !floats, stripes = plain || widest ? 1 : 2 };
    enum { threads = LH_TILE_THREADS / stripes, blocks = widest ? (plain ? 3 : 2) : 4 };
};

template <int width, bool placed, typename operand>
__global__ void __launch_bounds__((resident<width, placed, operand>::threads),
                                  (resident<width, placed, operand>::blocks))
    attend_tiles(lh_attention_forward_args a, lh_kept_table table, int64_t tiles, int64_t tasks) {
    typedef forward_memory<width, placed, operand> block_memory;
    typedef resident<width, placed, operand> shape;
    LH_SHARED_DYNAMIC(block_memory, memory);
    const lh_attention_spec &spec = a.spec;
    lh_warp_rows<width, shape::stripes> rows;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE;
        lh_begin_rows(&rows);
        lh_stage_tile<width, shape::threads>(a.q, batch, head, first, spec.queries, spec.head_width,
                                             memory->q);
        for (int s = 0; s < spec.source_count; ++s)
            attend_source<width>(spec, table, s, batch, head, first, memory, &rows);
        lh_await_copies();
        __syncthreads();
        LH_UNROLL
        for (int s = 0; s < shape::stripes; ++s) {
            const int64_t query = first + rows.stripe[s].first;
            if (query < spec.queries)
                finish_rows<width>(a, batch, head, query, memory, rows.stripe[s], rows.out[s]);
        }
        __syncthreads();
    }
}

template <int width, bool placed, typename operand>
static lh_status launch_tiles(const lh_launch *launch, const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    lh_kept_table table;
    char *at = (char *)launch->workspace;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_TILE);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    const size_t bytes = sizeof(forward_memory<width, placed, operand>);
    const unsigned threads = resident<width, placed, operand>::threads;
    if (tasks == 0) return LH_OK;
    (void)lh_take_kept_table(spec, &at, &table);
    LH_CUDA_TRY(lh_draw_kept_table(launch, spec, table));
    return LH_LAUNCH((attend_tiles<width, placed, operand>), lh_blocks(tasks, 1), threads, bytes,
                     launch, *args, table, tiles, tasks);
}

template <int width>
static lh_status launch_width(const lh_launch *launch, const lh_attention_forward_args *args) {
    const bool floats = args->spec.precision == LH_PRECISION_TF32;
    if (args->spec.positions == NULL)
        return floats ? launch_tiles<width, false, float>(launch, args)
                      : launch_tiles<width, false, __nv_bfloat16>(launch, args);
    if constexpr (width < LH_WIDEST_TILE)
        if (floats) return launch_tiles<width, true, float>(launch, args);
    return launch_tiles<width, true, __nv_bfloat16>(launch, args);
}

bool lh_attention_fits_tiles(const lh_attention_spec *spec, lh_dtype dtype) {
    const bool widest = lh_tile_width(spec->head_width) == LH_WIDEST_TILE;
    const bool suits_tf32 = dtype == LH_REAL && !(widest && spec->positions != NULL);
    return lh_tiles_have_room(spec->precision, spec->head_width) && lh_tiles_count(spec) &&
           (spec->precision == LH_PRECISION_BF16 || suits_tf32);
}

size_t lh_attention_tile_forward_workspace(const lh_attention_forward_args *args) {
    lh_kept_table table;
    char *at = NULL;
    return lh_take_kept_table(&args->spec, &at, &table);
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
