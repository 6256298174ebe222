/* What both passes of LSH attention share. A tile is a run of queries in sorted order; the keys
 * that they see are in a run of slots, so the scores lie as in attention.h, [keys][lanes], and each
 * key is seen by one run of lanes, or of any bucket by some of one run. */
#ifndef LH_KERNELS_CPU_LSH_TILE_H
#define LH_KERNELS_CPU_LSH_TILE_H

#include "kernels/cpu/attention_lane.h"

typedef struct lh_lsh_tile {
    const lh_lsh_attention_spec *spec;
    int64_t batch, head, round;
    lh_range slots, keys;  /* of the queries; of what they see */
    const int32_t *order;  /* of the round */
    int32_t *seen;         /* [rounds][first, end][LH_ATTENTION_ROWS]: slots, of the queries */
    const real *logarithm; /* [rounds + 1]: of 0 (as 1), 1, 2 ... */
} lh_lsh_tile;

static inline int64_t lh_lsh_rows(const lh_lsh_tile *tile) {
    return tile->slots.end - tile->slots.begin;
}

static inline int64_t lh_lsh_lanes(const lh_lsh_tile *tile) {
    return lh_chunk_count(lh_lsh_rows(tile), LH_ATTENTION_VECTOR) * LH_ATTENTION_VECTOR;
}

static inline int64_t lh_lsh_tiles(const lh_lsh_attention_spec *spec) {
    return lh_chunk_count(spec->length, LH_ATTENTION_ROWS);
}

/* Slots beside its own that a tile can see at most: before them, and of any bucket behind them. */
static inline int64_t lh_lsh_reach(const lh_lsh_attention_spec *spec) {
    return (spec->any_bucket ? 3 : 2) * lh_min(spec->chunk, spec->length);
}

/* Keys that a tile can see at most. */
static inline int64_t lh_lsh_most_keys(const lh_lsh_attention_spec *spec) {
    return lh_min(spec->length, lh_lsh_reach(spec) + LH_ATTENTION_ROWS);
}

/* Elements of `memory` that a tile works in. */
static inline int64_t lh_lsh_tile_elements(const lh_lsh_attention_spec *spec) {
    const int64_t integers = 2 * spec->rounds * LH_ATTENTION_ROWS;
    return integers + lh_chunk_count(spec->rounds + 1, LH_ATTENTION_VECTOR) * LH_ATTENTION_VECTOR;
}

/* Tile `index` of `spec` in a round; pairs of batch row and head follow one another. */
lh_lsh_tile lh_cpu_lsh_tile(const lh_lsh_attention_spec *spec, int64_t round, int64_t index,
                            real *memory);

/* y [slots][head_width] = x of the tokens in these slots. */
void lh_cpu_lsh_gather(const lh_lsh_tile *tile, lh_range slots, lh_heads x, real *y);
/* The same for the queries, with rows of zeros up to the number of lanes. */
void lh_cpu_lsh_gather_queries(const lh_lsh_tile *tile, lh_heads x, real *y);
/* y of the tokens in these slots += x [slots][head_width]; nothing when y has no data. */
void lh_cpu_lsh_scatter(const lh_lsh_tile *tile, lh_range slots, const real *x, lh_heads y);

/* Asks the second-level cache for row n of the tile that follows in sorted order: such rows lie
 * anywhere, so nothing but the order foretells them. Must be inlined: gcc takes a function that
 * only prefetches for one without effect. */
LH_SPECIALIZED void lh_lsh_prefetch(const lh_lsh_tile *tile, int64_t n, lh_heads x) {
    const int64_t slot = tile->slots.end + n, line = 64;
    if (n >= LH_ATTENTION_ROWS || slot >= tile->spec->length) return;
    const uint8_t *row =
        lh_attention_operand_of(x, tile->batch, tile->head, tile->order[slot]).data;
    const int64_t bytes = tile->spec->head_width * lh_size_of(x.act.dtype);
    for (int64_t byte = 0; byte < bytes; byte += line)
        __builtin_prefetch(row + byte, 0, 2);
}

/* - log N of a key for each lane, zeros when there is one round; of any bucket -infinity for a lane
 * whose token is not behind the key's, else 0. `memory` has a lane each. */
const real *lh_cpu_lsh_bias(const lh_lsh_tile *tile, int64_t key, real *memory);

/* The lanes that see a key: those behind it, or of any bucket from its chunk on. `end` begins at 0
 * and serves the keys in order. */
static inline lh_range lh_lsh_seen(const lh_lsh_tile *tile, int64_t key, int64_t *end) {
    const int32_t *first = tile->seen + 2 * tile->round * LH_ATTENTION_ROWS;
    const int64_t chunk = tile->spec->chunk;
    const int64_t from = tile->spec->any_bucket ? key / chunk * chunk : key + 1;
    while (*end < lh_lsh_rows(tile) && first[*end] <= key)
        ++*end;
    const lh_range lanes = {lh_min(*end, lh_max(0, from - tile->slots.begin)), *end};
    return lanes;
}

#endif
