/* Learned vectors by distance on the key side. Distances of a segment's keys run without a gap, so
 * one product of the tile's queries with the vectors of all of them holds every q . r; a score's
 * part lies on its diagonal. */
#include <string.h>

#include "kernels/cpu/attention_inside.h"

/* The distances of a segment: nearest + x for x in [0, count). Key `key` of `keys` and lane l stand
 * at x = keys - 1 - key + l. */
typedef struct reach {
    int64_t nearest, count, keys;
} reach;

static reach reach_of(const lh_attention_tile *tile, const lh_attention_segment *segment) {
    const int64_t keys = segment->end - segment->begin;
    const reach r = {lh_attention_distance(tile, segment->source, segment->end - 1),
                     keys + lh_attention_lanes(tile) - 1, keys};
    return r;
}

static int64_t entry_of(const lh_attention_spec *spec, int64_t distance) {
    return lh_max(0, lh_min(distance - spec->position_first, spec->position_count - 1));
}

/* The vectors of a reach, [count][head_width]: a part of the table, or a copy in `memory` where the
 * reach goes past the table's ends. */
static lh_rows vectors_of(const lh_attention_tile *tile, const reach *r, real *memory) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t width = spec->head_width, head = spec->position_heads > 1 ? tile->head : 0;
    const real *table = spec->positions + head * spec->position_count * width;
    const int64_t first = r->nearest - spec->position_first;
    lh_rows rows = {(real *)table + first * width, width};
    if (first >= 0 && first + r->count <= spec->position_count) return rows;
    for (int64_t x = 0; x < r->count; ++x)
        memcpy(memory + x * width, table + entry_of(spec, r->nearest + x) * width,
               (size_t)width * sizeof *memory);
    rows.data = memory;
    return rows;
}

/* Parts of the scratch memory: products by distance [count][lanes], then vectors. */
static real *vectors_in(real *memory) {
    return memory + LH_ATTENTION_DISTANCES * LH_ATTENTION_ROWS;
}

LH_SPECIALIZED void add_diagonals(int64_t lanes, int64_t keys, const real *product, real *score) {
    for (int64_t key = 0; key < keys; ++key) {
        const real *diagonal = product + (keys - 1 - key) * lanes;
        real *s = score + key * lanes;
#pragma omp simd
        for (int l = 0; l < (int)lanes; ++l)
            s[l] += diagonal[l * ((int)lanes + 1)];
    }
}

void lh_cpu_attention_add_positions(const lh_attention_tile *tile,
                                    const lh_attention_segment *segment, real alpha,
                                    const real *q_transposed, real *memory, real *scores) {
    const reach r = reach_of(tile, segment);
    const int64_t lanes = lh_attention_lanes(tile);
    const lh_rows vectors = vectors_of(tile, &r, vectors_in(memory));
    const lh_rows product = {memory, lanes};
    const lh_attention_operand q = {q_transposed, lanes, LH_REAL};
    lh_cpu_attention_multiply(tile->rounding, false, false, r.count, lanes, tile->spec->head_width,
                              alpha, lh_attention_reals(vectors), q, LH_SET, product);
    real *score = scores + segment->row * lanes;
    if (lanes == LH_ATTENTION_ROWS)
        add_diagonals(LH_ATTENTION_ROWS, r.keys, memory, score);
    else
        add_diagonals(lanes, r.keys, memory, score);
}

/* product [count][lanes] from the gradients [keys][lanes] on its diagonals, zeros beside them. */
LH_SPECIALIZED void spread_diagonals(int64_t lanes, int64_t keys, const real *gradient,
                                     real *product) {
    memset(product, 0, (size_t)((keys + lanes - 1) * lanes) * sizeof *product);
    for (int64_t key = 0; key < keys; ++key) {
        real *diagonal = product + (keys - 1 - key) * lanes;
        const real *g = gradient + key * lanes;
#pragma omp simd
        for (int l = 0; l < (int)lanes; ++l)
            diagonal[l * ((int)lanes + 1)] = g[l];
    }
}

void lh_cpu_attention_position_gradients(const lh_attention_tile *tile,
                                         const lh_attention_segment *segment, const real *gradients,
                                         real alpha, lh_rows q, real *memory, lh_rows dq,
                                         real *sums) {
    const reach r = reach_of(tile, segment);
    const int64_t lanes = lh_attention_lanes(tile), rows = tile->rows.end - tile->rows.begin;
    const int64_t width = tile->spec->head_width;
    const real *gradient = gradients + segment->row * lanes;
    if (lanes == LH_ATTENTION_ROWS)
        spread_diagonals(LH_ATTENTION_ROWS, r.keys, gradient, memory);
    else
        spread_diagonals(lanes, r.keys, gradient, memory);
    const lh_rows product = {memory, lanes};
    const lh_rows vectors = vectors_of(tile, &r, vectors_in(memory));
    lh_cpu_attention_multiply(tile->rounding, true, false, rows, width, r.count, 1,
                              lh_attention_reals(product), lh_attention_reals(vectors), LH_ADD, dq);
    if (sums == NULL) return;
    /* Distances that no query sees have no sum; their products are zeros. */
    const int64_t start = r.nearest - tile->table->nearest;
    const int64_t begin = lh_max(0, -start), end = lh_min(r.count, tile->table->span - start);
    const lh_rows from = {memory + begin * lanes, lanes};
    const lh_rows to = {sums + (start + begin) * width, width};
    if (begin < end)
        lh_cpu_attention_multiply(tile->rounding, false, false, end - begin, width, rows, alpha,
                                  lh_attention_reals(from), lh_attention_reals(q), LH_ADD, to);
}

lh_range lh_cpu_attention_position_distances(const lh_attention_spec *spec,
                                             const lh_attention_table *table, int64_t entry) {
    lh_range x = {0, 0};
    if (table->span == 0) return x;
    x.begin = entry + spec->position_first - table->nearest;
    x.end = x.begin + 1;
    if (entry == 0) x.begin = 0;
    if (entry == spec->position_count - 1) x.end = table->span;
    x.begin = lh_max(0, lh_min(x.begin, table->span));
    x.end = lh_max(x.begin, lh_min(x.end, table->span));
    return x;
}
