/* ProbSparse attention (Zhou et al. 2021): one task per batch row and head. The chosen queries are
 * gathered, so that their scores are one matrix product with all keys. */
#include "kernels/cpu/attention_inside.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/nearest.h"
#include "kernels/cpu/vector_math.h"

typedef lh_prob_attention_spec attention_spec;
typedef lh_prob_attention_forward_args forward_args;
typedef lh_prob_attention_backward_args backward_args;

/* ---- what a thread works in ---- */

/* score, slope [top][length]; query, other [top][head_width]; sum [head_width]; best [top]. */
typedef struct scratch {
    real *score, *slope, *query, *other, *sum;
    lh_nearest_entry *best;
} scratch;

static size_t best_bytes(const attention_spec *spec) {
    return lh_attention_align((size_t)spec->top * sizeof(lh_nearest_entry));
}

static size_t scratch_bytes(const attention_spec *spec) {
    const int64_t scores = 2 * spec->top * spec->length, rows = 2 * spec->top * spec->head_width;
    return best_bytes(spec) +
           lh_attention_align((size_t)(scores + rows + spec->head_width) * sizeof(real));
}

/* The scratch area of the thread that asks, in `memory`. */
static scratch scratch_at(const attention_spec *spec, uint8_t *memory) {
    uint8_t *own = memory + (size_t)lh_attention_thread() * scratch_bytes(spec);
    real *at = (real *)(void *)(own + best_bytes(spec));
    const int64_t scores = spec->top * spec->length, rows = spec->top * spec->head_width;
    const scratch work = {at,
                          at + scores,
                          at + 2 * scores,
                          at + 2 * scores + rows,
                          at + 2 * (scores + rows),
                          (lh_nearest_entry *)(void *)own};
    return work;
}

static int64_t task_count(const attention_spec *spec) {
    return spec->length > 0 && spec->head_width > 0 ? spec->batch * spec->heads : 0;
}

static real *token_of(lh_rows rows, int64_t token) {
    return rows.data + token * rows.stride;
}

/* Keys that a chosen query sees. */
static int64_t seen_by(const attention_spec *spec, int32_t query) {
    return spec->causal ? query + 1 : spec->length;
}

/* Copies the chosen tokens of x behind one another. */
static lh_rows gather(const attention_spec *spec, const int32_t *chosen, lh_rows x, real *y) {
    const lh_rows rows = {y, spec->head_width};
    for (int64_t n = 0; n < spec->top; ++n)
        for (int64_t d = 0; d < spec->head_width; ++d)
            y[n * spec->head_width + d] = token_of(x, chosen[n])[d];
    return rows;
}

/* ---- choosing ---- */

/* The keys that each query samples, [length][samples]: the same for all batch rows and heads. */
static void draw_samples(const forward_args *args, int32_t *sampled) {
    const uint64_t length = (uint64_t)args->spec.length;
    for (uint64_t n = 0; n < length * (uint64_t)args->samples; ++n) {
        const uint64_t word = lh_random_word(*args->key, n);
        sampled[n] = (int32_t)(word * length >> 32);
    }
}

/* length * M_i: the order is the same, and nothing is divided. */
static real measure_of(const forward_args *args, const real *q, lh_rows k, const int32_t *sampled) {
    real most = -LH_R(INFINITY), sum = 0;
    for (int64_t s = 0; s < args->samples; ++s) {
        const real score = lh_attention_dot(args->spec.head_width, q, token_of(k, sampled[s]));
        most = score > most ? score : most;
        sum += score;
    }
    return (real)args->spec.length * most - sum;
}

/* The queries with the largest measures, rising. */
static void choose(const forward_args *args, lh_rows q, lh_rows k, const int32_t *sampled,
                   lh_nearest_entry *best, int32_t *chosen) {
    lh_nearest nearest = {args->spec.top, 0, best};
    for (int64_t i = 0; i < args->spec.length; ++i) {
        const real measure = measure_of(args, token_of(q, i), k, sampled + i * args->samples);
        const lh_nearest_entry entry = {measure, (int32_t)i};
        lh_nearest_add(&nearest, entry);
    }
    for (int64_t n = 0; n < args->spec.top; ++n) {
        int64_t place = n;
        for (; place > 0 && chosen[place - 1] > best[n].slot; --place)
            chosen[place] = chosen[place - 1];
        chosen[place] = best[n].slot;
    }
}

/* ---- forward ---- */

/* What the queries get that were not chosen. */
static void fill_rest(const forward_args *args, lh_rows v, lh_rows out, real *sum) {
    const attention_spec *spec = &args->spec;
    const int64_t length = spec->length, width = spec->head_width;
    for (int64_t d = 0; d < width; ++d)
        sum[d] = 0;
    for (int64_t j = 0; j < length; ++j) {
        const real *x = token_of(v, j);
        real *y = token_of(out, j);
        for (int64_t d = 0; d < width; ++d)
            y[d] = sum[d] += x[d];
    }
    if (spec->causal) return;
    for (int64_t d = 0; d < width; ++d)
        sum[d] /= (real)length;
    for (int64_t j = 0; j < length; ++j)
        for (int64_t d = 0; d < width; ++d)
            token_of(out, j)[d] = sum[d];
}

/* Softmax of a row of scores over the keys seen, zeros for the others; its log sum exp. */
static real soften(real *score, int64_t seen, int64_t length) {
    real most = -LH_R(INFINITY), sum = 0;
    for (int64_t j = 0; j < seen; ++j)
        most = score[j] > most ? score[j] : most;
    most = most == -LH_R(INFINITY) ? 0 : most;
    for (int64_t j = 0; j < seen; ++j)
        score[j] = lh_exp(score[j] - most);
    for (int64_t j = 0; j < seen; ++j)
        sum += score[j];
    for (int64_t j = 0; j < length; ++j)
        score[j] = j < seen && sum != 0 ? score[j] / sum : 0;
    return most + (real)log((double)sum);
}

static void attend_head(const forward_args *args, int64_t batch, int64_t head,
                        const int32_t *sampled, const scratch *work) {
    const attention_spec *spec = &args->spec;
    const int64_t first = (batch * spec->heads + head) * spec->top;
    int32_t *chosen = args->chosen + first;
    const lh_rows q = lh_head_rows(args->q, batch, head, 0),
                  k = lh_head_rows(args->k, batch, head, 0),
                  v = lh_head_rows(args->v, batch, head, 0),
                  out = lh_head_rows(args->out, batch, head, 0);
    choose(args, q, k, sampled, work->best, chosen);
    fill_rest(args, v, out, work->sum);
    if (spec->top == 0) return;
    const lh_rows query = gather(spec, chosen, q, work->query), score = {work->score, spec->length},
                  mixed = {work->other, spec->head_width};
    lh_blas_multiply(false, true, spec->top, spec->length, spec->head_width, spec->scale, query, k,
                     0, score);
    for (int64_t n = 0; n < spec->top; ++n)
        args->lse[first + n] = soften(token_of(score, n), seen_by(spec, chosen[n]), spec->length);
    lh_blas_multiply(false, false, spec->top, spec->head_width, spec->length, 1, score, v, 0,
                     mixed);
    for (int64_t n = 0; n < spec->top; ++n)
        for (int64_t d = 0; d < spec->head_width; ++d)
            token_of(out, chosen[n])[d] = token_of(mixed, n)[d];
}

static size_t sample_bytes(const forward_args *args) {
    return lh_attention_align((size_t)(args->spec.length * args->samples) * sizeof(int32_t));
}

size_t lh_cpu_prob_attention_forward_workspace(const forward_args *args) {
    return sample_bytes(args) + (size_t)lh_attention_slots() * scratch_bytes(&args->spec);
}

lh_status lh_cpu_prob_attention_forward(const lh_launch *launch, const forward_args *args) {
    const attention_spec *spec = &args->spec;
    const int64_t tasks = task_count(spec);
    int32_t *sampled = launch->workspace;
    uint8_t *memory = (uint8_t *)launch->workspace + sample_bytes(args);
    if (tasks > 0) draw_samples(args, sampled);
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads()) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        const scratch work = scratch_at(spec, memory);
        attend_head(args, task / spec->heads, task % spec->heads, sampled, &work);
    }
    return LH_OK;
}

/* ---- backward ---- */

/* score becomes the weights, slope the gradients of the scores before `scale`. */
static void differentiate_scores(const backward_args *args, int64_t batch, int64_t head,
                                 const scratch *work) {
    const attention_spec *spec = &args->spec;
    const int64_t first = (batch * spec->heads + head) * spec->top, length = spec->length;
    const lh_rows out = lh_head_rows(args->out, batch, head, 0);
    for (int64_t n = 0; n < spec->top; ++n) {
        const int32_t query = args->chosen[first + n];
        const int64_t seen = seen_by(spec, query);
        const real lse = args->lse[first + n], shift = lse == -LH_R(INFINITY) ? 0 : lse;
        real *weight = work->score + n * length, *slope = work->slope + n * length;
        const real delta = lh_attention_dot(spec->head_width, work->other + n * spec->head_width,
                                            token_of(out, query));
        for (int64_t j = 0; j < length; ++j)
            weight[j] = j < seen ? lh_exp(weight[j] - shift) : 0;
        for (int64_t j = 0; j < length; ++j)
            slope[j] = j < seen ? spec->scale * weight[j] * (slope[j] - delta) : 0;
    }
}

/* dq of the chosen tokens; the others' is zero. */
static void scatter_queries(const backward_args *args, int64_t batch, int64_t head,
                            const scratch *work) {
    const attention_spec *spec = &args->spec;
    const int32_t *chosen = args->chosen + (batch * spec->heads + head) * spec->top;
    const lh_rows dq = lh_head_rows(args->dq, batch, head, 0);
    for (int64_t i = 0; args->dq_write == LH_SET && i < spec->length; ++i)
        for (int64_t d = 0; d < spec->head_width; ++d)
            token_of(dq, i)[d] = 0;
    for (int64_t n = 0; n < spec->top; ++n)
        for (int64_t d = 0; d < spec->head_width; ++d)
            token_of(dq, chosen[n])[d] += work->query[n * spec->head_width + d];
}

/* dv of what the queries got that were not chosen: of all the same, or of those from j on. */
static void add_rest(const backward_args *args, int64_t batch, int64_t head, real *sum) {
    const attention_spec *spec = &args->spec;
    const int32_t *chosen = args->chosen + (batch * spec->heads + head) * spec->top;
    const lh_rows dout = lh_head_rows(args->dout, batch, head, 0),
                  dv = lh_head_rows(args->dv, batch, head, 0);
    int64_t n = spec->top - 1;
    for (int64_t d = 0; d < spec->head_width; ++d)
        sum[d] = 0;
    for (int64_t j = spec->length - 1; j >= 0; --j) {
        const bool was_chosen = n >= 0 && chosen[n] == j;
        n -= was_chosen;
        for (int64_t d = 0; !was_chosen && d < spec->head_width; ++d)
            sum[d] += token_of(dout, j)[d];
        for (int64_t d = 0; spec->causal && d < spec->head_width; ++d)
            token_of(dv, j)[d] += sum[d];
    }
    for (int64_t j = 0; !spec->causal && j < spec->length; ++j)
        for (int64_t d = 0; d < spec->head_width; ++d)
            token_of(dv, j)[d] += sum[d] / (real)spec->length;
}

/* y = or += weight^T x over the chosen; without one y is cleared or left. */
static void spread(const attention_spec *spec, const real *weight, real *x, lh_write write,
                   lh_rows y) {
    const lh_rows weights = {(real *)weight, spec->length}, rows = {x, spec->head_width};
    if (spec->top > 0) {
        lh_blas_multiply(true, false, spec->length, spec->head_width, spec->top, 1, weights, rows,
                         write == LH_ADD ? LH_R(1) : 0, y);
        return;
    }
    for (int64_t j = 0; write == LH_SET && j < spec->length; ++j)
        for (int64_t d = 0; d < spec->head_width; ++d)
            token_of(y, j)[d] = 0;
}

static void differentiate_head(const backward_args *args, int64_t batch, int64_t head,
                               const scratch *work) {
    const attention_spec *spec = &args->spec;
    const int32_t *chosen = args->chosen + (batch * spec->heads + head) * spec->top;
    const lh_rows k = lh_head_rows(args->k, batch, head, 0),
                  v = lh_head_rows(args->v, batch, head, 0), score = {work->score, spec->length},
                  slope = {work->slope, spec->length};
    const lh_rows query = gather(spec, chosen, lh_head_rows(args->q, batch, head, 0), work->query),
                  dout =
                      gather(spec, chosen, lh_head_rows(args->dout, batch, head, 0), work->other);
    if (spec->top > 0) {
        lh_blas_multiply(false, true, spec->top, spec->length, spec->head_width, spec->scale, query,
                         k, 0, score);
        lh_blas_multiply(false, true, spec->top, spec->length, spec->head_width, 1, dout, v, 0,
                         slope);
    }
    differentiate_scores(args, batch, head, work);
    if (args->dv.act.data) {
        spread(spec, work->score, work->other, args->dv_write,
               lh_head_rows(args->dv, batch, head, 0));
        add_rest(args, batch, head, work->sum);
    }
    if (args->dk.act.data)
        spread(spec, work->slope, work->query, args->dk_write,
               lh_head_rows(args->dk, batch, head, 0));
    if (!args->dq.act.data) return;
    if (spec->top > 0)
        lh_blas_multiply(false, false, spec->top, spec->head_width, spec->length, 1, slope, k, 0,
                         query);
    scatter_queries(args, batch, head, work);
}

size_t lh_cpu_prob_attention_backward_workspace(const backward_args *args) {
    return (size_t)lh_attention_slots() * scratch_bytes(&args->spec);
}

lh_status lh_cpu_prob_attention_backward(const lh_launch *launch, const backward_args *args) {
    const attention_spec *spec = &args->spec;
    const int64_t tasks = task_count(spec);
#pragma omp parallel for schedule(dynamic) num_threads(lh_attention_threads()) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        const scratch work = scratch_at(spec, launch->workspace);
        differentiate_head(args, task / spec->heads, task % spec->heads, &work);
    }
    return LH_OK;
}
