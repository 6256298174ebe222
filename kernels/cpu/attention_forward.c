/* Attention, forward: a tile of queries meets its visible keys panel by panel, the softmax kept
 * up to date as panels arrive (Milakov and Gimelshein 2018, "Online normalizer calculation for
 * softmax"). A window fits into one panel, where nothing is ever rescaled. */
#include <string.h>

#include "kernels/cpu/attention_lane.h"
#include "kernels/cpu/attention_single.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/product.h"

/* What a thread works in. */
typedef struct scratch {
    real score[LH_ATTENTION_KEYS * LH_ATTENTION_ROWS];
    uint64_t keep[LH_ATTENTION_KEYS];
    real maximum[LH_ATTENTION_ROWS]; /* of the scores so far */
    real shift[LH_ATTENTION_ROWS];   /* the maximum, 0 where there is none */
    real sum[LH_ATTENTION_ROWS];     /* of exp(score - maximum) so far */
    real factor[LH_ATTENTION_ROWS];  /* what the new maximum makes of the output so far */
    real matrix[];                   /* q [head_width][lanes], rows of it or of the output as
                                        reals; then room for positions */
} scratch;

static size_t tile_bytes(const lh_attention_spec *spec) {
    const int64_t matrices = 2 * LH_ATTENTION_ROWS * spec->head_width;
    const int64_t elements = matrices + lh_attention_position_elements(spec);
    return lh_attention_align(sizeof(scratch) + (size_t)elements * sizeof(real));
}

static size_t scratch_bytes(const lh_attention_spec *spec) {
    if (lh_attention_is_single(spec)) return lh_cpu_attention_single_bytes(spec);
    return tile_bytes(spec) + lh_cpu_attention_rounding_bytes(spec->precision, spec->head_width);
}

static void add_positions(const lh_attention_tile *tile, const lh_attention_panel *panel,
                          real alpha, scratch *work) {
    real *memory = work->matrix + 2 * LH_ATTENTION_ROWS * tile->spec->head_width;
    for (int n = 0; n < panel->segments; ++n)
        if (lh_attention_has_positions(tile->spec, panel->segment[n].source))
            lh_cpu_attention_add_positions(tile, &panel->segment[n], alpha, work->matrix, memory,
                                           work->score);
}

/* Bias, mask and maximum of a panel of scores. */
LH_SPECIALIZED void mask_panel(const lh_attention_tile *tile, const lh_attention_panel *panel,
                               real alpha, int64_t lanes, scratch *work) {
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        real *score = work->score + segment->row * lanes;
        for (int64_t key = segment->begin; key < segment->end; ++key, score += lanes) {
            const lh_range seen = lh_attention_seen(tile, segment->source, key);
            if (seen.begin == seen.end)
                lh_lane_fill(lanes, score, -LH_R(INFINITY));
            else
                lh_lane_mask(lanes, alpha, score, lh_attention_bias(tile, segment->source, key),
                             seen, work->maximum);
        }
    }
}

/* Moves the running maximum and sum from what they were to that of the panel. */
LH_SPECIALIZED void shift_lanes(int64_t lanes, const real *before, scratch *work) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
        const real maximum = work->maximum[l];
        const real shift = maximum == -LH_R(INFINITY) ? 0 : maximum;
        work->shift[l] = shift;
        work->factor[l] = lh_exp(before[l] - shift);
        work->sum[l] *= work->factor[l];
    }
}

/* Exponentials of a panel, summed in stretches so that long sums lose nothing. */
LH_SPECIALIZED void exponentiate(int64_t lanes, int64_t keys, scratch *work) {
    enum { STRETCH = 64 };
    for (int64_t begin = 0; begin < keys; begin += STRETCH) {
        real sum[LH_ATTENTION_ROWS];
        lh_lane_fill(lanes, sum, 0);
        for (int64_t key = begin; key < lh_min(keys, begin + STRETCH); ++key)
            lh_lane_exp(lanes, work->score + key * lanes, work->shift, sum);
        lh_lane_add(lanes, work->sum, sum);
    }
}

LH_SPECIALIZED void drop(const lh_attention_tile *tile, const lh_attention_panel *panel,
                         int64_t lanes, scratch *work) {
    lh_cpu_attention_keep(tile, panel, work->keep);
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const real scale = lh_cpu_attention_keep_scale(tile->spec, segment->source);
        lh_lane_drop(lanes, segment->end - segment->begin, work->keep + segment->row, scale,
                     work->score + segment->row * lanes);
    }
}

/* Turns a panel of scores into weights exp(score - maximum), after dropout, 0 where masked. */
LH_SPECIALIZED void weigh_lanes(const lh_attention_tile *tile, const lh_attention_panel *panel,
                                real alpha, int64_t lanes, scratch *work) {
    real before[LH_ATTENTION_ROWS];
    memcpy(before, work->maximum, sizeof before);
    mask_panel(tile, panel, alpha, lanes, work);
    shift_lanes(lanes, before, work);
    exponentiate(lanes, panel->keys, work);
    if (tile->spec->dropout > 0) drop(tile, panel, lanes, work);
}

static void weigh_panel(const lh_attention_tile *tile, const lh_attention_panel *panel, real alpha,
                        scratch *work) {
    const int64_t lanes = lh_attention_lanes(tile);
    if (lanes == LH_ATTENTION_ROWS)
        weigh_lanes(tile, panel, alpha, LH_ATTENTION_ROWS, work);
    else
        weigh_lanes(tile, panel, alpha, lanes, work);
}

/* out = factor * out + weights v; the first panel of a tile overwrites. */
static void add_values(const lh_attention_tile *tile, const lh_attention_panel *panel, bool first,
                       lh_rows out, const scratch *work) {
    const lh_attention_spec *spec = tile->spec;
    const int64_t rows = tile->rows.end - tile->rows.begin;
    for (int64_t row = 0; !first && row < rows; ++row)
        for (int64_t d = 0; d < spec->head_width; ++d)
            out.data[row * out.stride + d] *= work->factor[row];
    for (int n = 0; n < panel->segments; ++n) {
        const lh_attention_segment *segment = &panel->segment[n];
        const lh_attention_operand v = lh_attention_operand_of(
            spec->source[segment->source].v, tile->batch, tile->head, segment->begin);
        lh_cpu_attention_gather(tile, segment, work->score, v, first && n == 0 ? LH_SET : LH_ADD,
                                out);
    }
}

/* Divides by the sums and saves their logarithms; a query that saw nothing gets zeros. */
static void finish_rows(const lh_attention_tile *tile, lh_rows out, real *lse,
                        const scratch *work) {
    const int64_t rows = tile->rows.end - tile->rows.begin, width = tile->spec->head_width;
    for (int64_t row = 0; row < rows; ++row) {
        real *y = out.data + row * out.stride;
        const real sum = work->sum[row], inverse = 1 / sum;
        lse[row] = work->maximum[row] == -LH_R(INFINITY) && sum == 0
                       ? -LH_R(INFINITY)
                       : work->shift[row] + (real)log((double)sum);
        for (int64_t d = 0; d < width; ++d)
            y[d] = sum == 0 ? 0 : y[d] * inverse;
    }
}

static void attend_tile(const lh_attention_forward_args *args, const lh_attention_tile *tile,
                        scratch *work) {
    const lh_attention_spec *spec = &args->spec;
    const real alpha = spec->scale * lh_attention_head_scale(spec, tile->head);
    const real early = lh_attention_early(tile, alpha);
    const int64_t rows = tile->rows.end - tile->rows.begin, width = spec->head_width;
    const lh_attention_operand q =
        lh_attention_operand_of(args->q, tile->batch, tile->head, tile->rows.begin);
    const lh_attention_operand to =
        lh_attention_operand_of(args->out, tile->batch, tile->head, tile->rows.begin);
    real *memory = work->matrix + LH_ATTENTION_ROWS * width;
    lh_rows out = {memory, width};
    if (to.dtype == LH_REAL)
        out = lh_head_rows(args->out, tile->batch, tile->head, tile->rows.begin);
    lh_lane_fill(LH_ATTENTION_ROWS, work->maximum, -LH_R(INFINITY));
    lh_lane_fill(LH_ATTENTION_ROWS, work->sum, 0);
    lh_cpu_attention_transpose(tile, lh_cpu_attention_load(q, rows, width, memory), work->matrix);
    lh_attention_cursor cursor = {0, 0};
    lh_attention_panel panel;
    for (bool first = true; lh_cpu_attention_next_panel(spec, tile->rows, &cursor, &panel);
         first = false) {
        lh_cpu_attention_scores(tile, &panel, false, early, work->matrix, work->score);
        add_positions(tile, &panel, early, work);
        weigh_panel(tile, &panel, lh_attention_late(tile, alpha), work);
        add_values(tile, &panel, first, out, work);
    }
    const int64_t row = (tile->batch * spec->heads + tile->head) * spec->queries;
    finish_rows(tile, out, args->lse + row + tile->rows.begin, work);
    lh_cpu_attention_store(out, rows, width, to);
}

size_t lh_cpu_attention_forward_workspace(const lh_attention_forward_args *args) {
    return lh_cpu_attention_table_bytes(&args->spec) +
           (size_t)lh_attention_slots() * scratch_bytes(&args->spec);
}

lh_status lh_cpu_attention_forward(const lh_launch *launch, const lh_attention_forward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    if (!lh_product_knows(args->q.act.dtype, spec->precision)) return LH_EOPTION;
    lh_attention_table table;
    lh_cpu_attention_table_make(spec, launch->workspace, &table);
    uint8_t *memory = (uint8_t *)launch->workspace + lh_cpu_attention_table_bytes(spec);
    const int64_t tiles = lh_chunk_count(spec->queries, LH_ATTENTION_ROWS);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    int worst = LH_OK;
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads())                     \
    reduction(max                                                                                  \
              : worst) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        uint8_t *slot = memory + (size_t)lh_attention_thread() * scratch_bytes(spec);
        lh_attention_tile tile = {spec,
                                  &table,
                                  task / tiles / spec->heads,
                                  task / tiles % spec->heads,
                                  lh_chunk(spec->queries, LH_ATTENTION_ROWS, task % tiles),
                                  NULL};
        if (lh_attention_is_single(spec)) {
            lh_cpu_attention_single_forward(args, &tile, (real *)(void *)slot);
            continue;
        }
        tile.rounding =
            lh_cpu_attention_rounding(spec->precision, spec->head_width, slot + tile_bytes(spec));
        attend_tile(args, &tile, (scratch *)(void *)slot);
        worst = (int)lh_max(worst, lh_attention_outcome(tile.rounding));
    }
    return (lh_status)worst;
}
