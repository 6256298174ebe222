/* Of recurrence encodings: kernels/cuda/rem.cu. A thread walks along the keys for each column of a
 * head and remainder of its dilation. */
#include "kernels/cost/cost.h"

enum { OF_STEP = 8 /* FLOPs of a step of a scan */, SHARES = 3 /* doubles of a column */ };

static double elements_of(const lh_rem_spec *spec, int64_t tokens, int64_t heads) {
    return (double)(spec->batch * tokens * heads * spec->head_width);
}

static int64_t columns_of(const lh_rem_spec *spec) {
    int64_t most = 1;
    for (int h = 0; h < spec->encoded; ++h)
        most = lh_max(most, spec->head[h].dilation);
    return spec->batch * spec->encoded * most * spec->head_width;
}

/* Tokens that a scan passes: queries, and keys with positions. */
static int64_t tokens_of(const lh_rem_spec *spec) {
    int64_t tokens = spec->queries;
    for (int s = 0; s < spec->source_count; ++s)
        tokens += spec->source[s].everywhere ? 0 : spec->source[s].count;
    return tokens * (spec->both_ways ? 2 : 1);
}

/* One launch of scans, which reads all tokens of the encoded heads. */
static void scan(lh_cost *cost, const lh_rem_spec *spec) {
    const double passed = elements_of(spec, tokens_of(spec), spec->encoded);
    lh_cost_launch(cost, columns_of(spec));
    cost->flops += OF_STEP * passed;
    cost->read += passed * LH_COST_REAL;
}

/* What the heads that are not encoded keep, and the others' own share. */
static void keep_rest(lh_cost *cost, const lh_rem_spec *spec, lh_write write) {
    const double elements = elements_of(spec, spec->queries, spec->heads);
    lh_cost_launch(cost, (int64_t)elements);
    cost->flops += elements;
    cost->read += elements * LH_COST_REAL;
    lh_cost_write(cost, elements * LH_COST_REAL, write);
}

lh_cost lh_cost_rem_forward(const lh_rem_forward_args *args) {
    const lh_rem_spec *spec = &args->spec;
    lh_cost cost = {0};
    keep_rest(&cost, spec, LH_SET);
    scan(&cost, spec);
    cost.written += elements_of(spec, spec->queries, spec->encoded) * LH_COST_REAL;
    return cost;
}

static void value_gradients(lh_cost *cost, const lh_rem_spec *spec) {
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        const double elements = elements_of(spec, source->count, spec->heads);
        if (source->dv.act.data == NULL || source->write == LH_ADD) continue;
        lh_cost_launch(cost, (int64_t)elements);
        cost->written += elements * LH_COST_REAL;
    }
    scan(cost, spec);
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        if (source->dv.act.data == NULL || source->everywhere) continue;
        cost->written += elements_of(spec, source->count, spec->encoded) * LH_COST_REAL;
    }
}

static void entries(lh_cost *cost, const real *to, int64_t count, lh_write write) {
    if (to == NULL) return;
    lh_cost_launch(cost, count);
    lh_cost_write(cost, (double)count * LH_COST_REAL, write);
}

lh_cost lh_cost_rem_backward(const lh_rem_backward_args *args) {
    const lh_rem_spec *spec = &args->spec;
    const double shares = (double)columns_of(spec) * SHARES * LH_COST_DOUBLE;
    lh_cost cost = {0};
    if (args->dattention.act.data != NULL) keep_rest(&cost, spec, args->dattention_write);
    value_gradients(&cost, spec);
    scan(&cost, spec); /* what each column adds to the gradients of parameters */
    cost.read += elements_of(spec, spec->queries, spec->encoded) * LH_COST_REAL + shares;
    cost.written += shares;
    lh_cost_launch(&cost, spec->batch * spec->encoded);
    entries(&cost, args->deta, spec->eta_count, args->deta_write);
    entries(&cost, args->dnu, spec->nu_count, args->dnu_write);
    entries(&cost, args->dtheta, spec->theta_count, args->dtheta_write);
    entries(&cost, args->dmu, 1, args->dmu_write);
    return cost;
}
