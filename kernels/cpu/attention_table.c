/* What depends on the distance alone: the bias and the periodic dropout mask; and the masks of
 * dropout without a period, which are drawn row by row. */
#include <string.h>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_row.h"

/* Blocks of four random words drawn side by side, to fill the vector registers. */
enum { BLOCKS = 16, WORDS = 4 * BLOCKS };

/* Four bytes per block, the first word's lowest: 1 where a word reaches the threshold. */
static void draw_blocks(lh_random_key key, uint64_t first_block, uint32_t threshold,
                        uint32_t bytes[BLOCKS]) {
    const uint64_t mixed = key.seed ^ ((uint64_t)key.stream * 0x9E3779B97F4A7C15u);
#pragma omp simd
    for (int n = 0; n < BLOCKS; ++n) {
        const uint64_t block = first_block + (uint64_t)n;
        uint32_t k0 = (uint32_t)mixed, k1 = (uint32_t)(mixed >> 32);
        uint32_t c0 = (uint32_t)block, c2 = (uint32_t)key.step, c3 = key.op;
        uint32_t c1 = (uint32_t)(block >> 32) ^ (uint32_t)(key.step >> 32);
        for (int round = 0; round < 10; ++round) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
            c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
            c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c1 = (uint32_t)p1;
            c3 = (uint32_t)p0;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        bytes[n] = (uint32_t)(c0 >= threshold) | (uint32_t)(c1 >= threshold) << 8 |
                   (uint32_t)(c2 >= threshold) << 16 | (uint32_t)(c3 >= threshold) << 24;
    }
}

/* keep[x] = 1 where word first + x reaches the threshold, x < count. Little-endian. */
static void draw_keep(lh_random_key key, uint64_t first, int64_t count, uint32_t threshold,
                      uint8_t *keep) {
    uint32_t bytes[BLOCKS];
    int64_t skip = (int64_t)(first & 3u), done = 0;
    for (uint64_t block = first >> 2; done < count; block += BLOCKS) {
        const int64_t taken = lh_min(WORDS - skip, count - done);
        draw_blocks(key, block, threshold, bytes);
        memcpy(keep + done, (const uint8_t *)bytes + skip, (size_t)taken);
        done += taken;
        skip = 0;
    }
}

/* The distances between the queries and the keys that have positions, as far as any may be seen. */
static void measure_distances(const lh_attention_spec *spec, lh_attention_table *table) {
    int64_t nearest = INT64_MAX, farthest = INT64_MIN;
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *keys = &spec->source[s];
        if (keys->everywhere || keys->count == 0) continue;
        nearest = lh_min(nearest, -(keys->first + keys->count - 1));
        farthest = lh_max(farthest, spec->queries - 1 - keys->first);
    }
    table->nearest = lh_max(nearest, spec->min_distance);
    table->farthest = lh_min(farthest, spec->max_distance);
    table->span = table->nearest > table->farthest ? 0 : table->farthest - table->nearest + 1;
}

static size_t bias_bytes(const lh_attention_spec *spec, int64_t span) {
    return spec->bias ? lh_attention_align((size_t)(spec->heads * span) * sizeof(real)) : 0;
}

static bool has_keep_table(const lh_attention_spec *spec) {
    return spec->dropout > 0 && spec->dropout_period > 0;
}

int64_t LH_CPU(attention_table_span)(const lh_attention_spec *spec) {
    lh_attention_table table;
    measure_distances(spec, &table);
    return table.span;
}

size_t LH_CPU(attention_table_bytes)(const lh_attention_spec *spec) {
    lh_attention_table table;
    measure_distances(spec, &table);
    const int64_t rows = spec->heads * spec->dropout_period;
    const size_t keep = has_keep_table(spec) ? lh_attention_align((size_t)(rows * table.span)) : 0;
    return bias_bytes(spec, table.span) + keep;
}

static void fill_bias(const lh_attention_spec *spec, int64_t head, const lh_attention_table *t) {
    const real scale = lh_attention_head_scale(spec, head);
    const real *bias = spec->bias + head * spec->buckets;
    real *row = t->bias + head * t->span;
    for (int64_t x = 0; x < t->span; ++x) {
        const int64_t entry = t->farthest - x - spec->bucket_first;
        row[x] = scale * bias[spec->bucket_of[lh_max(0, lh_min(entry, spec->bucket_span - 1))]];
    }
}

/* The slot of distance d is d + period, so slots fall where entries of the table rise. */
static void fill_keep(const lh_attention_spec *spec, int64_t head_row,
                      const lh_attention_table *t) {
    const uint64_t period = (uint64_t)spec->dropout_period;
    const uint64_t first = (uint64_t)head_row * 3 * period + (uint64_t)t->nearest + period;
    uint8_t *row = t->keep + head_row * t->span;
    draw_keep(*spec->key, first, t->span, lh_dropout_threshold(spec->dropout), row);
    for (int64_t a = 0, b = t->span - 1; a < b; ++a, --b) {
        const uint8_t byte = row[a];
        row[a] = row[b];
        row[b] = byte;
    }
}

void LH_CPU(attention_table_make)(const lh_attention_spec *spec, void *memory,
                                  lh_attention_table *table) {
    measure_distances(spec, table);
    uint8_t *keep = (uint8_t *)memory + bias_bytes(spec, table->span);
    table->bias = spec->bias ? memory : NULL;
    table->keep = has_keep_table(spec) ? keep : NULL;
    for (int64_t h = 0; table->bias && h < spec->heads; ++h)
        fill_bias(spec, h, table);
    const int64_t rows = table->keep ? spec->heads * spec->dropout_period : 0;
#pragma omp parallel for schedule(static) if (rows * table->span > LH_CHUNK)
    for (int64_t row = 0; row < rows; ++row)
        fill_keep(spec, row, table);
}

void LH_CPU(attention_mask_row)(const lh_attention_tile *tile, const lh_attention_panel *panel,
                                int64_t i, real *score) {
    const lh_attention_table *table = tile->table;
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const int64_t end = segment->column + segment->end - segment->begin;
        const lh_range columns = lh_attention_columns(
            segment, LH_CPU(attention_visible)(tile->spec, segment->source, i));
        lh_row_fill(score, segment->column, columns.begin, -LH_R(INFINITY));
        lh_row_fill(score, columns.end, end, -LH_R(INFINITY));
        if (table->bias && !tile->spec->source[segment->source].everywhere)
            lh_row_add(score + columns.begin,
                       table->bias + tile->head * table->span +
                           lh_attention_entry(tile, segment, i, columns.begin),
                       columns.end - columns.begin);
    }
    lh_row_fill(score, panel->columns, lh_row_padded(panel->columns), -LH_R(INFINITY));
}

/* What dropout keeps of the visible `columns` of query i: one byte each, from the table or drawn
 * into `buffer`; NULL when nothing is dropped. */
static const uint8_t *find_keep(const lh_attention_tile *tile, const lh_attention_segment *segment,
                                int64_t i, lh_range columns, uint8_t *buffer) {
    const lh_attention_spec *spec = tile->spec;
    if (tile->table->keep) {
        if (spec->source[segment->source].everywhere) return NULL;
        const int64_t row = tile->head * spec->dropout_period + i % spec->dropout_period;
        return tile->table->keep + row * tile->table->span +
               lh_attention_entry(tile, segment, i, columns.begin);
    }
    int64_t slot = segment->begin + columns.begin - segment->column, keys = 0;
    for (int s = 0; s < spec->source_count; ++s) {
        slot += s < segment->source ? spec->source[s].count : 0;
        keys += spec->source[s].count;
    }
    const int64_t row = (tile->batch * spec->heads + tile->head) * spec->queries + i;
    draw_keep(*spec->key, (uint64_t)(row * keys + slot), columns.end - columns.begin,
              lh_dropout_threshold(spec->dropout), buffer);
    return buffer;
}

void LH_CPU(attention_drop_row)(const lh_attention_tile *tile, const lh_attention_panel *panel,
                                int64_t i, uint8_t *keep, real *x) {
    const real scale = (real)(1 / (1 - tile->spec->dropout));
    for (int n = 0; tile->spec->dropout > 0 && n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const lh_range columns = lh_attention_columns(
            segment, LH_CPU(attention_visible)(tile->spec, segment->source, i));
        const uint8_t *kept = find_keep(tile, segment, i, columns, keep);
        if (kept) lh_row_drop(x + columns.begin, kept, columns.end - columns.begin, scale);
    }
}
