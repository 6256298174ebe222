/* How the backward pass of attention is cut into tasks, where each leaves its sums, and how they
 * are joined. */
#include "kernels/cpu/attention_plan.h"

#include <string.h>

/* Tasks that keep a machine busy, and the fewest tiles worth a range of their own. */
enum { WANTED_TASKS = 16, RANGE_TILES = 4 };

/* Sums of position gradients are kept for so many groups of tasks: with one for every task, joining
 * them would cost more than making them where each task is a single query. */
enum { POSITION_GROUPS = 16 };

enum { JOINED = 64 }; /* elements of a position whose sums are joined side by side */

static bool wants_keys(const lh_key_source *source) {
    return source->dk.act.data || source->dv.act.data;
}

static size_t reserve(lh_attention_plan *plan, int64_t count, size_t size) {
    const size_t offset = plan->bytes;
    plan->bytes += lh_attention_align((size_t)count * size);
    return offset;
}

static lh_range range_rows(const lh_attention_plan *plan, int64_t range) {
    return lh_chunk(plan->args->spec.queries, plan->range_rows, range);
}

static void cut_queries(lh_attention_plan *plan) {
    const lh_attention_spec *spec = &plan->args->spec;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_ATTENTION_ROWS);
    const int64_t pairs = lh_max(1, spec->batch * spec->heads);
    const int64_t wanted = lh_chunk_count(WANTED_TASKS, pairs);
    const int64_t ranges = lh_max(1, lh_min(wanted, tiles / RANGE_TILES));
    plan->range_rows = lh_max(1, lh_chunk_count(tiles, ranges)) * LH_ATTENTION_ROWS;
    plan->ranges = lh_max(1, lh_chunk_count(spec->queries, plan->range_rows));
    plan->tasks = spec->batch * spec->heads * plan->ranges;
    plan->apart = plan->ranges > 1 || plan->args->q.act.dtype == LH_BF16;
}

static void measure_partials(lh_attention_plan *plan) {
    const lh_attention_spec *spec = &plan->args->spec;
    plan->partial_size = 0;
    for (int s = 0; s < spec->source_count && plan->apart; ++s) {
        int64_t most = 0;
        for (int64_t range = 0; range < plan->ranges && wants_keys(&spec->source[s]); ++range) {
            const lh_range keys = lh_cpu_attention_visible_rows(spec, s, range_rows(plan, range));
            most = lh_max(most, keys.end - keys.begin);
        }
        plan->partial_keys[s] = most;
        plan->partial_start[s] = plan->partial_size;
        plan->partial_size += 2 * most * spec->head_width;
    }
}

/* How many sums of position gradients there are: one for each group and table. */
static int64_t position_sums(const lh_attention_plan *plan) {
    return plan->groups * lh_max(1, plan->args->spec.position_heads);
}

void lh_cpu_attention_plan_make(const lh_attention_backward_args *args, size_t slot_bytes,
                                lh_attention_plan *plan) {
    const lh_attention_spec *spec = &args->spec;
    plan->args = args;
    plan->by_distance = spec->bias && (args->dbias || args->dhead_scale);
    cut_queries(plan);
    measure_partials(plan);
    plan->bytes = lh_cpu_attention_table_bytes(spec);
    plan->table.span = lh_cpu_attention_table_span(spec);
    plan->partial = reserve(plan, plan->tasks * plan->partial_size, sizeof(real));
    plan->distance =
        reserve(plan, plan->by_distance ? plan->tasks * plan->table.span : 0, sizeof(double));
    plan->position_size =
        spec->positions && args->dpositions ? plan->table.span * spec->head_width : 0;
    plan->groups = plan->position_size > 0 ? lh_min(plan->tasks, POSITION_GROUPS) : plan->tasks;
    plan->position = reserve(plan, position_sums(plan) * plan->position_size, sizeof(real));
    plan->scale = reserve(plan, plan->tasks, sizeof(double));
    plan->bucket =
        reserve(plan, plan->by_distance ? spec->heads * spec->buckets : 0, sizeof(double));
    plan->slot = reserve(plan, lh_attention_slots(), slot_bytes);
    plan->slot_bytes = slot_bytes;
}

lh_attention_tile lh_cpu_attention_plan_task(const lh_attention_plan *plan, int64_t task) {
    const lh_attention_spec *spec = &plan->args->spec;
    const int64_t pair = task / plan->ranges;
    const lh_attention_tile tile = {spec,
                                    &plan->table,
                                    pair / spec->heads,
                                    pair % spec->heads,
                                    range_rows(plan, task % plan->ranges),
                                    NULL};
    return tile;
}

static real *partial_of(const lh_attention_plan *plan, int64_t task, int source, bool values) {
    real *partial = (real *)(void *)(plan->memory + plan->partial);
    const int64_t keys = values ? plan->partial_keys[source] : 0;
    return partial + task * plan->partial_size + plan->partial_start[source] +
           keys * plan->args->spec.head_width;
}

lh_rows lh_cpu_attention_plan_target(const lh_attention_plan *plan, int64_t task, int source,
                                     bool values, int64_t begin) {
    const lh_attention_spec *spec = &plan->args->spec;
    const lh_attention_tile tile = lh_cpu_attention_plan_task(plan, task);
    const lh_heads *out = values ? &spec->source[source].dv : &spec->source[source].dk;
    lh_rows target = {NULL, spec->head_width};
    if (!out->act.data) return target;
    if (!plan->apart) return lh_head_rows(*out, tile.batch, tile.head, begin);
    const lh_range keys = lh_cpu_attention_visible_rows(spec, source, tile.rows);
    target.data = partial_of(plan, task, source, values) + (begin - keys.begin) * spec->head_width;
    return target;
}

double *lh_cpu_attention_plan_distance(const lh_attention_plan *plan, int64_t task) {
    return (double *)(void *)(plan->memory + plan->distance) + task * plan->table.span;
}

double *lh_cpu_attention_plan_scale(const lh_attention_plan *plan, int64_t task) {
    return (double *)(void *)(plan->memory + plan->scale) + task;
}

lh_range lh_cpu_attention_plan_group(const lh_attention_plan *plan, int64_t group) {
    const lh_range tasks = {group * plan->tasks / plan->groups,
                            (group + 1) * plan->tasks / plan->groups};
    return tasks;
}

static real *group_sums(const lh_attention_plan *plan, int64_t group, int64_t table) {
    real *sums = (real *)(void *)(plan->memory + plan->position);
    return sums + (group * plan->args->spec.position_heads + table) * plan->position_size;
}

real *lh_cpu_attention_plan_positions(const lh_attention_plan *plan, int64_t task) {
    if (plan->position_size == 0) return NULL;
    const lh_attention_spec *spec = &plan->args->spec;
    const int64_t table = spec->position_heads > 1 ? task / plan->ranges % spec->heads : 0;
    /* The group that holds the task: the last one that begins at or before it. */
    return group_sums(plan, ((task + 1) * plan->groups - 1) / plan->tasks, table);
}

static void clear_rows(lh_rows x, int64_t count, int64_t width) {
    for (int64_t row = 0; x.data && row < count; ++row)
        for (int64_t d = 0; d < width; ++d)
            x.data[row * x.stride + d] = 0;
}

void lh_cpu_attention_plan_clear_group(const lh_attention_plan *plan, int64_t group) {
    if (plan->position_size == 0) return;
    const int64_t elements = plan->args->spec.position_heads * plan->position_size;
    memset(group_sums(plan, group, 0), 0, (size_t)elements * sizeof(real));
}

void lh_cpu_attention_plan_clear(const lh_attention_plan *plan, int64_t task) {
    const lh_attention_spec *spec = &plan->args->spec;
    const lh_attention_tile tile = lh_cpu_attention_plan_task(plan, task);
    for (int s = 0; s < spec->source_count; ++s) {
        lh_range keys = {0, spec->source[s].count};
        if (plan->apart)
            keys = lh_cpu_attention_visible_rows(spec, s, tile.rows);
        else if (spec->source[s].write == LH_ADD)
            continue;
        for (int values = 0; values < 2; ++values)
            clear_rows(lh_cpu_attention_plan_target(plan, task, s, values, keys.begin),
                       keys.end - keys.begin, spec->head_width);
    }
    double *distance = lh_cpu_attention_plan_distance(plan, task);
    for (int64_t x = 0; plan->by_distance && x < plan->table.span; ++x)
        distance[x] = 0;
    *lh_cpu_attention_plan_scale(plan, task) = 0;
}

/* What a range has summed for a key; NULL when it does not see it. */
static real *sum_of_range(const lh_attention_plan *plan, int64_t pair, int64_t range, int source,
                          bool values, int64_t key) {
    const lh_attention_spec *spec = &plan->args->spec;
    const lh_range seen = lh_cpu_attention_visible_rows(spec, source, range_rows(plan, range));
    if (key < seen.begin || key >= seen.end) return NULL;
    return partial_of(plan, pair * plan->ranges + range, source, values) +
           (key - seen.begin) * spec->head_width;
}

static void add_row(int64_t width, const real *x, real *y) {
    for (int64_t d = 0; d < width; ++d)
        y[d] += x[d];
}

static void join_reals(const lh_attention_plan *plan, int64_t pair, int source, bool values,
                       int64_t key, real *y) {
    const lh_attention_spec *spec = &plan->args->spec;
    for (int64_t d = 0; spec->source[source].write == LH_SET && d < spec->head_width; ++d)
        y[d] = 0;
    for (int64_t range = 0; range < plan->ranges; ++range) {
        const real *x = sum_of_range(plan, pair, range, source, values, key);
        if (x != NULL) add_row(spec->head_width, x, y);
    }
}

/* The first range's sum becomes that of all, which is rounded once. */
static void join_bf16(const lh_attention_plan *plan, int64_t pair, int source, bool values,
                      int64_t key, lh_bf16 *y) {
    const lh_attention_spec *spec = &plan->args->spec;
    const bool add = spec->source[source].write == LH_ADD;
    real *sum = NULL;
    for (int64_t range = 0; range < plan->ranges; ++range) {
        real *x = sum_of_range(plan, pair, range, source, values, key);
        if (sum != NULL && x != NULL) add_row(spec->head_width, x, sum);
        if (sum == NULL) sum = x;
    }
    for (int64_t d = 0; d < spec->head_width; ++d) {
        const real value = sum != NULL ? sum[d] : 0;
        y[d] = lh_bf16_round(add ? lh_bf16_widen(y[d]) + value : value);
    }
}

/* Row `key` of a source's gradient: what the ranges that see it have summed, in their order. */
static void join_key(const lh_attention_plan *plan, int64_t pair, int source, bool values,
                     int64_t key) {
    const lh_attention_spec *spec = &plan->args->spec;
    const lh_heads out = values ? spec->source[source].dv : spec->source[source].dk;
    if (!out.act.data) return;
    const lh_attention_operand y =
        lh_attention_operand_of(out, pair / spec->heads, pair % spec->heads, key);
    void *row = (void *)(uintptr_t)y.data;
    if (y.dtype == LH_BF16)
        join_bf16(plan, pair, source, values, key, row);
    else
        join_reals(plan, pair, source, values, key, row);
}

static void join_keys(const lh_attention_plan *plan, int source) {
    const lh_attention_spec *spec = &plan->args->spec;
    const int64_t pairs = spec->batch * spec->heads;
    const int64_t blocks = lh_chunk_count(spec->source[source].count, LH_ATTENTION_ROWS);
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads())
    for (int64_t n = 0; n < pairs * blocks; ++n) {
        const lh_range keys = lh_chunk(spec->source[source].count, LH_ATTENTION_ROWS, n % blocks);
        for (int64_t key = keys.begin; key < keys.end; ++key) {
            join_key(plan, n / blocks, source, false, key);
            join_key(plan, n / blocks, source, true, key);
        }
    }
}

/* Gradients of the head's scores summed by bucket, over batch rows and ranges in order. */
static void join_buckets(const lh_attention_plan *plan, int64_t head, double *sum) {
    const lh_attention_spec *spec = &plan->args->spec;
    for (int64_t bucket = 0; bucket < spec->buckets; ++bucket)
        sum[bucket] = 0;
    for (int64_t batch = 0; batch < spec->batch; ++batch)
        for (int64_t range = 0; range < plan->ranges; ++range) {
            const int64_t task = (batch * spec->heads + head) * plan->ranges + range;
            const double *distance = lh_cpu_attention_plan_distance(plan, task);
            for (int64_t x = 0; x < plan->table.span; ++x) {
                const int64_t entry = plan->table.nearest + x - spec->bucket_first;
                sum[spec->bucket_of[lh_max(0, lh_min(entry, spec->bucket_span - 1))]] +=
                    distance[x];
            }
        }
}

static void put(real *y, lh_write write, double value) {
    *y = write == LH_ADD ? (real)((double)*y + value) : (real)value;
}

static void join_head(const lh_attention_plan *plan, int64_t head) {
    const lh_attention_backward_args *args = plan->args;
    const lh_attention_spec *spec = &args->spec;
    double scale_gradient = 0;
    for (int64_t batch = 0; batch < spec->batch; ++batch)
        for (int64_t range = 0; range < plan->ranges; ++range) {
            const int64_t task = (batch * spec->heads + head) * plan->ranges + range;
            scale_gradient += *lh_cpu_attention_plan_scale(plan, task);
        }
    if (plan->by_distance) {
        double *sum = (double *)(void *)(plan->memory + plan->bucket) + head * spec->buckets;
        const double scale = (double)lh_attention_head_scale(spec, head);
        join_buckets(plan, head, sum);
        for (int64_t bucket = 0; bucket < spec->buckets; ++bucket) {
            const int64_t entry = head * spec->buckets + bucket;
            const bool masked = spec->bias[entry] == -LH_R(INFINITY); /* by a weight of 0 */
            if (!masked) scale_gradient += (double)spec->bias[entry] * sum[bucket];
            if (args->dbias) put(&args->dbias[entry], args->dbias_write, scale * sum[bucket]);
        }
    }
    if (args->dhead_scale) put(&args->dhead_scale[head], args->dhead_scale_write, scale_gradient);
}

/* Elements of one entry of a position table: over the groups in order. */
static void sum_position(const lh_attention_plan *plan, int64_t table, lh_range distances,
                         lh_range elements, double *sum) {
    const int64_t width = plan->args->spec.head_width, count = elements.end - elements.begin;
    for (int64_t group = 0; group < plan->groups && distances.begin < distances.end; ++group) {
        const real *sums = group_sums(plan, group, table) + elements.begin;
        for (int64_t x = distances.begin; x < distances.end; ++x) {
#pragma omp simd
            for (int64_t d = 0; d < count; ++d)
                sum[d] += (double)sums[x * width + d];
        }
    }
}

static void join_position(const lh_attention_plan *plan, int64_t entry, lh_range elements) {
    const lh_attention_backward_args *args = plan->args;
    const lh_attention_spec *spec = &args->spec;
    const lh_range distances =
        lh_cpu_attention_position_distances(spec, &plan->table, entry % spec->position_count);
    real *to = args->dpositions + entry * spec->head_width;
    double sum[JOINED] = {0};
    sum_position(plan, entry / spec->position_count, distances, elements, sum);
    for (int64_t d = elements.begin; d < elements.end; ++d)
        put(&to[d], args->dpositions_write, sum[d - elements.begin]);
}

static void join_positions(const lh_attention_plan *plan) {
    const lh_attention_spec *spec = &plan->args->spec;
    const int64_t entries = spec->position_heads * spec->position_count;
    const int64_t parts = lh_chunk_count(spec->head_width, JOINED);
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads())
    for (int64_t n = 0; n < entries * parts; ++n)
        join_position(plan, n / parts, lh_chunk(spec->head_width, JOINED, n % parts));
}

void lh_cpu_attention_plan_join(const lh_attention_plan *plan) {
    const lh_attention_spec *spec = &plan->args->spec;
    for (int s = 0; s < spec->source_count && plan->apart; ++s)
        if (wants_keys(&spec->source[s])) join_keys(plan, s);
    for (int64_t head = 0; head < spec->heads; ++head)
        join_head(plan, head);
    if (spec->positions && plan->args->dpositions) join_positions(plan);
}
