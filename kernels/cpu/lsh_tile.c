/* What a tile of sorted tokens sees, and the moving of rows between tokens and slots. */
#include "kernels/cpu/lsh_tile.h"

#include <string.h>

/* The slots in which a token sees others; `at` is its place in them. */
static lh_range seen_slots(const lh_lsh_attention_spec *spec, int64_t at) {
    if (!spec->any_bucket) return (lh_range){spec->first[at], spec->slot[at]};
    const int64_t chunk = lh_min(spec->chunk, spec->length), own = spec->slot[at] / chunk * chunk;
    return (lh_range){lh_max(0, own - chunk), lh_min(spec->length, own + chunk)};
}

/* What each query sees in each round, for the counts N. */
static void find_queries(const lh_lsh_tile *tile, int64_t pair) {
    const lh_lsh_attention_spec *spec = tile->spec;
    const int64_t rows = lh_lsh_rows(tile);
    for (int64_t round = 0; round < spec->rounds; ++round) {
        const int64_t at = (pair * spec->rounds + round) * spec->length;
        int32_t *first = tile->seen + 2 * round * LH_ATTENTION_ROWS;
        int32_t *end = first + LH_ATTENTION_ROWS;
        memset(first, 0, 2 * LH_ATTENTION_ROWS * sizeof *first);
        for (int64_t row = 0; row < rows; ++row) {
            const lh_range seen = seen_slots(spec, at + tile->order[tile->slots.begin + row]);
            first[row] = (int32_t)seen.begin;
            end[row] = (int32_t)seen.end;
        }
    }
}

lh_lsh_tile lh_cpu_lsh_tile(const lh_lsh_attention_spec *spec, int64_t round, int64_t index,
                            real *memory) {
    const int64_t tiles = lh_lsh_tiles(spec), pair = index / tiles;
    real *logarithm = memory + 2 * spec->rounds * LH_ATTENTION_ROWS;
    lh_lsh_tile tile = {.spec = spec,
                        .batch = pair / spec->heads,
                        .head = pair % spec->heads,
                        .round = round,
                        .slots = lh_chunk(spec->length, LH_ATTENTION_ROWS, index % tiles),
                        .order = spec->order + (pair * spec->rounds + round) * spec->length,
                        .seen = (int32_t *)(void *)memory,
                        .logarithm = logarithm};
    for (int64_t n = 0; n <= spec->rounds; ++n)
        logarithm[n] = (real)log((double)lh_max(n, 1));
    find_queries(&tile, pair);
    const int32_t *first = tile.seen + 2 * round * LH_ATTENTION_ROWS;
    tile.keys.begin = first[0];
    tile.keys.end = lh_max(first[0], first[LH_ATTENTION_ROWS + lh_lsh_rows(&tile) - 1]);
    return tile;
}

/* A row is a few cache lines: a call of memcpy for each would take as long as the copying. */
static inline void copy_row(real *y, const real *x, int64_t width) {
    int64_t d = 0;
    for (; d + LH_ATTENTION_VECTOR <= width; d += LH_ATTENTION_VECTOR)
        memcpy(y + d, x + d, LH_ATTENTION_VECTOR * sizeof *y);
    for (; d < width; ++d)
        y[d] = x[d];
}

void lh_cpu_lsh_gather(const lh_lsh_tile *tile, lh_range slots, lh_heads x, real *y) {
    const int64_t width = tile->spec->head_width;
    for (int64_t s = slots.begin; s < slots.end; ++s, y += width) {
        const void *row = lh_attention_operand_of(x, tile->batch, tile->head, tile->order[s]).data;
        if (x.act.dtype == LH_BF16)
            lh_bf16_widen_run(width, row, y);
        else
            copy_row(y, row, width);
    }
}

void lh_cpu_lsh_gather_queries(const lh_lsh_tile *tile, lh_heads x, real *y) {
    const int64_t width = tile->spec->head_width, rows = lh_lsh_rows(tile);
    lh_cpu_lsh_gather(tile, tile->slots, x, y);
    memset(y + rows * width, 0, (size_t)((lh_lsh_lanes(tile) - rows) * width) * sizeof *y);
}

void lh_cpu_lsh_scatter(const lh_lsh_tile *tile, lh_range slots, const real *x, lh_heads y) {
    if (!y.act.data) return;
    const int64_t width = tile->spec->head_width;
    const lh_rows rows = lh_head_rows(y, tile->batch, tile->head, 0);
    for (int64_t s = slots.begin; s < slots.end; ++s, x += width) {
        real *row = rows.data + tile->order[s] * rows.stride;
        for (int64_t d = 0; d < width; ++d)
            row[d] += x[d];
    }
}

/* Nothing for the lanes whose tokens are behind the key's. */
static const real *order_bias(const lh_lsh_tile *tile, int64_t key, real *memory) {
    const int32_t *token = tile->order + tile->slots.begin, own = tile->order[key];
    memset(memory, 0, LH_ATTENTION_ROWS * sizeof *memory);
    for (int64_t l = 0; l < lh_lsh_rows(tile); ++l)
        memory[l] = token[l] > own ? 0 : -LH_R(INFINITY);
    return memory;
}

const real *lh_cpu_lsh_bias(const lh_lsh_tile *tile, int64_t key, real *memory) {
    static const real none[LH_ATTENTION_ROWS];
    const lh_lsh_attention_spec *spec = tile->spec;
    if (spec->any_bucket) return order_bias(tile, key, memory);
    if (spec->rounds == 1) return none;
    const int64_t pair = tile->batch * spec->heads + tile->head;
    const int32_t *slot_of_key = spec->slot + pair * spec->rounds * spec->length + tile->order[key];
    int32_t count[LH_ATTENTION_ROWS] = {0};
    for (int64_t round = 0; round < spec->rounds; ++round) {
        const int32_t at = slot_of_key[round * spec->length];
        const int32_t *first = tile->seen + 2 * round * LH_ATTENTION_ROWS;
        const int32_t *end = first + LH_ATTENTION_ROWS;
#pragma omp simd
        for (int l = 0; l < LH_ATTENTION_ROWS; ++l)
            count[l] += (first[l] <= at) & (at < end[l]);
    }
    for (int l = 0; l < LH_ATTENTION_ROWS; ++l)
        memory[l] = -tile->logarithm[count[l]];
    return memory;
}
