/* Which keys a tile of queries sees, and the products over a tile. */
#include "kernels/cpu/attention.h"

lh_status LH_CPU(attention_check)(const lh_attention_spec *spec) {
    if (spec->batch < 0 || spec->heads < 0 || spec->queries < 0 || spec->head_width < 0)
        return LH_ESHAPE;
    if (spec->source_count < 0 || spec->source_count > LH_KEY_SOURCES) return LH_ESHAPE;
    for (int s = 0; s < spec->source_count; ++s)
        if (spec->source[s].count < 0) return LH_ESHAPE;
    if (spec->bias && (spec->buckets < 1 || spec->bucket_span < 1 || !spec->bucket_of))
        return LH_ESHAPE;
    if (!(spec->dropout >= 0 && spec->dropout < 1) || (spec->dropout > 0 && !spec->key))
        return LH_EOPTION;
    if (spec->chunk < 0 || spec->dropout_period < 0) return LH_EOPTION;
    return LH_OK;
}

lh_range LH_CPU(attention_visible)(const lh_attention_spec *spec, int source, int64_t i) {
    const lh_key_source *keys = &spec->source[source];
    lh_range range = {0, keys->count};
    if (keys->everywhere) return range;
    int64_t first = i - spec->max_distance;
    if (spec->chunk > 0) first = lh_max(first, (i / spec->chunk - spec->chunks_back) * spec->chunk);
    range.end = lh_max(0, lh_min(range.end, i - spec->min_distance - keys->first + 1));
    range.begin = lh_min(range.end, lh_max(0, first - keys->first));
    return range;
}

lh_range LH_CPU(attention_visible_rows)(const lh_attention_spec *spec, int source, lh_range rows) {
    const lh_range low = LH_CPU(attention_visible)(spec, source, rows.begin);
    const lh_range high = LH_CPU(attention_visible)(spec, source, rows.end - 1);
    const lh_range range = {lh_min(low.begin, high.end), high.end};
    return range;
}

bool LH_CPU(attention_next_panel)(const lh_attention_spec *spec, lh_range rows,
                                  lh_attention_cursor *cursor, lh_attention_panel *panel) {
    panel->segments = 0;
    panel->columns = 0;
    while (cursor->source < spec->source_count && panel->columns < LH_ATTENTION_COLUMNS) {
        const lh_range keys = LH_CPU(attention_visible_rows)(spec, cursor->source, rows);
        const int64_t begin = lh_max(keys.begin, cursor->key);
        const int64_t end = lh_min(keys.end, begin + LH_ATTENTION_COLUMNS - panel->columns);
        if (begin < end) {
            const lh_attention_segment segment = {cursor->source, begin, end, panel->columns};
            panel->segment[panel->segments++] = segment;
            panel->columns += end - begin;
            cursor->key = end;
        }
        if (begin >= end || end == keys.end) {
            cursor->source += 1;
            cursor->key = 0;
        }
    }
    return panel->columns > 0;
}

void LH_CPU(attention_scores)(const lh_attention_tile *tile, const lh_attention_panel *panel,
                              bool values, real alpha, lh_attention_rows q, real *scores) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t rows = tile->rows.end - tile->rows.begin;
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const lh_key_source *source = &spec->source[segment->source];
        const lh_attention_rows k = lh_attention_rows_of(values ? source->v : source->k,
                                                         tile->batch, tile->head, segment->begin);
        const lh_attention_rows s = {scores + segment->column, LH_ATTENTION_PITCH};
        lh_attention_product(false, true, rows, segment->end - segment->begin, spec->head_width,
                             alpha, q, k, 0, s);
    }
}

bool LH_CPU(attention_is_finite)(lh_attention_rows x, int64_t count, int64_t width) {
    real poison = 0; /* x * 0 is 0 for a finite x, else NaN */
    for (int64_t r = 0; r < count; ++r) {
        const real *row = x.data + r * x.stride;
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t d = 0; d < width; ++d)
            sum += row[d] * 0;
        poison += sum;
    }
    return poison == 0;
}

static void add_scaled(real *y, const real *x, real alpha, int64_t width) {
    for (int64_t d = 0; d < width; ++d)
        y[d] += alpha * x[d];
}

void LH_CPU(attention_gather_exact)(const lh_attention_tile *tile,
                                    const lh_attention_segment *segment, const real *weight,
                                    real alpha, lh_attention_rows x, lh_attention_rows y) {
    for (int64_t i = tile->rows.begin; i < tile->rows.end; ++i) {
        const int64_t row = i - tile->rows.begin;
        const lh_range columns = lh_attention_columns(
            segment, LH_CPU(attention_visible)(tile->spec, segment->source, i));
        for (int64_t c = columns.begin; c < columns.end; ++c)
            add_scaled(y.data + row * y.stride, x.data + (c - segment->column) * x.stride,
                       alpha * weight[row * LH_ATTENTION_PITCH + c], tile->spec->head_width);
    }
}

void LH_CPU(attention_scatter_exact)(const lh_attention_tile *tile,
                                     const lh_attention_segment *segment, const real *weight,
                                     real alpha, lh_attention_rows x, lh_attention_rows y) {
    for (int64_t i = tile->rows.begin; i < tile->rows.end; ++i) {
        const int64_t row = i - tile->rows.begin;
        const lh_range columns = lh_attention_columns(
            segment, LH_CPU(attention_visible)(tile->spec, segment->source, i));
        for (int64_t c = columns.begin; c < columns.end; ++c)
            add_scaled(y.data + (c - segment->column) * y.stride, x.data + row * x.stride,
                       alpha * weight[row * LH_ATTENTION_PITCH + c], tile->spec->head_width);
    }
}
