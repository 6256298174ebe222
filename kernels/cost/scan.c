/* Of recurrences over time: decay_scan.cu, delta_rule.cu, scan_chunk.cu of kernels/cuda. A chunk's
 * work is products of its tokens, its keys and its values, all in f32 without tensor cores. */
#include "kernels/cost/cost.h"

enum { CHUNK = 64 };

/* Sizes over all batch rows and heads; FLOPs of one product of each sort. */
typedef struct scan_sizes {
    int64_t pairs, chunks, groups; /* of batch rows and heads, chunks of a row, rows and groups */
    int64_t state;                 /* elements of one pair */
    double keys, values, states;   /* elements: q or k, v or y, states between chunks */
    double by_keys, by_values, by_states;
} scan_sizes;

static scan_sizes sizes_of(const lh_decay_scan_spec *spec) {
    const int64_t pairs = spec->batch * spec->heads, chunks = lh_chunk_count(spec->length, CHUNK);
    const int64_t state = spec->key_width * spec->value_width;
    const double tokens = (double)(pairs * spec->length);
    return (scan_sizes){.pairs = pairs,
                        .chunks = chunks,
                        .groups = spec->batch * spec->groups,
                        .state = state,
                        .keys =
                            (double)(spec->batch * spec->groups * spec->length * spec->key_width),
                        .values = tokens * (double)spec->value_width,
                        .states = (double)(pairs * chunks * state),
                        .by_keys = 2 * tokens * CHUNK * (double)spec->key_width,
                        .by_values = 2 * tokens * CHUNK * (double)spec->value_width,
                        .by_states = 2 * tokens * (double)state};
}

static void sum_decays(lh_cost *cost, const lh_decay_scan_spec *spec, const scan_sizes *sizes) {
    const double tokens = (double)(sizes->pairs * spec->length);
    lh_cost_launch(cost, sizes->pairs * sizes->chunks);
    cost->read += lh_cost_reals(spec->log_decay, tokens);
    cost->written += tokens * LH_COST_DOUBLE;
}

/* What each chunk adds to the state. */
static void contributions(lh_cost *cost, const scan_sizes *sizes) {
    lh_cost_launch(cost, sizes->pairs * sizes->chunks * sizes->state);
    cost->products += sizes->by_states;
    cost->read += (sizes->keys + sizes->values) * LH_COST_REAL;
    cost->written += sizes->states * LH_COST_REAL;
}

/* States between chunks, one after the other, from one that is given to one that is taken. */
static void join_states(lh_cost *cost, const scan_sizes *sizes) {
    const double bytes = (sizes->states + (double)(sizes->pairs * sizes->state)) * LH_COST_REAL;
    lh_cost_launch(cost, sizes->pairs * sizes->state);
    cost->read += bytes;
    cost->written += bytes;
}

lh_cost lh_cost_decay_scan_forward(const lh_decay_scan_forward_args *args) {
    const scan_sizes sizes = sizes_of(&args->spec);
    lh_cost cost = {.kind = LH_COST_REFERENCE};
    sum_decays(&cost, &args->spec, &sizes);
    contributions(&cost, &sizes);
    join_states(&cost, &sizes);
    lh_cost_launch(&cost, sizes.pairs * sizes.chunks);
    cost.products += sizes.by_keys + sizes.by_values + sizes.by_states;
    cost.read += (2 * sizes.keys + sizes.values + sizes.states) * LH_COST_REAL;
    cost.written += sizes.values * LH_COST_REAL;
    return cost;
}

/* The last launch: P and its gradient, and what keys, queries and values get from both. */
static void gradients(lh_cost *cost, const scan_sizes *sizes) {
    lh_cost_launch(cost, sizes->groups * sizes->chunks);
    cost->products += 3 * sizes->by_keys + 2 * sizes->by_values + 3 * sizes->by_states;
    cost->read += (2 * sizes->keys + 2 * sizes->values + 2 * sizes->states) * LH_COST_REAL;
    cost->written += (2 * sizes->keys + sizes->values) * LH_COST_REAL;
}

lh_cost lh_cost_decay_scan_backward(const lh_decay_scan_backward_args *args) {
    const scan_sizes sizes = sizes_of(&args->spec);
    lh_cost cost = {.kind = LH_COST_REFERENCE};
    sum_decays(&cost, &args->spec, &sizes);
    for (int direction = 0; direction < 2; ++direction) {
        contributions(&cost, &sizes);
        join_states(&cost, &sizes);
    }
    gradients(&cost, &sizes);
    return cost;
}

/* The systems of all chunks, and their inverses. */
static void invert(lh_cost *cost, const scan_sizes *sizes) {
    const double systems = (double)(sizes->pairs * sizes->chunks) * CHUNK * CHUNK;
    lh_cost_launch(cost, sizes->pairs * sizes->chunks);
    cost->products += sizes->by_keys + systems * CHUNK / 3;
    cost->read += sizes->keys * LH_COST_REAL;
    cost->written += systems * LH_COST_REAL;
}

/* One block walks over the chunks of a tile of value columns. */
static void walk(lh_cost *cost, const scan_sizes *sizes) {
    cost->launches += 1;
    cost->products += sizes->by_values + 2 * sizes->by_states;
    cost->read +=
        (sizes->keys + sizes->values + (double)(sizes->pairs * sizes->chunks) * CHUNK * CHUNK) *
        LH_COST_REAL;
    cost->written += sizes->values * LH_COST_REAL;
}

lh_cost lh_cost_delta_rule_forward(const lh_delta_rule_forward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    const scan_sizes sizes = sizes_of(scan);
    lh_cost cost = {.kind = LH_COST_REFERENCE};
    if (sizes.values == 0) return cost;
    sum_decays(&cost, scan, &sizes);
    invert(&cost, &sizes);
    walk(&cost, &sizes);
    return cost;
}

lh_cost lh_cost_delta_rule_backward(const lh_delta_rule_backward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    const scan_sizes sizes = sizes_of(scan);
    lh_cost cost = {.kind = LH_COST_REFERENCE};
    if (sizes.pairs == 0) return cost;
    sum_decays(&cost, scan, &sizes);
    invert(&cost, &sizes);
    contributions(&cost, &sizes);
    join_states(&cost, &sizes);
    walk(&cost, &sizes);
    gradients(&cost, &sizes);
    return cost;
}
