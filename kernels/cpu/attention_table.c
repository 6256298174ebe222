/* What depends on the distance alone: the bias and the periodic dropout mask; and the masks of
 * dropout without a period, which are drawn query by query. */
#include <string.h>

#include "kernels/cpu/attention_inside.h"

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

/* Words of one group of 64 queries, and groups. */
static int64_t keep_row(const lh_attention_spec *spec, int64_t span) {
    return spec->dropout_period + span;
}

static int64_t keep_groups(const lh_attention_spec *spec) {
    const bool periodic = spec->dropout > 0 && spec->dropout_period > 0;
    return periodic ? lh_chunk_count(spec->dropout_period, LH_ATTENTION_ROWS) : 0;
}

static size_t bias_bytes(const lh_attention_spec *spec, int64_t span) {
    return spec->bias ? lh_attention_align((size_t)(spec->heads * lh_attention_bias_row(span)) *
                                           sizeof(real))
                      : 0;
}

int64_t lh_cpu_attention_table_span(const lh_attention_spec *spec) {
    lh_attention_table table;
    measure_distances(spec, &table);
    return table.span;
}

size_t lh_cpu_attention_table_bytes(const lh_attention_spec *spec) {
    const int64_t span = lh_cpu_attention_table_span(spec);
    const int64_t words = spec->heads * keep_groups(spec) * keep_row(spec, span);
    return bias_bytes(spec, span) + lh_attention_align((size_t)words * sizeof(uint64_t));
}

static void fill_bias(const lh_attention_spec *spec, int64_t head, const lh_attention_table *t) {
    const real scale = lh_attention_head_scale(spec, head);
    const real *bias = spec->bias + head * spec->buckets;
    real *row = t->bias + head * lh_attention_bias_row(t->span);
    for (int64_t x = 0; x < LH_ATTENTION_ROWS; ++x)
        row[x] = row[LH_ATTENTION_ROWS + t->span + x] = 0;
    for (int64_t x = 0; x < t->span; ++x) {
        const int64_t entry = t->nearest + x - spec->bucket_first;
        row[LH_ATTENTION_ROWS + x] =
            scale * bias[spec->bucket_of[lh_max(0, lh_min(entry, spec->bucket_span - 1))]];
    }
}

/* The words of one group of queries of one head. A query's slots rise with the distance, so its
 * keys fall. */
static void fill_keep(const lh_attention_spec *spec, int64_t head, int64_t group,
                      const lh_attention_table *t) {
    enum { STRETCH = 1024 };
    uint8_t bytes[STRETCH];
    const uint64_t period = (uint64_t)spec->dropout_period;
    const uint32_t threshold = lh_dropout_threshold(spec->dropout);
    const lh_range queries = lh_chunk(spec->dropout_period, LH_ATTENTION_ROWS, group);
    uint64_t *word = t->keep + (head * keep_groups(spec) + group) * keep_row(spec, t->span);
    memset(word, 0, (size_t)keep_row(spec, t->span) * sizeof *word);
    for (int64_t i = queries.begin; i < queries.end; ++i) {
        const int bit = (int)(i - queries.begin);
        const uint64_t row = (uint64_t)(head * spec->dropout_period + i);
        for (int64_t x = 0; x < t->span; x += STRETCH) {
            const int64_t count = lh_min(STRETCH, t->span - x);
            const uint64_t slot = (uint64_t)(t->nearest + x) + period;
            uint64_t *last = word + i - (t->nearest + x) + t->farthest;
            draw_keep(*spec->key, row * 3 * period + slot, count, threshold, bytes);
            for (int64_t n = 0; n < count; ++n)
                last[-n] |= (uint64_t)bytes[n] << bit;
        }
    }
}

void lh_cpu_attention_table_make(const lh_attention_spec *spec, void *memory,
                                 lh_attention_table *table) {
    measure_distances(spec, table);
    const int64_t groups = keep_groups(spec);
    uint8_t *keep = (uint8_t *)memory + bias_bytes(spec, table->span);
    table->bias = spec->bias ? memory : NULL;
    table->keep = groups > 0 ? (uint64_t *)(void *)keep : NULL;
    for (int64_t h = 0; table->bias && h < spec->heads; ++h)
        fill_bias(spec, h, table);
    if (groups == 0) return;
#pragma omp parallel for schedule(static) if (groups * table->span > LH_CHUNK / 64)
    for (int64_t n = 0; n < spec->heads * groups; ++n)
        fill_keep(spec, n / groups, n % groups, table);
}

static bool is_dropped(const lh_attention_spec *spec, int source) {
    return spec->dropout > 0 && !(spec->dropout_period > 0 && spec->source[source].everywhere);
}

real lh_cpu_attention_keep_scale(const lh_attention_spec *spec, int source) {
    return is_dropped(spec, source) ? (real)(1 / (1 - spec->dropout)) : LH_R(1);
}

/* Reads the table: the tile's queries may lie in several groups, and in several blocks. */
static void look_up(const lh_attention_tile *tile, const lh_attention_segment *segment,
                    uint64_t *keep) {
    const lh_attention_spec *spec = tile->spec;
    const lh_attention_table *t = tile->table;
    const int64_t row = keep_row(spec, t->span);
    int64_t next;
    for (int64_t i = tile->rows.begin; i < tile->rows.end; i = next) {
        const int64_t local = i % spec->dropout_period, group = local / LH_ATTENTION_ROWS;
        const int64_t end = lh_min(spec->dropout_period, (group + 1) * LH_ATTENTION_ROWS) - local;
        next = i + end;
        const uint64_t *word = t->keep + (tile->head * keep_groups(spec) + group) * row;
        const int64_t start = spec->source[segment->source].first - (i - local) + t->farthest;
        const int from = (int)(local % LH_ATTENTION_ROWS), to = (int)(i - tile->rows.begin);
        const int64_t low = lh_max(segment->begin, -start);
        const int64_t high = lh_min(segment->end, row - start);
        for (int64_t key = low; key < high; ++key)
            keep[key - segment->begin] |= word[start + key] >> from << to;
    }
}

/* Draws the mask of each query for the keys that it sees. */
static void draw(const lh_attention_tile *tile, const lh_attention_segment *segment,
                 uint64_t *keep) {
    const lh_attention_spec *spec = tile->spec;
    uint8_t bytes[LH_ATTENTION_KEYS];
    int64_t before = 0, keys = 0;
    for (int s = 0; s < spec->source_count; ++s) {
        before += s < segment->source ? spec->source[s].count : 0;
        keys += spec->source[s].count;
    }
    for (int64_t i = tile->rows.begin; i < tile->rows.end; ++i) {
        const lh_range sees = lh_cpu_attention_visible(spec, segment->source, i);
        const int64_t begin = lh_max(sees.begin, segment->begin);
        const int64_t count = lh_min(sees.end, segment->end) - begin;
        const int64_t row =
            ((tile->batch + spec->first_batch) * spec->heads + tile->head) * spec->queries + i;
        const int bit = (int)(i - tile->rows.begin);
        draw_keep(*spec->key, (uint64_t)(row * keys + before + begin), count,
                  lh_dropout_threshold(spec->dropout), bytes);
        for (int64_t n = 0; n < count; ++n)
            keep[begin - segment->begin + n] |= (uint64_t)bytes[n] << bit;
    }
}

void lh_cpu_attention_keep(const lh_attention_tile *tile, const lh_attention_panel *panel,
                           uint64_t *keep) {
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const bool dropped = is_dropped(tile->spec, segment->source);
        for (int64_t key = 0; key < segment->end - segment->begin; ++key)
            keep[segment->row + key] = dropped ? 0 : UINT64_MAX;
        if (dropped && tile->table->keep)
            look_up(tile, segment, keep + segment->row);
        else if (dropped)
            draw(tile, segment, keep + segment->row);
    }
}
