/* What depends on the distance alone: the bias and the periodic dropout mask; and the masks of
 * dropout without a period, which are drawn row by row. */
#include <string.h>

#include "kernels/cpu/attention.h"

/* Blocks of four random words drawn side by side, to fill the vector registers. */
enum { BLOCKS = 16, WORDS = 4 * BLOCKS };

static void draw_words(lh_random_key key, uint64_t first_block, uint32_t words[WORDS]) {
    const uint64_t mixed = key.seed ^ ((uint64_t)key.stream * 0x9E3779B97F4A7C15u);
    uint32_t k0 = (uint32_t)mixed, k1 = (uint32_t)(mixed >> 32);
    uint32_t c0[BLOCKS], c1[BLOCKS], c2[BLOCKS], c3[BLOCKS];
    for (int n = 0; n < BLOCKS; ++n) {
        const uint64_t block = first_block + (uint64_t)n;
        c0[n] = (uint32_t)block;
        c1[n] = (uint32_t)(block >> 32) ^ (uint32_t)(key.step >> 32);
        c2[n] = (uint32_t)key.step;
        c3[n] = key.op;
    }
    for (int round = 0; round < 10; ++round) {
        for (int n = 0; n < BLOCKS; ++n) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[n];
            const uint64_t p1 = (uint64_t)0xCD9E8D57u * c2[n];
            c0[n] = (uint32_t)(p1 >> 32) ^ c1[n] ^ k0;
            c2[n] = (uint32_t)(p0 >> 32) ^ c3[n] ^ k1;
            c1[n] = (uint32_t)p1;
            c3[n] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int n = 0; n < BLOCKS; ++n) {
        words[4 * n] = c0[n];
        words[4 * n + 1] = c1[n];
        words[4 * n + 2] = c2[n];
        words[4 * n + 3] = c3[n];
    }
}

/* keep[x] = 1 where word first + x reaches the threshold, x < count. */
static void draw_keep(lh_random_key key, uint64_t first, int64_t count, uint32_t threshold,
                      uint8_t *keep) {
    uint32_t words[WORDS];
    uint8_t bytes[WORDS];
    int64_t skip = (int64_t)(first & 3u), done = 0;
    for (uint64_t block = first >> 2; done < count; block += BLOCKS) {
        draw_words(key, block, words);
        for (int n = 0; n < WORDS; ++n)
            bytes[n] = words[n] >= threshold;
        const int64_t taken = lh_min(WORDS - skip, count - done);
        memcpy(keep + done, bytes + skip, (size_t)taken);
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
    const int64_t period = spec->dropout_period;
    const uint64_t first = (uint64_t)(head_row * 3 * period + t->nearest + period);
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

const uint8_t *LH_CPU(attention_keep)(const lh_attention_tile *tile,
                                      const lh_attention_segment *segment, int64_t i,
                                      lh_range columns, uint8_t *buffer) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t key = segment->begin + columns.begin - segment->column;
    if (!(spec->dropout > 0)) return NULL;
    if (tile->table->keep) {
        if (spec->source[segment->source].everywhere) return NULL;
        const int64_t row = tile->head * spec->dropout_period + i % spec->dropout_period;
        return tile->table->keep + row * tile->table->span +
               lh_attention_offset(tile, segment->source, i) + key;
    }
    int64_t slot = key, keys = 0;
    for (int s = 0; s < spec->source_count; ++s) {
        slot += s < segment->source ? spec->source[s].count : 0;
        keys += spec->source[s].count;
    }
    const int64_t row = (tile->batch * spec->heads + tile->head) * spec->queries + i;
    draw_keep(*spec->key, (uint64_t)(row * keys + slot), columns.end - columns.begin,
              lh_dropout_threshold(spec->dropout), buffer);
    return buffer;
}
