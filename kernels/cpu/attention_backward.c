/* Attention, backward. The probabilities are made again from the saved log sum exp, so nothing of
 * the size of the scores is kept between the passes (Dao et al. 2022, "FlashAttention", algorithm
 * 4). Per tile of queries and panel of keys:
 *
 *   P = exp(S - lse)   dP = dropout(dO V^T)   dS = P (dP - rowsum(dO O))
 *   dV += dropout(P)^T dO   dQ += dS K   dK += dS^T Q */
#include <string.h>

#include "kernels/cpu/attention_lane.h"
#include "kernels/cpu/attention_single.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/product.h"

/* Sums by distance are kept several times over, and neighbouring keys take turns: their lanes
 * overlap, and a load that straddles two stores in flight has to wait for them. */
enum { TURNS = 4, DISTANCES = LH_ATTENTION_DISTANCES, MATRICES = 6 };

/* What a thread works in. */
typedef struct scratch {
    real score[LH_ATTENTION_KEYS * LH_ATTENTION_ROWS];
    real gradient[LH_ATTENTION_KEYS * LH_ATTENTION_ROWS]; /* of the scores */
    real distance[TURNS * DISTANCES];
    uint64_t keep[LH_ATTENTION_KEYS];
    real lse[LH_ATTENTION_ROWS];
    real delta[LH_ATTENTION_ROWS];  /* dO . O */
    real moment[LH_ATTENTION_ROWS]; /* in bf16: sums of the scores' gradients times q . k + q . r */
    real matrix[]; /* [MATRICES]: dq [rows][head_width] before the scale, q and dO transposed, and
                      where they lie in memory as bf16 rows of q, dO, O; then positions */
} scratch;

/* One tile of a task with all that it reads. */
typedef struct pass {
    const lh_attention_plan *plan;
    int64_t task;
    lh_attention_tile tile;
    lh_rows q, dout;
    const real *lse;
    real alpha;
    scratch *work;
    real *dq, *q_transposed, *dout_transposed, *positions; /* in work */
} pass;

static size_t tile_bytes(const lh_attention_spec *spec) {
    const int64_t matrix = LH_ATTENTION_ROWS * spec->head_width;
    const int64_t elements = MATRICES * matrix + lh_attention_position_elements(spec);
    return lh_attention_align(sizeof(scratch) + (size_t)elements * sizeof(real));
}

static size_t scratch_bytes(const lh_attention_spec *spec) {
    if (lh_attention_is_single(spec)) return lh_cpu_attention_single_bytes(spec);
    return tile_bytes(spec) + lh_cpu_attention_rounding_bytes(spec->precision, spec->head_width);
}

/* What a tile knows of its queries, a lane each. A query that saw nothing gets a log sum exp of
 * infinity, so that its weights come out as zeros. */
static void ready_lanes(const pass *p, const lh_heads out) {
    const lh_attention_tile *tile = &p->tile;
    const int64_t rows = tile->rows.end - tile->rows.begin;
    const int64_t width = tile->spec->head_width;
    const lh_rows o = lh_cpu_attention_load(
        lh_attention_operand_of(out, tile->batch, tile->head, tile->rows.begin), rows, width,
        p->work->matrix + 5 * LH_ATTENTION_ROWS * width);
    lh_lane_fill(LH_ATTENTION_ROWS, p->work->lse, 0);
    lh_lane_fill(LH_ATTENTION_ROWS, p->work->delta, 0);
    lh_lane_fill(LH_ATTENTION_ROWS, p->work->moment, 0);
    for (int64_t row = 0; row < rows; ++row) {
        p->work->delta[row] =
            lh_attention_dot(width, o.data + row * o.stride, p->dout.data + row * p->dout.stride);
        p->work->lse[row] = p->lse[row] == -LH_R(INFINITY) ? LH_R(INFINITY) : p->lse[row];
    }
    lh_cpu_attention_transpose(tile, p->q, p->q_transposed);
    lh_cpu_attention_transpose(tile, p->dout, p->dout_transposed);
}

/* Turns a segment's scores and gradients of the kept weights into the kept weights themselves and
 * the gradients of the scores. */
LH_SPECIALIZED void differentiate_lanes(const pass *p, const lh_attention_segment *segment,
                                        int64_t lanes, bool moments) {
    const lh_attention_tile *tile = &p->tile;
    const bool dropped = tile->spec->dropout > 0;
    const real alpha = lh_attention_late(tile, p->alpha);
    const real scale = lh_cpu_attention_keep_scale(tile->spec, segment->source);
    const int64_t keys = segment->end - segment->begin;
    const uint64_t *keep = p->work->keep + segment->row;
    real *score = p->work->score + segment->row * lanes;
    real *gradient = p->work->gradient + segment->row * lanes;
    if (dropped) lh_lane_drop(lanes, keys, keep, scale, gradient);
    for (int64_t key = 0; key < keys; ++key) {
        const lh_range seen = lh_attention_seen(tile, segment->source, segment->begin + key);
        real *s = score + key * lanes, *g = gradient + key * lanes;
        if (seen.begin == seen.end) {
            lh_lane_fill(lanes, s, 0);
            lh_lane_fill(lanes, g, 0);
            continue;
        }
        real before[LH_ATTENTION_ROWS];
        if (moments) memcpy(before, s, (size_t)lanes * sizeof *s);
        lh_lane_gradient(lanes, alpha, s, g,
                         lh_attention_bias(tile, segment->source, segment->begin + key), seen,
                         p->work->lse, p->work->delta);
        if (moments) lh_lane_moment(lanes, before, g, seen, p->work->moment);
    }
    if (dropped) lh_lane_drop(lanes, keys, keep, scale, score);
}

static void differentiate(const pass *p, const lh_attention_segment *segment) {
    const int64_t lanes = lh_attention_lanes(&p->tile);
    const bool moments = p->tile.rounding != NULL && p->plan->args->dhead_scale != NULL;
    if (moments)
        differentiate_lanes(p, segment, lanes, true);
    else if (lanes == LH_ATTENTION_ROWS)
        differentiate_lanes(p, segment, LH_ATTENTION_ROWS, false);
    else
        differentiate_lanes(p, segment, lanes, false);
}

/* Adds the gradients of a segment's scores along its diagonals to the task's sums by distance. */
static void sum_distances(const pass *p, const lh_attention_segment *segment) {
    const lh_attention_tile *tile = &p->tile;
    const int64_t lanes = lh_attention_lanes(tile), keys = segment->end - segment->begin;
    const int64_t nearest = lh_attention_distance(tile, segment->source, segment->end - 1);
    const real *gradient = p->work->gradient + segment->row * lanes;
    real *near = p->work->distance;
    for (int turn = 0; turn < TURNS; ++turn)
        memset(near + turn * DISTANCES, 0, (size_t)(keys + lanes) * sizeof *near);
    for (int64_t key = 0; key < keys; ++key)
        lh_lane_add(lanes, near + key % TURNS * DISTANCES + keys - 1 - key, gradient + key * lanes);
    double *sums = lh_cpu_attention_plan_distance(p->plan, p->task);
    const int64_t start = nearest - tile->table->nearest;
    const int64_t end = lh_min(keys + lanes, tile->table->span - start);
    for (int64_t n = lh_max(0, -start); n < end; ++n)
        sums[start + n] += (double)((near[n] + near[DISTANCES + n]) +
                                    (near[2 * DISTANCES + n] + near[3 * DISTANCES + n]));
}

/* Scores of a panel, and gradients of the weights before dropout. */
static void make_scores(const pass *p, const lh_attention_panel *panel) {
    const lh_attention_tile *tile = &p->tile;
    const real alpha = lh_attention_early(tile, p->alpha);
    lh_cpu_attention_scores(tile, panel, false, alpha, p->q_transposed, p->work->score);
    lh_cpu_attention_scores(tile, panel, true, 1, p->dout_transposed, p->work->gradient);
    for (int n = 0; n < panel->segments; ++n)
        if (lh_attention_has_positions(tile->spec, panel->segment[n].source))
            lh_cpu_attention_add_positions(tile, &panel->segment[n], alpha, p->q_transposed,
                                           p->positions, p->work->score);
}

/* The three products that leave a segment. */
static void add_gradients(const pass *p, const lh_attention_segment *segment) {
    const lh_attention_tile *tile = &p->tile;
    const lh_key_source *source = &tile->spec->source[segment->source];
    const lh_attention_operand k =
        lh_attention_operand_of(source->k, tile->batch, tile->head, segment->begin);
    const lh_rows dq = {p->dq, tile->spec->head_width};
    const lh_rows dk =
        lh_cpu_attention_plan_target(p->plan, p->task, segment->source, false, segment->begin);
    const lh_rows dv =
        lh_cpu_attention_plan_target(p->plan, p->task, segment->source, true, segment->begin);
    lh_cpu_attention_gather(tile, segment, p->work->gradient, k, LH_ADD, dq);
    if (lh_attention_has_positions(tile->spec, segment->source))
        lh_cpu_attention_position_gradients(tile, segment, p->work->gradient, p->alpha, p->q,
                                            p->positions, dq,
                                            lh_cpu_attention_plan_positions(p->plan, p->task));
    if (dk.data) lh_cpu_attention_scatter(tile, segment, p->work->gradient, p->alpha, p->q, dk);
    if (dv.data) lh_cpu_attention_scatter(tile, segment, p->work->score, 1, p->dout, dv);
}

LH_SPECIALIZED void write_row(const pass *p, lh_dtype dtype, lh_write write, const real *dq,
                              void *y) {
    for (int64_t d = 0; d < p->tile.spec->head_width; ++d)
        lh_store(dtype, y, d,
                 p->alpha * dq[d] + (write == LH_ADD ? lh_load(dtype, y, d) : LH_R(0)));
}

/* Writes the gradient of the queries, and q . dq for that of the head scale. */
static void finish_rows(const pass *p) {
    const lh_attention_backward_args *args = p->plan->args;
    const lh_attention_tile *tile = &p->tile;
    const int64_t width = tile->spec->head_width;
    double sum = 0;
    for (int64_t row = 0; row < tile->rows.end - tile->rows.begin; ++row) {
        const real *q = p->q.data + row * p->q.stride;
        const real *dq = p->dq + row * width;
        real dot = p->work->moment[row];
        for (int64_t d = 0; tile->rounding == NULL && d < width; ++d)
            dot += q[d] * dq[d];
        sum += p->lse[row] == -LH_R(INFINITY) ? 0 : (double)dot;
        if (args->dq.act.data == NULL) continue;
        const lh_attention_operand y =
            lh_attention_operand_of(args->dq, tile->batch, tile->head, tile->rows.begin + row);
        if (y.dtype == LH_BF16)
            write_row(p, LH_BF16, args->dq_write, dq, (void *)(uintptr_t)y.data);
        else
            write_row(p, LH_REAL, args->dq_write, dq, (void *)(uintptr_t)y.data);
    }
    *lh_cpu_attention_plan_scale(p->plan, p->task) += (double)tile->spec->scale * sum;
}

static void load_queries(pass *p, const lh_attention_backward_args *args) {
    const lh_attention_tile *tile = &p->tile;
    const int64_t rows = tile->rows.end - tile->rows.begin, width = tile->spec->head_width;
    const int64_t matrix = LH_ATTENTION_ROWS * width;
    p->q = lh_cpu_attention_load(
        lh_attention_operand_of(args->q, tile->batch, tile->head, tile->rows.begin), rows, width,
        p->work->matrix + 3 * matrix);
    p->dout = lh_cpu_attention_load(
        lh_attention_operand_of(args->dout, tile->batch, tile->head, tile->rows.begin), rows, width,
        p->work->matrix + 4 * matrix);
}

static void differentiate_tile(const pass *p) {
    const lh_attention_tile *tile = &p->tile;
    const lh_attention_spec *spec = tile->spec;
    const int64_t rows = tile->rows.end - tile->rows.begin;
    ready_lanes(p, p->plan->args->out);
    memset(p->dq, 0, (size_t)(rows * spec->head_width) * sizeof *p->dq);
    lh_attention_cursor cursor = {0, 0};
    lh_attention_panel panel;
    while (lh_cpu_attention_next_panel(spec, tile->rows, &cursor, &panel)) {
        make_scores(p, &panel);
        if (spec->dropout > 0) lh_cpu_attention_keep(tile, &panel, p->work->keep);
        for (int n = 0; n < panel.segments; ++n) {
            const lh_attention_segment *segment = &panel.segment[n];
            differentiate(p, segment);
            if (p->plan->by_distance && !spec->source[segment->source].everywhere)
                sum_distances(p, segment);
            add_gradients(p, segment);
        }
    }
    finish_rows(p);
}

static lh_status differentiate_task(const lh_attention_plan *plan, int64_t task, scratch *work) {
    const lh_attention_backward_args *args = plan->args;
    const lh_attention_spec *spec = &args->spec;
    const int64_t matrix = LH_ATTENTION_ROWS * spec->head_width;
    pass p = {.plan = plan, .task = task, .work = work, .dq = work->matrix};
    p.q_transposed = work->matrix + matrix;
    p.dout_transposed = work->matrix + 2 * matrix;
    p.positions = work->matrix + MATRICES * matrix;
    p.tile = lh_cpu_attention_plan_task(plan, task);
    p.tile.rounding = lh_cpu_attention_rounding(spec->precision, spec->head_width,
                                                (uint8_t *)work + tile_bytes(spec));
    p.alpha = spec->scale * lh_attention_head_scale(spec, p.tile.head);
    const lh_range rows = p.tile.rows;
    const int64_t pair = p.tile.batch * spec->heads + p.tile.head;
    lh_cpu_attention_plan_clear(plan, task);
    for (int64_t begin = rows.begin; begin < rows.end; begin += LH_ATTENTION_ROWS) {
        p.tile.rows.begin = begin;
        p.tile.rows.end = lh_min(rows.end, begin + LH_ATTENTION_ROWS);
        load_queries(&p, args);
        p.lse = args->lse + pair * spec->queries + begin;
        differentiate_tile(&p);
    }
    return lh_attention_outcome(p.tile.rounding);
}

size_t lh_cpu_attention_backward_workspace(const lh_attention_backward_args *args) {
    lh_attention_plan plan;
    lh_cpu_attention_plan_make(args, scratch_bytes(&args->spec), &plan);
    return plan.bytes;
}

lh_status lh_cpu_attention_backward(const lh_launch *launch,
                                    const lh_attention_backward_args *args) {
    if (!lh_product_knows(args->q.act.dtype, args->spec.precision)) return LH_EOPTION;
    lh_attention_plan plan;
    lh_cpu_attention_plan_make(args, scratch_bytes(&args->spec), &plan);
    plan.memory = launch->workspace;
    lh_cpu_attention_table_make(&args->spec, launch->workspace, &plan.table);
    int worst = LH_OK;
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads())                     \
    reduction(max                                                                                  \
              : worst) if (plan.groups > 1)
    for (int64_t group = 0; group < plan.groups; ++group) {
        uint8_t *slot = plan.memory + plan.slot + (size_t)lh_attention_thread() * plan.slot_bytes;
        const lh_range tasks = lh_cpu_attention_plan_group(&plan, group);
        lh_cpu_attention_plan_clear_group(&plan, group);
        for (int64_t task = tasks.begin; task < tasks.end; ++task)
            if (lh_attention_is_single(&args->spec))
                lh_cpu_attention_single_backward(&plan, task, (real *)(void *)slot);
            else
                worst =
                    (int)lh_max(worst, differentiate_task(&plan, task, (scratch *)(void *)slot));
    }
    lh_cpu_attention_plan_join(&plan);
    return (lh_status)worst;
}
