/* Attention of a single query per batch row and head, as models that go token by token ask it. The
 * tiles' lanes would hold one query and waste the others; here the vectors run along the heads'
 * width, and along the keys where scores become weights. */
#include "kernels/cpu/attention_single.h"

#include <string.h>

#include "kernels/cpu/attention_lane.h"

/* The `keys` keys of one source that the query sees, from `first` on; their scores begin at
 * `start`.
 */
typedef struct stretch {
    int source;
    int64_t first, keys, start;
    lh_rows k, v;
    const real *positions; /* the head's table; NULL: the source has none */
    int64_t entry;         /* of the first key; it falls with the key */
} stretch;

/* What one query and head works on. */
typedef struct single {
    const lh_attention_tile *tile;
    real alpha;
    int stretches;
    int64_t keys; /* that it sees, of all sources */
    stretch stretch[LH_KEY_SOURCES];
} single;

static int64_t most_keys(const lh_attention_spec *spec) {
    int64_t keys = 0;
    for (int s = 0; s < spec->source_count; ++s)
        keys += spec->source[s].count;
    return keys;
}

size_t lh_cpu_attention_single_bytes(const lh_attention_spec *spec) {
    return lh_attention_align((size_t)(2 * most_keys(spec) + spec->head_width) * sizeof(real));
}

static stretch stretch_of(const lh_attention_tile *tile, int source, lh_range keys) {
    const lh_attention_spec *spec = tile->spec;
    const lh_key_source *from = &spec->source[source];
    stretch part = {.source = source, .first = keys.begin, .keys = keys.end - keys.begin};
    part.k = lh_head_rows(from->k, tile->batch, tile->head, keys.begin);
    part.v = lh_head_rows(from->v, tile->batch, tile->head, keys.begin);
    if (lh_attention_has_positions(spec, source)) {
        const int64_t table = spec->position_heads > 1 ? tile->head : 0;
        part.positions = spec->positions + table * spec->position_count * spec->head_width;
        part.entry = lh_attention_distance(tile, source, keys.begin) - spec->position_first;
    }
    return part;
}

static single single_of(const lh_attention_tile *tile) {
    const lh_attention_spec *spec = tile->spec;
    single one = {.tile = tile, .alpha = spec->scale * lh_attention_head_scale(spec, tile->head)};
    for (int s = 0; s < spec->source_count; ++s) {
        lh_range keys = lh_cpu_attention_visible(spec, s, 0);
        keys.end = lh_min(keys.end, lh_attention_filled(&spec->source[s], tile->batch));
        if (keys.begin >= keys.end) continue;
        stretch *part = &one.stretch[one.stretches++];
        *part = stretch_of(tile, s, keys);
        part->start = one.keys;
        one.keys += part->keys;
    }
    return one;
}

/* The position vector of key n of a stretch that has them. */
LH_SPECIALIZED const real *position_of(const single *one, const stretch *part, int64_t width,
                                       int64_t n) {
    const int64_t last = one->tile->spec->position_count - 1;
    return part->positions + lh_max(0, lh_min(part->entry - n, last)) * width;
}

LH_SPECIALIZED void score_keys(const single *one, int64_t width, const real *q, real *score) {
    for (int s = 0; s < one->stretches; ++s) {
        const stretch *part = &one->stretch[s];
        real *y = score + part->start;
        if (part->positions)
            for (int64_t n = 0; n < part->keys; ++n)
                y[n] =
                    one->alpha * lh_attention_dot_sum(width, q, part->k.data + n * part->k.stride,
                                                      position_of(one, part, width, n));
        else
            for (int64_t n = 0; n < part->keys; ++n)
                y[n] = one->alpha * lh_attention_dot(width, q, part->k.data + n * part->k.stride);
        if (one->tile->table->bias)
            for (int64_t n = 0; n < part->keys; ++n)
                y[n] += *lh_attention_bias(one->tile, part->source, part->first + n);
    }
}

/* weight *= what dropout keeps of it. */
static void drop(const single *one, real *weight) {
    const lh_attention_tile *tile = one->tile;
    if (tile->spec->dropout == 0) return;
    uint64_t keep[LH_ATTENTION_KEYS];
    lh_attention_cursor cursor = {0, 0};
    lh_attention_panel panel;
    while (lh_cpu_attention_next_panel(tile->spec, tile->rows, &cursor, &panel)) {
        lh_cpu_attention_keep(tile, &panel, keep);
        for (int n = 0; n < panel.segments; ++n) {
            const lh_attention_segment *segment = &panel.segment[n];
            const lh_key_source *source = &tile->spec->source[segment->source];
            const real scale = lh_cpu_attention_keep_scale(tile->spec, segment->source);
            const int64_t end = lh_min(segment->end, lh_attention_filled(source, tile->batch));
            for (int64_t key = segment->begin; key < end; ++key)
                *weight++ *= (keep[segment->row + key - segment->begin] & 1u) ? scale : 0;
        }
    }
}

/* y += sum over keys of weight * x, four rows at a time: y is read and written less often. */
LH_SPECIALIZED void add_weighted(int64_t width, int64_t keys, const real *weight, lh_rows x,
                                 real *y) {
    int64_t key = 0;
    for (; key + 4 <= keys; key += 4) {
        const real *a = x.data + key * x.stride, *b = a + x.stride, *c = b + x.stride,
                   *e = c + x.stride, *w = weight + key;
#pragma omp simd
        for (int64_t d = 0; d < width; ++d)
            y[d] += (w[0] * a[d] + w[1] * b[d]) + (w[2] * c[d] + w[3] * e[d]);
    }
    for (; key < keys; ++key)
#pragma omp simd
        for (int64_t d = 0; d < width; ++d)
            y[d] += weight[key] * x.data[key * x.stride + d];
}

/* Scores into exp(score - shift), before dropout; gives their sum. */
static real exponentiate(int64_t keys, real shift, real *score) {
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t key = 0; key < keys; ++key) {
        score[key] = lh_exp(score[key] - shift);
        sum += score[key];
    }
    return sum;
}

LH_SPECIALIZED void forward(const lh_attention_forward_args *args, const single *one, int64_t width,
                            real *score) {
    const lh_attention_tile *tile = one->tile;
    real *out = lh_head_rows(args->out, tile->batch, tile->head, 0).data;
    score_keys(one, width, lh_head_rows(args->q, tile->batch, tile->head, 0).data, score);
    real maximum = -LH_R(INFINITY);
    for (int64_t n = 0; n < one->keys; ++n)
        maximum = score[n] > maximum ? score[n] : maximum;
    const real shift = maximum == -LH_R(INFINITY) ? 0 : maximum;
    const real sum = exponentiate(one->keys, shift, score);
    drop(one, score);
    for (int64_t d = 0; d < width; ++d)
        out[d] = 0;
    for (int s = 0; s < one->stretches; ++s) {
        const stretch *part = &one->stretch[s];
        add_weighted(width, part->keys, score + part->start, part->v, out);
    }
    for (int64_t d = 0; d < width; ++d)
        out[d] = sum == 0 ? 0 : out[d] / sum;
    args->lse[tile->batch * args->spec.heads + tile->head] =
        maximum == -LH_R(INFINITY) && sum == 0 ? -LH_R(INFINITY) : shift + (real)log((double)sum);
}

/* A step of Feedback is a tenth shorter where the width is known. The comparison's models, which
 * meet a number of parameters, have 18 to 24. */
void lh_cpu_attention_single_forward(const lh_attention_forward_args *args,
                                     const lh_attention_tile *tile, real *memory) {
    const single one = single_of(tile);
    switch (args->spec.head_width) {
    case 16:
        forward(args, &one, 16, memory);
        break;
    case 18:
        forward(args, &one, 18, memory);
        break;
    case 20:
        forward(args, &one, 20, memory);
        break;
    case 22:
        forward(args, &one, 22, memory);
        break;
    case 24:
        forward(args, &one, 24, memory);
        break;
    case 32:
        forward(args, &one, 32, memory);
        break;
    case 64:
        forward(args, &one, 64, memory);
        break;
    default:
        forward(args, &one, args->spec.head_width, memory);
    }
}

/* ---- backward ---- */

/* On entry the scores; on exit the kept weights and the gradients of the scores. */
LH_SPECIALIZED void differentiate(const single *one, const lh_attention_backward_args *args,
                                  int64_t width, real *weight, real *gradient) {
    const lh_attention_tile *tile = one->tile;
    const real *dout = lh_head_rows(args->dout, tile->batch, tile->head, 0).data;
    const real *out = lh_head_rows(args->out, tile->batch, tile->head, 0).data;
    const real lse = args->lse[tile->batch * args->spec.heads + tile->head];
    const real delta = lh_attention_dot(width, dout, out);
    const real shift = lse == -LH_R(INFINITY) ? LH_R(INFINITY) : lse;
    for (int s = 0; s < one->stretches; ++s) {
        const stretch *part = &one->stretch[s];
        for (int64_t n = 0; n < part->keys; ++n)
            gradient[part->start + n] =
                lh_attention_dot(width, dout, part->v.data + n * part->v.stride);
    }
    drop(one, gradient);
#pragma omp simd
    for (int64_t n = 0; n < one->keys; ++n) {
        const real p = lh_exp(weight[n] - shift);
        gradient[n] = p * (gradient[n] - delta);
        weight[n] = p;
    }
    drop(one, weight);
}

/* Rows of y += factor * weight x: what a vector x gives to every key. */
LH_SPECIALIZED void add_outer(int64_t width, int64_t keys, const real *weight, real factor,
                              const real *x, lh_rows y) {
    for (int64_t n = 0; y.data && n < keys; ++n) {
        const real w = factor * weight[n];
        real *row = y.data + n * y.stride;
#pragma omp simd
        for (int64_t d = 0; d < width; ++d)
            row[d] += w * x[d];
    }
}

/* dq += gradient r, and sums (optional, by distance) += alpha * gradient q. */
LH_SPECIALIZED void add_positions(const single *one, const stretch *part, int64_t width,
                                  const real *gradient, const real *q, real *dq, real *sums) {
    const int64_t last = one->tile->spec->position_count - 1;
    const bool inside = part->entry <= last && part->entry - part->keys + 1 >= 0;
    const lh_rows rows = {(real *)part->positions + part->entry * width, -width};
    if (inside) add_weighted(width, part->keys, gradient, rows, dq);
    for (int64_t n = 0; !inside && n < part->keys; ++n) {
        const lh_rows row = {(real *)position_of(one, part, width, n), width};
        add_weighted(width, 1, gradient + n, row, dq);
    }
    if (sums == NULL) return;
    const int64_t first =
        lh_attention_distance(one->tile, part->source, part->first) - one->tile->table->nearest;
    const lh_rows falling = {sums + first * width, -width};
    add_outer(width, part->keys, gradient, one->alpha, q, falling);
}

static void sum_distances(const single *one, const stretch *part, const real *gradient,
                          double *sums) {
    sums += lh_attention_distance(one->tile, part->source, part->first) - one->tile->table->nearest;
    for (int64_t n = 0; n < part->keys; ++n)
        sums[-n] += (double)gradient[n];
}

/* What leaves a stretch of a task. */
LH_SPECIALIZED void add_gradients(const single *one, const lh_attention_plan *plan, int64_t task,
                                  const stretch *part, int64_t width, const real *weight,
                                  const real *gradient, real *dq) {
    const lh_attention_tile *tile = one->tile;
    const real *q = lh_head_rows(plan->args->q, tile->batch, tile->head, 0).data;
    const real *dout = lh_head_rows(plan->args->dout, tile->batch, tile->head, 0).data;
    add_weighted(width, part->keys, gradient, part->k, dq);
    if (part->positions)
        add_positions(one, part, width, gradient, q, dq,
                      lh_cpu_attention_plan_positions(plan, task));
    if (plan->by_distance && !tile->spec->source[part->source].everywhere)
        sum_distances(one, part, gradient, lh_cpu_attention_plan_distance(plan, task));
    add_outer(width, part->keys, gradient, one->alpha, q,
              lh_cpu_attention_plan_target(plan, task, part->source, false, part->first));
    add_outer(width, part->keys, weight, 1, dout,
              lh_cpu_attention_plan_target(plan, task, part->source, true, part->first));
}

LH_SPECIALIZED void backward(const lh_attention_plan *plan, int64_t task, const single *one,
                             int64_t width, real *memory) {
    const lh_attention_backward_args *args = plan->args;
    const lh_attention_tile *tile = one->tile;
    const real *q = lh_head_rows(args->q, tile->batch, tile->head, 0).data;
    real *weight = memory, *gradient = weight + one->keys, *dq = gradient + one->keys;
    memset(dq, 0, (size_t)width * sizeof *dq);
    score_keys(one, width, q, weight);
    differentiate(one, args, width, weight, gradient);
    for (int s = 0; s < one->stretches; ++s) {
        const stretch *part = &one->stretch[s];
        add_gradients(one, plan, task, part, width, weight + part->start, gradient + part->start,
                      dq);
    }
    if (args->lse[tile->batch * args->spec.heads + tile->head] != -LH_R(INFINITY))
        *lh_cpu_attention_plan_scale(plan, task) +=
            (double)args->spec.scale * (double)lh_attention_dot(width, q, dq);
    real *y = lh_head_rows(args->dq, tile->batch, tile->head, 0).data;
    for (int64_t d = 0; args->dq.act.data && d < width; ++d)
        y[d] = one->alpha * dq[d] + (args->dq_write == LH_ADD ? y[d] : 0);
}

void lh_cpu_attention_single_backward(const lh_attention_plan *plan, int64_t task, real *memory) {
    const lh_attention_tile tile = lh_cpu_attention_plan_task(plan, task);
    const single one = single_of(&tile);
    lh_cpu_attention_plan_clear(plan, task);
    switch (tile.spec->head_width) {
    case 16:
        backward(plan, task, &one, 16, memory);
        break;
    case 18:
        backward(plan, task, &one, 18, memory);
        break;
    case 20:
        backward(plan, task, &one, 20, memory);
        break;
    case 22:
        backward(plan, task, &one, 22, memory);
        break;
    case 24:
        backward(plan, task, &one, 24, memory);
        break;
    case 32:
        backward(plan, task, &one, 32, memory);
        break;
    case 64:
        backward(plan, task, &one, 64, memory);
        break;
    default:
        backward(plan, task, &one, tile.spec->head_width, memory);
    }
}
