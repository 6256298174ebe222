/* Attention, forward: a tile of queries meets its visible keys panel by panel, the softmax kept
 * up to date as panels arrive (Milakov and Gimelshein 2018, "Online normalizer calculation for
 * softmax"). A window fits into one panel, where nothing is ever rescaled. */
#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_row.h"
#include "kernels/cpu/kernels_cpu.h"

/* What a thread works in. */
typedef struct scratch {
    real score[LH_ATTENTION_ROWS * LH_ATTENTION_PITCH];
    real maximum[LH_ATTENTION_ROWS]; /* of the scores so far */
    real sum[LH_ATTENTION_ROWS];     /* of exp(score - maximum) so far */
    real factor[LH_ATTENTION_ROWS];  /* what the new maximum makes of the output so far */
    uint8_t keep[LH_ATTENTION_COLUMNS];
} scratch;

static real infinite_to_zero(real maximum) {
    return maximum == -LH_R(INFINITY) ? 0 : maximum;
}

/* Turns a row of scores into weights exp(score - maximum), after dropout, 0 where masked. */
static void weigh_row(const lh_attention_tile *tile, const lh_attention_panel *panel, int64_t row,
                      scratch *work) {
    const int64_t i = tile->rows.begin + row, padded = lh_row_padded(panel->columns);
    real *score = work->score + row * LH_ATTENTION_PITCH;
    LH_CPU(attention_mask_row)(tile, panel, i, score);
    const real maximum = lh_row_maximum(score, padded, work->maximum[row]);
    const real shift = infinite_to_zero(maximum);
    const real sum = lh_row_exp(score, padded, shift);
    LH_CPU(attention_drop_row)(tile, panel, i, work->keep, score);
    work->factor[row] = lh_exp(work->maximum[row] - shift);
    work->sum[row] = work->sum[row] * work->factor[row] + sum;
    work->maximum[row] = maximum;
}

static void scale_rows(lh_attention_rows x, const real *factor, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t d = 0; d < width; ++d)
            x.data[row * x.stride + d] *= factor[row];
}

/* out = factor * out + weights v; the first segment of a tile overwrites. */
static void add_values(const lh_attention_tile *tile, const lh_attention_panel *panel, bool first,
                       lh_attention_rows out, const scratch *work) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t rows = tile->rows.end - tile->rows.begin;
    if (!first) scale_rows(out, work->factor, rows, spec->head_width);
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const int64_t keys = segment->end - segment->begin;
        const lh_attention_rows v = lh_attention_rows_of(spec->source[segment->source].v,
                                                         tile->batch, tile->head, segment->begin);
        const lh_attention_rows weight = {(real *)work->score + segment->column,
                                          LH_ATTENTION_PITCH};
        const real beta = first && n == 0 ? 0 : 1;
        if (LH_CPU(attention_is_finite)(v, keys, spec->head_width)) {
            lh_attention_product(false, false, rows, spec->head_width, keys, 1, weight, v, beta,
                                 out);
            continue;
        }
        for (int64_t row = 0; beta == 0 && row < rows; ++row)
            lh_row_fill(out.data + row * out.stride, 0, spec->head_width, 0);
        LH_CPU(attention_gather_exact)(tile, segment, work->score, 1, v, out);
    }
}

/* Divides by the sums and saves their logarithms; a query that saw nothing gets zeros. */
static void finish_rows(const lh_attention_tile *tile, lh_attention_rows out, real *lse,
                        const scratch *work) {
    const int64_t rows = tile->rows.end - tile->rows.begin;
    for (int64_t row = 0; row < rows; ++row) {
        real *y = out.data + row * out.stride;
        const real sum = work->sum[row];
        const real inverse = 1 / sum;
        lse[row] = infinite_to_zero(work->maximum[row]) + (real)log((double)sum);
        if (sum == 0) lh_row_fill(y, 0, tile->spec->head_width, 0);
        for (int64_t d = 0; sum != 0 && d < tile->spec->head_width; ++d)
            y[d] *= inverse;
    }
}

static void attend_tile(const lh_attention_forward_args *args, const lh_attention_tile *tile,
                        scratch *work) {
    const lh_attention_spec *spec = &args->spec;
    const real alpha = spec->scale * lh_attention_head_scale(spec, tile->head);
    const lh_attention_rows q =
        lh_attention_rows_of(args->q, tile->batch, tile->head, tile->rows.begin);
    const lh_attention_rows out =
        lh_attention_rows_of(args->out, tile->batch, tile->head, tile->rows.begin);
    const int64_t rows = tile->rows.end - tile->rows.begin;
    for (int64_t row = 0; row < rows; ++row) {
        work->maximum[row] = -LH_R(INFINITY);
        work->sum[row] = 0;
    }
    lh_attention_cursor cursor = {0, 0};
    lh_attention_panel panel;
    for (bool first = true; LH_CPU(attention_next_panel)(spec, tile->rows, &cursor, &panel);
         first = false) {
        LH_CPU(attention_scores)(tile, &panel, false, alpha, q, work->score);
        for (int64_t row = 0; row < rows; ++row)
            weigh_row(tile, &panel, row, work);
        add_values(tile, &panel, first, out, work);
    }
    const int64_t row = (tile->batch * spec->heads + tile->head) * spec->queries;
    finish_rows(tile, out, args->lse + row + tile->rows.begin, work);
}

size_t LH_CPU(attention_forward_workspace)(const lh_attention_forward_args *args) {
    return LH_CPU(attention_table_bytes)(&args->spec) +
           (size_t)lh_attention_slots() * lh_attention_align(sizeof(scratch));
}

lh_status LH_CPU(attention_forward)(const lh_launch *launch,
                                    const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    const lh_status status = LH_CPU(attention_check)(spec);
    if (status != LH_OK) return status;
    lh_attention_table table;
    LH_CPU(attention_table_make)(spec, launch->workspace, &table);
    uint8_t *memory = (uint8_t *)launch->workspace + LH_CPU(attention_table_bytes)(spec);
    const int64_t tiles = lh_chunk_count(spec->queries, LH_ATTENTION_ROWS);
    const int64_t tasks = spec->batch * spec->heads * tiles;
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads()) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        const size_t slot = (size_t)lh_attention_thread() * lh_attention_align(sizeof(scratch));
        const lh_attention_tile tile = {spec, &table, task / tiles / spec->heads,
                                        task / tiles % spec->heads,
                                        lh_chunk(spec->queries, LH_ATTENTION_ROWS, task % tiles)};
        attend_tile(args, &tile, (scratch *)(void *)(memory + slot));
    }
    return LH_OK;
}
