/* The gradient of the position vectors on tensor cores. A vector meets the queries whose keys stand
 * at its distance, so a block takes the pairs of tiles that stand at one distance and sums
 *
 *   dr_x = sum_i dS_(i, j(i, x)) q_i
 *
 * over their 127 diagonals x. */
#include "kernels/cuda/attention_tile_backward.cuh"

enum { DIAGONAL_PITCH = 2 * LH_TILE + 8 /* of gradients by diagonals */ };

/* Tile a of the queries and tile b of a source's keys stand apart by a - b, and there are pairs
 * that hold a distance which is seen for a - b in [first, first + count). */
typedef struct tile_distances {
    int64_t first, count;
} tile_distances;

static tile_distances distances_of(const lh_attention_spec *spec, const lh_key_source *keys) {
    const int64_t nearest = lh_floor_divide(spec->min_distance + keys->first, LH_TILE);
    const int64_t farthest =
        lh_floor_divide(spec->max_distance + keys->first + LH_TILE - 1, LH_TILE);
    const int64_t first = lh_max(nearest, 1 - lh_chunk_count(keys->count, LH_TILE));
    const int64_t last = lh_min(farthest, lh_chunk_count(spec->queries, LH_TILE) - 1);
    return {first, keys->everywhere || keys->count == 0 ? 0 : lh_max(0, last - first + 1)};
}

/* Elements of a source's sums. */
static int64_t elements_of(const lh_attention_spec *spec, tile_distances distances) {
    return spec->batch * spec->heads * distances.count * 2 * LH_TILE * spec->head_width;
}

int64_t lh_attention_tile_position_sums(const lh_attention_backward_args *args) {
    int64_t elements = 0;
    for (int s = 0; s < args->spec.source_count && args->dpositions != NULL; ++s)
        elements += elements_of(&args->spec, distances_of(&args->spec, &args->spec.source[s]));
    return elements;
}

/* A block's shared memory. `other` holds the gradients of outputs and, in turn, keys and values;
 * then, in place of all, the gradients by diagonals that were made of them. */
template <int width, typename operand> struct distance_memory {
    enum { tile = lh_tile_shape<width, operand>::elements, spread = LH_TILE * DIAGONAL_PITCH };
    operand vectors[2 * tile], q[tile];
    operand other[2 * (int)tile > (int)spread ? 2 * (int)tile : (int)spread];
    float product[LH_TILE_WARPS][LH_BAND_FLOATS];
    float lse[LH_TILE], delta[LH_TILE];
    float bias[LH_TILE_DIAGONALS + 1];
    int32_t bucket[LH_TILE_DIAGONALS + 1];
    lh_seen_keys seen[LH_TILE];
    lh_pair_kept kept;
};

/* What a warp sums up for the vectors of its 32 diagonals. */
template <int width> struct vector_rows {
    lh_warp_place at;
    lh_sums sums[2][width / LH_STEP];
};

/* The gradients of a pair's scores by diagonals i - j + 63, with zeros on those that a query has
 * not. `memory` holds what scores and dout . v they come from; a block's work. */
template <int width, typename operand>
__device__ static inline void spread_pair(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                          int64_t head, const lh_pair_bias &bias,
                                          lh_sums (&scores)[LH_TILE_STEPS],
                                          lh_sums (&slopes)[LH_TILE_STEPS], const lh_warp_place &at,
                                          distance_memory<width, operand> *memory) {
    const lh_slope_terms terms = lh_slope_terms_of(spec, pair, head, bias);
    LH_NO_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c) {
        const auto cell_of = [=](int n) -> lh_cell {
            return {at.first + lh_row_at(at.lane, n), c * LH_STEP + lh_column_at(at.lane, n)};
        };
        lh_sums score, slope;
        lh_pick(scores, c, score);
        lh_pick(slopes, c, slope);
        lh_differentiate<false>(
            spec, terms, pair, cell_of, [](real, real) {}, *memory, score, slope);
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n) {
            const lh_cell cell = cell_of(n);
            const int diagonal = cell.query - cell.key + LH_TILE - 1;
            operand *row = memory->other + cell.query * DIAGONAL_PITCH;
            lh_store(&row[diagonal], LH_SET, lh_part(slope, n));
            lh_store(&row[(diagonal + LH_TILE) % (2 * LH_TILE)], LH_SET, 0);
        }
    }
}

/* sums += the pair's gradients^T q. Queries of 16 meet five times 16 diagonals; beside them are
 * zeros. */
template <int width, typename operand>
__device__ static inline void add_vectors(const distance_memory<width, operand> &memory,
                                          vector_rows<width> *rows) {
    LH_UNROLL
    for (int half = 0; half < 2; ++half) {
        const int block = 2 * rows->at.warp + half;
        LH_NO_UNROLL
        for (int c = 0; c < LH_TILE_STEPS; ++c) {
            if (block < c || block > c + LH_TILE_STEPS) continue;
            lh_add_weighted<width, true>(
                memory.other + c * LH_STEP * DIAGONAL_PITCH + block * LH_STEP, DIAGONAL_PITCH,
                memory.q + c * LH_STEP * lh_tile_shape<width, operand>::pitch, rows->sums[half]);
        }
    }
}

/* A pair of tiles whose vectors are staged; a block's work. */
template <int width, typename operand>
__device__ static inline void
visit_tiles(const lh_attention_backward_args &a, const lh_kept_table &kept, const real *delta,
            const lh_tile_pair &pair, int64_t batch, int64_t head, const lh_pair_bias &bias,
            distance_memory<width, operand> *memory, vector_rows<width> *rows) {
    enum { pitch = lh_tile_shape<width, operand>::pitch };
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &keys = spec.source[pair.source];
    const int first = rows->at.first;
    operand *dout = memory->other, *others = memory->other + memory->tile;
    lh_sums scores[1][LH_TILE_STEPS], slopes[1][LH_TILE_STEPS];
    __syncthreads();
    lh_stage_tile<width>(a.q, batch, head, pair.query, spec.queries, spec.head_width, memory->q);
    lh_stage_tile<width>(a.dout, batch, head, pair.query, spec.queries, spec.head_width, dout);
    lh_stage_tile<width>(keys.k, batch, head, pair.key, keys.count, spec.head_width, others);
    lh_stage_queries(a, delta, batch, head, pair.query, memory);
    lh_stage_seen(spec, pair, memory);
    lh_stage_kept(spec, kept, pair, head, &memory->kept);
    lh_await_copies();
    __syncthreads();
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c)
        lh_multiply_positions<width, false>(memory->q + first * pitch,
                                            lh_band_of<width>(memory->vectors, first, c * LH_STEP),
                                            memory->product[rows->at.warp], scores[0][c]);
    lh_multiply_rows<width>(memory->q + first * pitch, others, scores);
    __syncthreads();
    lh_stage_tile<width>(keys.v, batch, head, pair.key, keys.count, spec.head_width, others);
    lh_await_copies();
    __syncthreads();
    lh_clear_sums(slopes[0]);
    lh_multiply_rows<width>(dout + first * pitch, others, slopes);
    __syncthreads();
    spread_pair<width>(spec, pair, head, bias, scores[0], slopes[0], rows->at, memory);
    __syncthreads();
    add_vectors<width>(*memory, rows);
}

/* A block takes the pairs of tiles of one batch row, head and distance. */
template <int width, typename operand>
__global__ void __launch_bounds__(LH_TILE_THREADS, 2)
    pass_distances(lh_attention_backward_args a, lh_kept_table kept, int s, const real *delta,
                   real *sums, tile_distances distances, int64_t tasks) {
    typedef distance_memory<width, operand> block_memory;
    LH_SHARED_DYNAMIC(block_memory, memory);
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &keys = spec.source[s];
    vector_rows<width> rows;
    rows.at = lh_find_place();
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / distances.count % spec.heads;
        const int64_t batch = task / distances.count / spec.heads;
        const int64_t apart = distances.first + task % distances.count;
        const int64_t begin = lh_max(0, apart);
        const int64_t end = lh_min(lh_chunk_count(spec.queries, LH_TILE),
                                   lh_chunk_count(keys.count, LH_TILE) + apart);
        lh_clear_sums(rows.sums[0]);
        lh_clear_sums(rows.sums[1]);
        const lh_pair_limits limits = lh_limits_of(spec, s, batch, spec.queries, keys.count);
        lh_pair_bias bias = {};
        for (int64_t tile = begin; tile < end; ++tile) {
            const lh_tile_pair pair =
                lh_pair_tiles(limits, tile * LH_TILE, (tile - apart) * LH_TILE);
            if (tile == begin) {
                lh_stage_positions<width>(spec, pair, head, memory->vectors);
                bias = lh_stage_bias(spec, pair, head, LH_LEAST_BIAS, memory->bias, memory->bucket);
            }
            visit_tiles<width>(a, kept, delta, pair, batch, head, bias, memory, &rows);
        }
        __syncthreads();
        LH_UNROLL
        for (int half = 0; half < 2; ++half) {
            const int64_t row = task * 2 * LH_TILE + (2 * rows.at.warp + half) * LH_STEP;
            const lh_tile_rows to = {{sums, LH_REAL}, row * spec.head_width, spec.head_width,
                                     LH_STEP,         (int)spec.head_width,  LH_SET};
            lh_store_rows<width>(rows.sums[half], spec.scale * lh_scale_of_head(spec, head), to,
                                 lh_scratch_of<width>(memory->q, rows.at.first), rows.at.lane);
        }
        __syncthreads();
    }
}

/* ---- the launches ---- */

/* The sums of all sources by diagonals, of one batch row and head after the other. */
typedef struct vector_sums {
    const real *data[LH_KEY_SOURCES];
    tile_distances distances[LH_KEY_SOURCES];
} vector_sums;

/* Element d of an entry's gradient in the sums of one pair of tile distance and head: all diagonals
 * whose distances the entry stands for. */
__device__ static inline double sum_diagonals(const lh_attention_spec &spec, const real *sums,
                                              int64_t nearest, int64_t entry, int64_t d) {
    const int64_t from = entry == 0 ? -LH_FAR : entry;
    const int64_t to = entry == spec.position_count - 1 ? LH_FAR : entry + 1;
    const int64_t begin = lh_max(0, from + spec.position_first - nearest);
    const int64_t end = lh_min(LH_TILE_DIAGONALS, to + spec.position_first - nearest);
    double total = 0;
    for (int64_t x = begin; x < end; ++x)
        total += (double)sums[x * spec.head_width + d];
    return total;
}

static lh_status join_positions(const lh_launch *launch, const lh_attention_backward_args *args,
                                const real *sums) {
    const lh_attention_backward_args a = *args;
    vector_sums from = {};
    for (int s = 0; s < a.spec.source_count; ++s) {
        from.data[s] = sums;
        from.distances[s] = distances_of(&a.spec, &a.spec.source[s]);
        sums += elements_of(&a.spec, from.distances[s]);
    }
    const int64_t elements = a.spec.position_heads * a.spec.position_count * a.spec.head_width;
    return lh_each_row(launch, elements, [=] __device__(int64_t i, int lane) {
        const lh_attention_spec &spec = a.spec;
        const int64_t d = i % spec.head_width, entry = i / spec.head_width % spec.position_count;
        const int64_t table = i / spec.head_width / spec.position_count;
        double total = 0;
        for (int s = 0; s < spec.source_count; ++s) {
            const tile_distances distances = from.distances[s];
            const int64_t pieces = spec.batch * spec.heads * distances.count;
            for (int64_t n = lane; n < pieces; n += LH_WARP) {
                if (spec.position_heads > 1 && n / distances.count % spec.heads != table) continue;
                const int64_t apart = (distances.first + n % distances.count) * LH_TILE;
                const real *piece = from.data[s] + n * 2 * LH_TILE * spec.head_width;
                total += sum_diagonals(spec, piece, apart - spec.source[s].first - (LH_TILE - 1),
                                       entry, d);
            }
        }
        total = lh_warp_sum(total);
        if (lane == 0) lh_store(&a.dpositions[i], a.dpositions_write, (real)total);
    });
}

template <int width, typename operand>
static lh_status launch_tiles(const lh_launch *launch, const lh_attention_backward_args *args,
                              const lh_kept_table &kept, const real *delta, real *sums) {
    const lh_attention_spec *spec = &args->spec;
    const size_t bytes = sizeof(distance_memory<width, operand>);
    static_assert(sizeof(distance_memory<width, operand>) <= LH_EVERY_CARD_BYTES,
                  "cards are asked for more than all have");
    for (int s = 0; s < spec->source_count; ++s) {
        const tile_distances distances = distances_of(spec, &spec->source[s]);
        const int64_t tasks = spec->batch * spec->heads * distances.count;
        if (tasks == 0) continue;
        LH_CUDA_TRY(LH_LAUNCH((pass_distances<width, operand>), lh_blocks(tasks, 1),
                              LH_TILE_THREADS, bytes, launch, *args, kept, s, delta, sums,
                              distances, tasks));
        sums += elements_of(spec, distances);
    }
    return LH_OK;
}

template <int width>
static lh_status launch_width(const lh_launch *launch, const lh_attention_backward_args *args,
                              const lh_kept_table &kept, const real *delta, real *sums) {
    if constexpr (width < LH_WIDEST_TILE)
        if (args->spec.precision == LH_PRECISION_TF32)
            return launch_tiles<width, float>(launch, args, kept, delta, sums);
    return launch_tiles<width, __nv_bfloat16>(launch, args, kept, delta, sums);
}

lh_status lh_attention_tile_positions(const lh_launch *launch,
                                      const lh_attention_backward_args *args,
                                      const lh_kept_table &kept, const real *delta, real *sums) {
    if (args->dpositions == NULL || args->spec.positions == NULL) return LH_OK;
    switch (lh_tile_width(args->spec.head_width)) {
    case 32:
        LH_CUDA_TRY(launch_width<32>(launch, args, kept, delta, sums));
        break;
    case 64:
        LH_CUDA_TRY(launch_width<64>(launch, args, kept, delta, sums));
        break;
    default:
        LH_CUDA_TRY(launch_width<128>(launch, args, kept, delta, sums));
        break;
    }
    return join_positions(launch, args, sums);
}
