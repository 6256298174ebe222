/* Attention, backward. The probabilities are made again from the saved log sum exp, so nothing of
 * the size of the scores is kept between the passes (Dao et al. 2022, "FlashAttention", algorithm
 * 4). Per tile of queries and panel of keys:
 *
 *   P = exp(S - lse)   dP = dropout(dO V^T)   dS = P (dP - rowsum(dO O))
 *   dV += dropout(P)^T dO   dQ += dS K   dK += dS^T Q */
#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/attention_row.h"
#include "kernels/cpu/kernels_cpu.h"

/* What a thread works in. */
typedef struct scratch {
    real score[LH_ATTENTION_ROWS * LH_ATTENTION_PITCH];
    real gradient[LH_ATTENTION_ROWS * LH_ATTENTION_PITCH]; /* of the scores */
    real distance[LH_ATTENTION_ROWS + LH_ATTENTION_COLUMNS];
    real delta[LH_ATTENTION_ROWS]; /* dO . O */
    uint8_t keep[LH_ATTENTION_COLUMNS];
    real dq[]; /* [rows][head_width], before the scale */
} scratch;

/* One tile of a task with all that it reads. */
typedef struct pass {
    const lh_attention_plan *plan;
    int64_t task;
    lh_attention_tile tile;
    lh_attention_rows q, dout;
    const real *lse;
    real alpha;
    scratch *work;
} pass;

static size_t scratch_bytes(const lh_attention_spec *spec) {
    const size_t dq = (size_t)(LH_ATTENTION_ROWS * spec->head_width) * sizeof(real);
    return lh_attention_align(sizeof(scratch) + dq);
}

static void measure_delta(const pass *p, const lh_heads out) {
    const lh_attention_tile *tile = &p->tile;
    const lh_attention_rows o =
        lh_attention_rows_of(out, tile->batch, tile->head, tile->rows.begin);
    for (int64_t row = 0; row < tile->rows.end - tile->rows.begin; ++row) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t d = 0; d < tile->spec->head_width; ++d)
            sum += o.data[row * o.stride + d] * p->dout.data[row * p->dout.stride + d];
        p->work->delta[row] = sum;
    }
}

/* Turns a row of scores and of gradients of the kept probabilities into the kept probabilities
 * themselves and the gradients of the scores. */
static void differentiate_row(const pass *p, const lh_attention_panel *panel, int64_t row) {
    const lh_attention_tile *tile = &p->tile;
    const int64_t i = tile->rows.begin + row, padded = lh_row_padded(panel->columns);
    const real lse = p->lse[row];
    real *score = p->work->score + row * LH_ATTENTION_PITCH;
    real *gradient = p->work->gradient + row * LH_ATTENTION_PITCH;
    if (lse == -LH_R(INFINITY))
        lh_row_fill(score, 0, padded, -LH_R(INFINITY));
    else
        LH_CPU(attention_mask_row)(tile, panel, i, score);
    LH_CPU(attention_drop_row)(tile, panel, i, p->work->keep, gradient);
    lh_row_gradient(score, gradient, padded, lse, p->work->delta[row]);
    LH_CPU(attention_drop_row)(tile, panel, i, p->work->keep, score);
}

/* Adds the gradients of a segment's scores along its diagonals to the task's sums by distance. */
static void sum_distances(const pass *p, const lh_attention_segment *segment) {
    const lh_attention_tile *tile = &p->tile;
    const int64_t rows = tile->rows.end - tile->rows.begin, keys = segment->end - segment->begin;
    const int64_t start =
        lh_attention_offset(tile, segment->source, tile->rows.end - 1) + segment->begin;
    real *near = p->work->distance;
    lh_row_fill(near, 0, rows + keys, 0);
    for (int64_t row = 0; row < rows; ++row)
        lh_row_add(near + rows - 1 - row,
                   p->work->gradient + row * LH_ATTENTION_PITCH + segment->column, keys);
    double *sums = LH_CPU(attention_plan_distance)(p->plan, p->task);
    const int64_t end = lh_min(rows + keys, tile->table->span - start);
    for (int64_t n = lh_max(0, -start); n < end; ++n)
        sums[start + n] += (double)near[n];
}

/* The three products that leave a segment. Where a factor is not finite, key by key, so that it
 * reaches only those who see it. */
static void add_gradients(const pass *p, const lh_attention_segment *segment) {
    const lh_attention_tile *tile = &p->tile;
    const int64_t rows = tile->rows.end - tile->rows.begin, keys = segment->end - segment->begin;
    const int64_t width = tile->spec->head_width;
    const lh_key_source *source = &tile->spec->source[segment->source];
    const lh_attention_rows k =
        lh_attention_rows_of(source->k, tile->batch, tile->head, segment->begin);
    const lh_attention_rows score = {p->work->score + segment->column, LH_ATTENTION_PITCH};
    const lh_attention_rows gradient = {p->work->gradient + segment->column, LH_ATTENTION_PITCH};
    const lh_attention_rows dq = {p->work->dq, width};
    const lh_attention_rows dk =
        LH_CPU(attention_plan_target)(p->plan, p->task, segment->source, false, segment->begin);
    const lh_attention_rows dv =
        LH_CPU(attention_plan_target)(p->plan, p->task, segment->source, true, segment->begin);
    if (!LH_CPU(attention_is_finite)(k, keys, width))
        LH_CPU(attention_gather_exact)(tile, segment, p->work->gradient, 1, k, dq);
    else
        lh_attention_product(false, false, rows, width, keys, 1, gradient, k, 1, dq);
    if (dk.data && !LH_CPU(attention_is_finite)(p->q, rows, width))
        LH_CPU(attention_scatter_exact)(tile, segment, p->work->gradient, p->alpha, p->q, dk);
    else if (dk.data)
        lh_attention_product(true, false, keys, width, rows, p->alpha, gradient, p->q, 1, dk);
    if (dv.data && !LH_CPU(attention_is_finite)(p->dout, rows, width))
        LH_CPU(attention_scatter_exact)(tile, segment, p->work->score, 1, p->dout, dv);
    else if (dv.data)
        lh_attention_product(true, false, keys, width, rows, 1, score, p->dout, 1, dv);
}

/* Writes the gradient of the queries, and q . dq for that of the head scale. */
static void finish_rows(const pass *p) {
    const lh_attention_backward_args *args = p->plan->args;
    const lh_attention_tile *tile = &p->tile;
    const int64_t width = tile->spec->head_width;
    const lh_attention_rows y =
        lh_attention_rows_of(args->dq, tile->batch, tile->head, tile->rows.begin);
    double sum = 0;
    for (int64_t row = 0; row < tile->rows.end - tile->rows.begin; ++row) {
        const real *q = p->q.data + row * p->q.stride;
        const real *dq = p->work->dq + row * width;
        real dot = 0;
        for (int64_t d = 0; d < width; ++d)
            dot += q[d] * dq[d];
        sum += (double)dot;
        for (int64_t d = 0; args->dq.data && d < width; ++d) {
            real *out = y.data + row * y.stride + d;
            *out = p->alpha * dq[d] + (args->dq_write == LH_ADD ? *out : 0);
        }
    }
    *LH_CPU(attention_plan_scale)(p->plan, p->task) += (double)tile->spec->scale * sum;
}

static void differentiate_tile(const pass *p) {
    const lh_attention_tile *tile = &p->tile;
    const lh_attention_spec *spec = tile->spec;
    const int64_t rows = tile->rows.end - tile->rows.begin;
    measure_delta(p, p->plan->args->out);
    lh_row_fill(p->work->dq, 0, rows * spec->head_width, 0);
    lh_attention_cursor cursor = {0, 0};
    lh_attention_panel panel;
    while (LH_CPU(attention_next_panel)(spec, tile->rows, &cursor, &panel)) {
        LH_CPU(attention_scores)(tile, &panel, false, p->alpha, p->q, p->work->score);
        LH_CPU(attention_scores)(tile, &panel, true, 1, p->dout, p->work->gradient);
        for (int64_t row = 0; row < rows; ++row)
            differentiate_row(p, &panel, row);
        for (int n = 0; n < panel.segments; ++n) {
            const lh_attention_segment *segment = &panel.segment[n];
            if (p->plan->by_distance && !spec->source[segment->source].everywhere)
                sum_distances(p, segment);
            add_gradients(p, segment);
        }
    }
    finish_rows(p);
}

static void differentiate_task(const lh_attention_plan *plan, int64_t task, scratch *work) {
    const lh_attention_backward_args *args = plan->args;
    const lh_attention_spec *spec = &args->spec;
    pass p = {.plan = plan, .task = task, .work = work};
    p.tile = LH_CPU(attention_plan_task)(plan, task);
    p.alpha = spec->scale * lh_attention_head_scale(spec, p.tile.head);
    const lh_range rows = p.tile.rows;
    const int64_t pair = p.tile.batch * spec->heads + p.tile.head;
    LH_CPU(attention_plan_clear)(plan, task);
    for (int64_t begin = rows.begin; begin < rows.end; begin += LH_ATTENTION_ROWS) {
        p.tile.rows.begin = begin;
        p.tile.rows.end = lh_min(rows.end, begin + LH_ATTENTION_ROWS);
        p.q = lh_attention_rows_of(args->q, p.tile.batch, p.tile.head, begin);
        p.dout = lh_attention_rows_of(args->dout, p.tile.batch, p.tile.head, begin);
        p.lse = args->lse + pair * spec->queries + begin;
        differentiate_tile(&p);
    }
}

size_t LH_CPU(attention_backward_workspace)(const lh_attention_backward_args *args) {
    lh_attention_plan plan;
    LH_CPU(attention_plan_make)(args, scratch_bytes(&args->spec), &plan);
    return plan.bytes;
}

lh_status LH_CPU(attention_backward)(const lh_launch *launch,
                                     const lh_attention_backward_args *args) {
    const lh_status status = LH_CPU(attention_check)(&args->spec);
    if (status != LH_OK) return status;
    lh_attention_plan plan;
    LH_CPU(attention_plan_make)(args, scratch_bytes(&args->spec), &plan);
    plan.memory = launch->workspace;
    LH_CPU(attention_table_make)(&args->spec, launch->workspace, &plan.table);
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads()) if (plan.tasks > 1)
    for (int64_t task = 0; task < plan.tasks; ++task) {
        uint8_t *slot = plan.memory + plan.slot + (size_t)lh_attention_thread() * plan.slot_bytes;
        differentiate_task(&plan, task, (scratch *)(void *)slot);
    }
    LH_CPU(attention_plan_join)(&plan);
    return LH_OK;
}
