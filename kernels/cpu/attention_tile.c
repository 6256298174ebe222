/* Which keys a tile of queries sees, and the products over a tile. */
#include "kernels/cpu/attention_inside.h"

lh_range lh_cpu_attention_visible(const lh_attention_spec *spec, int source, int64_t i) {
    const lh_key_source *keys = &spec->source[source];
    lh_range range = {0, keys->count};
    if (keys->everywhere) return range;
    int64_t first = i - spec->max_distance;
    if (spec->chunk > 0) first = lh_max(first, (i / spec->chunk - spec->chunks_back) * spec->chunk);
    range.end = lh_max(0, lh_min(range.end, i - spec->min_distance - keys->first + 1));
    range.begin = lh_min(range.end, lh_max(0, first - keys->first));
    return range;
}

lh_range lh_cpu_attention_visible_rows(const lh_attention_spec *spec, int source, lh_range rows) {
    const lh_range low = lh_cpu_attention_visible(spec, source, rows.begin);
    const lh_range high = lh_cpu_attention_visible(spec, source, rows.end - 1);
    const lh_range range = {lh_min(low.begin, high.end), high.end};
    return range;
}

bool lh_cpu_attention_next_panel(const lh_attention_spec *spec, lh_range rows,
                                 lh_attention_cursor *cursor, lh_attention_panel *panel) {
    panel->segments = 0;
    panel->keys = 0;
    while (cursor->source < spec->source_count && panel->keys < LH_ATTENTION_KEYS) {
        const lh_range keys = lh_cpu_attention_visible_rows(spec, cursor->source, rows);
        const int64_t begin = lh_max(keys.begin, cursor->key);
        const int64_t end = lh_min(keys.end, begin + LH_ATTENTION_KEYS - panel->keys);
        if (begin < end) {
            const lh_attention_segment segment = {cursor->source, begin, end, panel->keys};
            panel->segment[panel->segments++] = segment;
            panel->keys += end - begin;
            cursor->key = end;
        }
        if (begin >= end || end == keys.end) {
            cursor->source += 1;
            cursor->key = 0;
        }
    }
    return panel->keys > 0;
}

void lh_cpu_attention_transpose(const lh_attention_tile *tile, lh_rows x, real *y) {
    const int64_t lanes = lh_attention_lanes(tile), rows = tile->rows.end - tile->rows.begin;
    const int64_t width = tile->spec->head_width;
    int64_t row = 0;
    for (; row + 4 <= rows; row += 4) { /* four at a time make stores of a useful size */
        const real *a = x.data + row * x.stride, *b = a + x.stride, *c = b + x.stride;
        const real *e = c + x.stride;
        for (int64_t d = 0; d < width; ++d) {
            real *out = y + d * lanes + row;
            out[0] = a[d];
            out[1] = b[d];
            out[2] = c[d];
            out[3] = e[d];
        }
    }
    for (; row < rows; ++row)
        for (int64_t d = 0; d < width; ++d)
            y[d * lanes + row] = x.data[row * x.stride + d];
    for (int64_t d = 0; rows < lanes && d < width; ++d)
        for (int64_t lane = rows; lane < lanes; ++lane)
            y[d * lanes + lane] = 0;
}

/* Keys per product in f32. OpenBLAS multiplies without packing, and then fastest, while m n k stays
 * under a million; below 64 keys a product is too short to gain by it. */
static int64_t keys_per_product(const lh_attention_tile *tile) {
    if (tile->rounding != NULL) return LH_ATTENTION_KEYS;
    const int64_t area = lh_attention_lanes(tile) * lh_max(1, tile->spec->head_width);
    const int64_t keys = 1000000 / area / LH_ATTENTION_VECTOR * LH_ATTENTION_VECTOR;
    return keys < 64 ? LH_ATTENTION_KEYS : keys;
}

static lh_rows rows_from(lh_rows x, int64_t row) {
    const lh_rows rows = {x.data + row * x.stride, x.stride};
    return rows;
}

static lh_attention_operand operand_from(lh_attention_operand x, int64_t row) {
    const lh_act act = {(void *)(uintptr_t)x.data, x.dtype};
    const lh_attention_operand rows = {lh_at(act, row * x.stride), x.stride, x.dtype};
    return rows;
}

static lh_rows weights_of(const lh_attention_tile *tile, const lh_attention_segment *segment,
                          const real *weight) {
    const int64_t lanes = lh_attention_lanes(tile);
    const lh_rows rows = {(real *)weight + segment->row * lanes, lanes};
    return rows;
}

void lh_cpu_attention_scores(const lh_attention_tile *tile, const lh_attention_panel *panel,
                             bool values, real alpha, const real *q_transposed, real *scores) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t lanes = lh_attention_lanes(tile), step = keys_per_product(tile);
    const lh_attention_operand q = {q_transposed, lanes, LH_REAL};
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const lh_key_source *source = &spec->source[segment->source];
        const int64_t keys = segment->end - segment->begin;
        const lh_attention_operand k = lh_attention_operand_of(
            values ? source->v : source->k, tile->batch, tile->head, segment->begin);
        const lh_rows s = weights_of(tile, segment, scores);
        for (int64_t key = 0; key < keys; key += step)
            lh_cpu_attention_multiply(tile->rounding, false, false, lh_min(step, keys - key), lanes,
                                      spec->head_width, alpha, operand_from(k, key), q, LH_SET,
                                      rows_from(s, key));
    }
}

/* Whether all is finite. Several rows share one sum; x * 0 is 0 for a finite x, else NaN. */
static bool is_finite(lh_rows x, int64_t count, int64_t width) {
    real poison = 0;
    int64_t row = 0;
    for (; row + 4 <= count; row += 4) {
        const real *a = x.data + row * x.stride, *b = a + x.stride, *c = b + x.stride;
        const real *d = c + x.stride;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t n = 0; n < width; ++n)
            sum += ((a[n] + b[n]) + (c[n] + d[n])) * 0;
        poison += sum;
    }
    for (; row < count; ++row)
        for (int64_t n = 0; n < width; ++n)
            poison += x.data[row * x.stride + n] * 0;
    return poison == 0;
}

static bool operand_is_finite(lh_attention_operand x, int64_t count, int64_t width) {
    if (x.dtype == LH_REAL)
        return is_finite((lh_rows){(real *)(uintptr_t)x.data, x.stride}, count, width);
    const unsigned exponent = 0x7f80;
    int special = 0;
    for (int64_t row = 0; row < count; ++row) {
        const lh_bf16 *from = (const lh_bf16 *)x.data + row * x.stride;
#pragma omp simd reduction(| : special)
        for (int64_t n = 0; n < width; ++n)
            special |= (from[n] & exponent) == exponent;
    }
    return special == 0;
}

static void add_scaled(real *y, const real *x, real alpha, int64_t width) {
    for (int64_t d = 0; d < width; ++d)
        y[d] += alpha * x[d];
}

/* Where keys are not finite, one by one: 0 * NaN is NaN, and a masked key must not be felt. */
static void gather_seen(const lh_attention_tile *tile, const lh_attention_segment *segment,
                        lh_rows weight, lh_attention_operand x, lh_rows y) {
    const int64_t width = tile->spec->head_width;
    for (int64_t key = 0; key < segment->end - segment->begin; ++key) {
        const lh_range seen = lh_attention_seen(tile, segment->source, segment->begin + key);
        const lh_attention_operand one = operand_from(x, key);
        for (int64_t row = seen.begin; row < seen.end; ++row)
            for (int64_t d = 0; d < width; ++d)
                y.data[row * y.stride + d] +=
                    weight.data[key * weight.stride + row] * lh_load(one.dtype, one.data, d);
    }
}

void lh_cpu_attention_gather(const lh_attention_tile *tile, const lh_attention_segment *segment,
                             const real *weight, lh_attention_operand x, lh_write write,
                             lh_rows y) {
    const int64_t rows = tile->rows.end - tile->rows.begin, width = tile->spec->head_width;
    const int64_t keys = segment->end - segment->begin, step = keys_per_product(tile);
    const lh_rows w = weights_of(tile, segment, weight);
    if (operand_is_finite(x, keys, width)) {
        for (int64_t key = 0; key < keys; key += step)
            lh_cpu_attention_multiply(tile->rounding, true, false, rows, width,
                                      lh_min(step, keys - key), 1,
                                      lh_attention_reals(rows_from(w, key)), operand_from(x, key),
                                      write == LH_SET && key == 0 ? LH_SET : LH_ADD, y);
        return;
    }
    for (int64_t row = 0; write == LH_SET && row < rows; ++row)
        for (int64_t d = 0; d < width; ++d)
            y.data[row * y.stride + d] = 0;
    gather_seen(tile, segment, w, x, y);
}

void lh_cpu_attention_scatter(const lh_attention_tile *tile, const lh_attention_segment *segment,
                              const real *weight, real alpha, lh_rows x, lh_rows y) {
    const int64_t rows = tile->rows.end - tile->rows.begin, width = tile->spec->head_width;
    const int64_t keys = segment->end - segment->begin, step = keys_per_product(tile);
    const lh_rows w = weights_of(tile, segment, weight);
    const bool finite = is_finite(x, rows, width);
    for (int64_t key = 0; finite && key < keys; key += step)
        lh_cpu_attention_multiply(tile->rounding, false, false, lh_min(step, keys - key), width,
                                  rows, alpha, lh_attention_reals(rows_from(w, key)),
                                  lh_attention_reals(x), LH_ADD, rows_from(y, key));
    for (int64_t key = 0; !finite && key < keys; ++key) {
        const lh_range seen = lh_attention_seen(tile, segment->source, segment->begin + key);
        for (int64_t row = seen.begin; row < seen.end; ++row)
            add_scaled(y.data + key * y.stride, x.data + row * x.stride,
                       alpha * w.data[key * w.stride + row], width);
    }
}
