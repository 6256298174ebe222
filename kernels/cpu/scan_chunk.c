/* Chunks of a scan whose state is a matrix: decays, and states from chunk to chunk. All of b, d and
 * e (decay_scan.c) are exp of a sum over just the tokens between: a difference of sums from the
 * start would lose what strong decay leaves. */
#include "kernels/cpu/scan_chunk.h"

#include <string.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

/* ---- Plan and chunks ---- */

lh_scan_plan lh_cpu_scan_plan(const lh_decay_scan_spec *spec, int copies, void *workspace) {
    lh_scan_plan p = {.spec = spec,
                      .chunks = lh_chunk_count(spec->length, LH_SCAN_CHUNK),
                      .state_size = spec->key_width * spec->value_width};
    const int64_t pairs = spec->batch * spec->heads, states = pairs * p.chunks * p.state_size;
    p.since = workspace;
    p.until = p.since + pairs * spec->length;
    p.scratch = p.until + pairs * spec->length + copies * states;
    if (copies >= 1) p.states = p.until + pairs * spec->length;
    if (copies >= 2) p.gradients = p.states + states;
    return p;
}

size_t lh_cpu_scan_workspace(const lh_decay_scan_spec *spec, int copies, int64_t scratch) {
    const int64_t pairs = spec->batch * spec->heads,
                  chunks = lh_chunk_count(spec->length, LH_SCAN_CHUNK);
    const int64_t states = pairs * chunks * spec->key_width * spec->value_width;
    return (size_t)(2 * pairs * spec->length + copies * states + scratch) * sizeof(real);
}

lh_scan_chunk lh_cpu_scan_chunk(const lh_scan_plan *p, int64_t batch, int64_t head, int64_t index) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t pair = batch * spec->heads + head, group = head / (spec->heads / spec->groups);
    const lh_range range = lh_chunk(spec->length, LH_SCAN_CHUNK, index);
    const int64_t state = (pair * p->chunks + index) * p->state_size;
    const int64_t row = pair * spec->length + range.begin;
    const real *decay = spec->log_decay;
    return (lh_scan_chunk){
        .batch = batch,
        .head = head,
        .group = group,
        .first = range.begin,
        .count = range.end - range.begin,
        .q = lh_head_rows(spec->q, batch, group, range.begin),
        .k = lh_head_rows(spec->k, batch, group, range.begin),
        .v = lh_head_rows(spec->v, batch, head, range.begin),
        .decay = decay != NULL ? decay + (batch * spec->length + range.begin) * spec->heads + head
                               : NULL,
        .since = p->since + row,
        .until = p->until + row,
        .state = p->states != NULL ? p->states + state : NULL,
        .gradient = p->gradients != NULL ? p->gradients + state : NULL};
}

/* ---- From chunk to chunk ---- */

void lh_cpu_scan_sum_decays(const lh_scan_plan *p, const lh_scan_chunk *c) {
    real *since = (real *)(uintptr_t)c->since, *until = (real *)(uintptr_t)c->until;
    const int64_t step = p->spec->heads;
    real before = 0, behind = 0;
    for (int64_t i = 0; i < c->count; ++i) {
        const int64_t last = c->count - 1 - i;
        if (c->decay != NULL) before += c->decay[i * step];
        since[i] = lh_exp(before);
        until[last] = lh_exp(behind);
        if (c->decay != NULL) behind += c->decay[last * step];
    }
}

void lh_cpu_scan_pass_on(const lh_scan_plan *p, const lh_scan_chunk *c, const real *from, lh_rows a,
                         lh_rows scaled, real *to) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    lh_scan_scale(p->state_size, c->since[c->count - 1], from, LH_SET, to);
    lh_blas_multiply(true, false, keys, values, c->count, 1, a, scaled, 1, lh_rows_of(to, values));
}

void lh_cpu_scan_states(const lh_scan_plan *p, int64_t batch, int64_t head, real *scratch,
                        real *end) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t values = spec->value_width, at = (batch * spec->heads + head) * p->state_size;
    const size_t bytes = (size_t)p->state_size * sizeof(real);
    const lh_rows scaled = lh_rows_of(scratch, values);
    if (p->chunks == 0 && end != NULL) memcpy(end + at, spec->start + at, bytes);
    for (int64_t i = 0; i < p->chunks; ++i) {
        const lh_scan_chunk c = lh_cpu_scan_chunk(p, batch, head, i);
        real *before = (real *)(uintptr_t)c.state, *behind = before + p->state_size;
        lh_cpu_scan_sum_decays(p, &c);
        if (i == 0) memcpy(before, spec->start + at, bytes);
        if (i == p->chunks - 1) behind = end != NULL ? end + at : NULL;
        if (behind == NULL) return;
        lh_scan_scale_rows(c.count, values, c.until, c.v, scaled);
        lh_cpu_scan_pass_on(p, &c, before, c.k, scaled, behind);
    }
}

/* ---- Within a chunk ---- */

void lh_cpu_scan_products(const lh_scan_chunk *c, int64_t width, lh_rows a, lh_rows b,
                          real *products) {
    lh_blas_multiply(false, true, c->count, c->count, width, 1, a, b, 0,
                     lh_rows_of(products, LH_SCAN_CHUNK));
}

void lh_cpu_scan_decay(const lh_scan_plan *p, const lh_scan_chunk *c, const real *x, real *y) {
    real between[LH_SCAN_CHUNK];
    for (int64_t i = 0; i < c->count; ++i) {
        const real decay = c->decay != NULL ? c->decay[i * p->spec->heads] : 0;
        const real *from = x + i * LH_SCAN_CHUNK;
        real *to = y + i * LH_SCAN_CHUNK;
        between[i] = 0;
        memset(to, 0, LH_SCAN_CHUNK * sizeof *to);
        memcpy(to, from, (size_t)(i + 1) * sizeof *to);
#pragma omp simd
        for (int64_t j = 0; j < (c->decay != NULL ? i : 0); ++j) {
            between[j] += decay;
            to[j] *= lh_exp(between[j]);
        }
    }
}

void lh_cpu_scan_decay_gradients(const lh_scan_plan *p, const lh_scan_chunk *c, const real *slopes,
                                 const double *read, const double *kept, real *dlog_decay,
                                 lh_write write) {
    const lh_decay_scan_spec *spec = p->spec;
    double below[LH_SCAN_CHUNK] = {0}, kept_before[LH_SCAN_CHUNK + 1] = {0}, read_behind = 0;
    if (dlog_decay == NULL) return;
    const double whole =
        (double)c->since[c->count - 1] * lh_scan_dot(p->state_size, c->state, c->gradient);
    for (int64_t j = 0; j < c->count; ++j)
        kept_before[j + 1] = kept_before[j] + kept[j];
    for (int64_t t = c->count - 1; t >= 0; --t) {
        double crossing = 0;
        for (int64_t j = 0; j < t; ++j)
            crossing += below[j] += (double)slopes[t * LH_SCAN_CHUNK + j];
        read_behind += read[t];
        const int64_t token = c->batch * spec->length + c->first + t;
        const real gradient = (real)(crossing + read_behind + kept_before[t] + whole);
        lh_scan_scale(1, 1, &gradient, write, dlog_decay + token * spec->heads + c->head);
    }
}
