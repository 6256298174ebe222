/* Pairs of tiles: who sees whom in 64 queries and 64 keys, and the position vectors of their
 * diagonals. */
#ifndef LH_KERNELS_CUDA_ATTENTION_TILE_PAIRS_CUH
#define LH_KERNELS_CUDA_ATTENTION_TILE_PAIRS_CUH

#include "kernels/cuda/attention_tile.cuh"

/* 64 queries from `query` on and 64 keys of a source from `key` on. i and j count within them. */
typedef struct lh_tile_pair {
    int64_t batch;
    int source, queries, keys; /* those that there are: others are seen by nobody */
    int nearest, farthest;     /* of i - j */
    bool full;                 /* all 64 keys are there */
    bool chunks;
    int64_t query, key;
} lh_tile_pair;

/* What all pairs of a batch row's queries and a source's keys have in common, as numbers that need
 * no 64 bits: a block asks it once. */
typedef struct lh_pair_limits {
    int64_t batch;
    int source;
    bool chunks;
    int query_end, key_end;
    int nearest, farthest; /* of query - key, both counted from 0 */
} lh_pair_limits;

/* A number of tokens, or a difference of two positions: what is farther is beyond all of them. */
__device__ static inline int lh_clamp_tokens(int64_t tokens) {
    return (int)lh_max(-LH_MOST_TOKENS, lh_min(tokens, LH_MOST_TOKENS));
}

/* Of what is before `query_end` and `key_end`. */
__device__ static inline lh_pair_limits lh_limits_of(const lh_attention_spec &spec, int source,
                                                     int64_t batch, int64_t query_end,
                                                     int64_t key_end) {
    const lh_key_source &keys = spec.source[source];
    const int64_t filled = keys.filled != NULL ? keys.filled[batch] : key_end;
    const int64_t nearest = keys.everywhere ? -LH_FAR : keys.first + spec.min_distance;
    const int64_t farthest = keys.everywhere ? LH_FAR : keys.first + spec.max_distance;
    return {batch,
            source,
            spec.chunk > 0 && !keys.everywhere,
            lh_clamp_tokens(query_end),
            lh_clamp_tokens(lh_min(key_end, filled)),
            lh_clamp_tokens(nearest),
            lh_clamp_tokens(farthest)};
}

/* Beyond a tile's corners all diagonals are alike. */
__device__ static inline int lh_clamp_diagonal(int difference) {
    return max(-(int)LH_TILE, min(difference, (int)LH_TILE));
}

/* The tiles from `query` and from `key` on. */
__device__ static inline lh_tile_pair lh_pair_tiles(const lh_pair_limits &limits, int64_t query,
                                                    int64_t key) {
    const int offset = (int)(query - key), keys = limits.key_end - (int)key;
    lh_tile_pair pair;
    pair.batch = limits.batch;
    pair.source = limits.source;
    pair.query = query;
    pair.key = key;
    pair.queries = min(limits.query_end - (int)query, (int)LH_TILE);
    pair.keys = max(0, min(keys, (int)LH_TILE));
    pair.full = keys >= LH_TILE;
    pair.nearest = lh_clamp_diagonal(limits.nearest - offset);
    pair.farthest = lh_clamp_diagonal(limits.farthest - offset);
    pair.chunks = limits.chunks;
    return pair;
}

/* The keys of a pair that query i sees lie side by side: `count` from `first` on. */
typedef struct lh_seen_keys {
    int first, count;
} lh_seen_keys;

/* Whether a key is one of them. */
__device__ static inline bool lh_is_among(const lh_seen_keys &keys, int key) {
    return (unsigned)(key - keys.first) < (unsigned)keys.count;
}

/* Those that query i sees; count 0 where there are none. */
__device__ static inline lh_seen_keys lh_keys_of(const lh_attention_spec &spec,
                                                 const lh_tile_pair &pair, int i) {
    int first = max(0, i - pair.farthest);
    const int end = min(pair.keys, i - pair.nearest + 1);
    if (pair.chunks) {
        const int64_t chunk = lh_floor_divide(pair.query + i, spec.chunk) - spec.chunks_back;
        const int64_t key = chunk * spec.chunk - spec.source[pair.source].first - pair.key;
        first = max(first, (int)lh_max(0, lh_min(key, LH_TILE)));
    }
    return {first, i < pair.queries ? max(0, end - first) : 0};
}

/* Where a query and a key stand in a pair of tiles. */
typedef struct lh_cell {
    int query, key;
} lh_cell;

/* Whether all keys are there and each query sees all of them. That is not asked of pair.keys: what
 * nvcc 13.0 makes of it for sm_90 is a predicate of VIMNMX.RELU, which on an H200 held of fewer. */
__device__ static inline bool lh_pair_is_whole(const lh_tile_pair &pair) {
    return pair.full && pair.nearest <= 1 - LH_TILE && pair.farthest >= LH_TILE - 1 && !pair.chunks;
}

/* ---- position vectors ---- */

/* The vectors of a pair's diagonals i - j + 63, and one more; a block's work. Takes two tiles. */
template <int width, int threads = LH_TILE_THREADS, typename operand>
__device__ static inline void lh_stage_positions(const lh_attention_spec &spec,
                                                 const lh_tile_pair &pair, int64_t head,
                                                 operand *vectors) {
    const int64_t table = spec.position_heads > 1 ? spec.position_count * spec.head_width : 0;
    const lh_heads entries = {{(real *)spec.positions, LH_REAL}, 0, spec.head_width, table};
    const int64_t nearest = pair.query - spec.source[pair.source].first - pair.key - (LH_TILE - 1);
    const auto entry_of = [&](int x) { return lh_position_entry(spec, nearest + x); };
    lh_stage_tokens<width, 2 * LH_TILE, threads>(entries, 0, head, spec.head_width, entry_of,
                                                 vectors);
}

/* Of a pair's vectors, those for 16 queries from `query` on and 16 keys from `key` on. */
template <int width, typename operand>
__device__ static inline const operand *lh_band_of(const operand *vectors, int query, int key) {
    return vectors + (query - key + LH_TILE - LH_STEP) * lh_tile_shape<width, operand>::pitch;
}

/* sums = q . r of 16 queries and 16 keys, whichever are the rows. The products of all queries with
 * all vectors of the band go by way of `memory`, the warp's own; each sum is read off its diagonal.
 */
template <int width, bool rows_are_keys, typename operand>
__device__ static inline void lh_multiply_positions(const operand *queries, const operand *band,
                                                    float *memory, lh_sums &sums) {
    const int lane = lh_lane();
    lh_sums products[1][2];
    lh_clear_sums(products[0]);
    lh_multiply_rows<width>(queries, band, products);
    __syncwarp();
    LH_UNROLL
    for (int half = 0; half < 2; ++half)
        lh_write_sums(products[0][half], LH_BAND_PITCH, memory + half * LH_STEP);
    __syncwarp();
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n) {
        const int row = lh_row_at(lane, n), column = lh_column_at(lane, n);
        const int query = rows_are_keys ? column : row, key = rows_are_keys ? row : column;
        lh_part(sums, n) = memory[query * LH_BAND_PITCH + query - key + LH_STEP - 1];
    }
    __syncwarp();
}

#endif
