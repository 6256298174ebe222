/* The decaying scan in chunks of tokens (Dao and Gu 2024, section 6), and its gradients.
 *
 * With b_i what is left at token i of the state S before a chunk, d_ij of what token j added to it
 * and e_j = d_nj of that behind the last token n, and P_ij = d_ij q_i . k_j for j <= i:
 *   y_i = sum_j P_ij v_j + b_i q_i S,   S' = b_n S + sum_j e_j k_j^T v_j.
 * First the states between chunks, a task for each batch row and head; then what happens within the
 * chunks, a task for each group of heads, which has one q k^T. */
#include <string.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scan_chunk.h"

static void run_outputs(const lh_scan_plan *p, const lh_scan_chunk *c, const real *products,
                        const lh_heads *y) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    real mixed[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    const lh_rows out = lh_head_rows(*y, c->batch, c->head, c->first);
    lh_cpu_scan_decay(p, c, products, mixed);
    lh_blas_multiply(false, false, c->count, values, keys, 1, c->q, lh_rows_of(c->state, values), 0,
                     out);
    lh_scan_scale_rows(c->count, values, c->since, out, out);
    lh_blas_multiply(false, false, c->count, values, c->count, 1, lh_rows_of(mixed, LH_SCAN_CHUNK),
                     c->v, 1, out);
}

/* Scaled rows of one chunk for each batch row and head. */
static int64_t state_scratch(const lh_decay_scan_spec *spec) {
    return spec->batch * spec->heads * LH_SCAN_CHUNK * spec->value_width;
}

size_t lh_cpu_decay_scan_forward_workspace(const lh_decay_scan_forward_args *args) {
    return lh_cpu_scan_workspace(&args->spec, 1, state_scratch(&args->spec));
}

lh_status lh_cpu_decay_scan_forward(const lh_launch *launch,
                                    const lh_decay_scan_forward_args *args) {
    const lh_decay_scan_spec *spec = &args->spec;
    if (spec->batch == 0) return LH_OK;
    const lh_scan_plan p = lh_cpu_scan_plan(spec, 1, launch->workspace);
    const int64_t pairs = spec->batch * spec->heads, shared = spec->heads / spec->groups;
    const int64_t tasks = spec->batch * spec->groups * p.chunks;
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair)
        lh_cpu_scan_states(&p, pair / spec->heads, pair % spec->heads,
                           p.scratch + pair * LH_SCAN_CHUNK * spec->value_width, args->end);
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < tasks; ++task) {
        const int64_t batch = task / p.chunks / spec->groups, index = task % p.chunks;
        const int64_t first = task / p.chunks % spec->groups * shared;
        real products[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
        for (int64_t head = first; head < first + shared; ++head) {
            const lh_scan_chunk c = lh_cpu_scan_chunk(&p, batch, head, index);
            if (head == first) lh_cpu_scan_products(&c, spec->key_width, c.q, c.k, products);
            run_outputs(&p, &c, products, &args->y);
        }
    }
    return LH_OK;
}

/* ---- Backward ---- */

/* Rows b_i dy_i of a chunk, zeros without dy. */
static void scale_dy(const lh_scan_plan *p, const lh_scan_chunk *c, const lh_heads *dy,
                     real *scaled) {
    const int64_t values = p->spec->value_width;
    const lh_rows rows = lh_head_rows(*dy, c->batch, c->head, c->first);
    if (rows.data == NULL) memset(scaled, 0, (size_t)(c->count * values) * sizeof *scaled);
    for (int64_t i = 0; rows.data != NULL && i < c->count; ++i)
        lh_scan_scale(values, c->since[i], rows.data + i * rows.stride, LH_SET,
                      scaled + i * values);
}

/* Gradients of the states behind all chunks, from the last one back, and of the first state. */
static void run_gradients(const lh_scan_plan *p, const lh_decay_scan_backward_args *args,
                          int64_t batch, int64_t head, real *scratch) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t at = (batch * spec->heads + head) * p->state_size, size = p->state_size;
    const real *dend = args->dend != NULL ? args->dend + at : NULL;
    real *dstart = args->dstart != NULL ? args->dstart + at : NULL;
    real *first = scratch + LH_SCAN_CHUNK * spec->value_width; /* dstart before it is written */
    for (int64_t i = p->chunks - 1; i >= 0; --i) {
        const lh_scan_chunk c = lh_cpu_scan_chunk(p, batch, head, i);
        real *behind = (real *)(uintptr_t)c.gradient;
        if (i == p->chunks - 1 && dend == NULL) memset(behind, 0, (size_t)size * sizeof *behind);
        if (i == p->chunks - 1 && dend != NULL) memcpy(behind, dend, (size_t)size * sizeof *behind);
        if (i == 0 && dstart == NULL) return;
        scale_dy(p, &c, &args->dy, scratch);
        lh_cpu_scan_pass_on(p, &c, behind, c.q, lh_rows_of(scratch, spec->value_width),
                            i > 0 ? behind - size : first);
    }
    if (dstart == NULL) return;
    if (p->chunks == 0 && dend == NULL) memset(first, 0, (size_t)size * sizeof *first);
    if (p->chunks == 0 && dend != NULL) memcpy(first, dend, (size_t)size * sizeof *first);
    lh_scan_scale(size, 1, first, args->dstart_write, dstart);
}

/* What one head adds to the gradients of a chunk; the memory of a task. */
typedef struct inside {
    real *mixed;    /* [LH_SCAN_CHUNK][LH_SCAN_CHUNK]: P */
    real *slopes;   /* [LH_SCAN_CHUNK][LH_SCAN_CHUNK]: dy v^T, then times P */
    real *products; /* [LH_SCAN_CHUNK][LH_SCAN_CHUNK]: gradient of q k^T, summed over the heads of
                       the group */
    real *values;   /* [LH_SCAN_CHUNK][value_width] */
    real *scaled;   /* [LH_SCAN_CHUNK][value_width]: b_i dy_i, then e_j v_j */
    real *keys;     /* [LH_SCAN_CHUNK][key_width] */
    double *read;   /* [LH_SCAN_CHUNK]: gradient of log b_i */
    double *kept;   /* [LH_SCAN_CHUNK]: gradient of log e_j */
} inside;

/* dv_j = sum_i P_ij dy_i + e_j k_j D, with D the gradient of the state behind; by the second part
 * e_j has its gradient. */
static void value_gradients(const lh_scan_plan *p, const lh_scan_chunk *c,
                            const lh_decay_scan_backward_args *args, lh_rows dy, const inside *m) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    const lh_rows dv = lh_head_rows(args->dv, c->batch, c->head, c->first);
    const lh_rows work = lh_rows_of(m->values, values);
    lh_blas_multiply(false, false, c->count, values, keys, 1, c->k, lh_rows_of(c->gradient, values),
                     0, work);
    for (int64_t j = 0; j < c->count; ++j) {
        real *row = m->values + j * values;
        lh_scan_scale(values, c->until[j], row, LH_SET, row);
        m->kept[j] = lh_scan_dot(values, row, c->v.data + j * c->v.stride);
    }
    if (dv.data == NULL) return;
    if (dy.data != NULL)
        lh_blas_multiply(true, false, c->count, values, c->count, 1,
                         lh_rows_of(m->mixed, LH_SCAN_CHUNK), dy, 1, work);
    for (int64_t j = 0; j < c->count; ++j)
        lh_scan_scale(values, 1, m->values + j * values, args->dv_write, dv.data + j * dv.stride);
}

/* The gradient of q k^T gets d_ij dy_i . v_j; slopes become P_ij dy_i . v_j. */
static void product_gradients(const lh_scan_plan *p, const lh_scan_chunk *c, lh_rows dy,
                              const inside *m) {
    real decayed[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    memset(m->slopes, 0, LH_SCAN_CHUNK * LH_SCAN_CHUNK * sizeof(real));
    if (dy.data == NULL) return;
    lh_cpu_scan_products(c, p->spec->value_width, dy, c->v, m->slopes);
    lh_cpu_scan_decay(p, c, m->slopes, decayed);
    for (int64_t i = 0; i < c->count; ++i) {
#pragma omp simd
        for (int64_t j = 0; j < LH_SCAN_CHUNK; ++j) {
            m->products[i * LH_SCAN_CHUNK + j] += decayed[i * LH_SCAN_CHUNK + j];
            m->slopes[i * LH_SCAN_CHUNK + j] *= m->mixed[i * LH_SCAN_CHUNK + j];
        }
    }
}

/* dq_i gets b_i dy_i S^T, dk_j gets e_j v_j D^T. */
static void key_gradients(const lh_scan_plan *p, const lh_scan_chunk *c,
                          const lh_decay_scan_backward_args *args, bool first, const inside *m) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    const lh_rows dq = lh_head_rows(args->dq, c->batch, c->group, c->first);
    const lh_rows dk = lh_head_rows(args->dk, c->batch, c->group, c->first);
    const lh_rows scaled = lh_rows_of(m->scaled, values);
    scale_dy(p, c, &args->dy, m->scaled);
    lh_blas_multiply(false, true, c->count, keys, values, 1, scaled, lh_rows_of(c->state, values),
                     0, lh_rows_of(m->keys, keys));
    for (int64_t i = 0; i < c->count; ++i) {
        const real *row = m->keys + i * keys;
        m->read[i] = lh_scan_dot(keys, row, c->q.data + i * c->q.stride);
        if (dq.data != NULL)
            lh_scan_scale(keys, 1, row, first ? args->dq_write : LH_ADD, dq.data + i * dq.stride);
    }
    if (dk.data == NULL) return;
    lh_scan_scale_rows(c->count, values, c->until, c->v, scaled);
    lh_blas_multiply(false, true, c->count, keys, values, 1, scaled,
                     lh_rows_of(c->gradient, values), first && args->dk_write == LH_SET ? 0 : 1,
                     dk);
}

static void finish_products(const lh_scan_plan *p, const lh_scan_chunk *c,
                            const lh_decay_scan_backward_args *args, const inside *m) {
    const int64_t keys = p->spec->key_width;
    const lh_rows dq = lh_head_rows(args->dq, c->batch, c->group, c->first);
    const lh_rows dk = lh_head_rows(args->dk, c->batch, c->group, c->first);
    const lh_rows products = lh_rows_of(m->products, LH_SCAN_CHUNK);
    if (dq.data != NULL)
        lh_blas_multiply(false, false, c->count, keys, c->count, 1, products, c->k, 1, dq);
    if (dk.data != NULL)
        lh_blas_multiply(true, false, c->count, keys, c->count, 1, products, c->q, 1, dk);
}

static void run_chunk_back(const lh_scan_plan *p, const lh_decay_scan_backward_args *args,
                           int64_t task, real *scratch) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t shared = spec->heads / spec->groups, index = task % p->chunks;
    const int64_t batch = task / p->chunks / spec->groups;
    const int64_t first = task / p->chunks % spec->groups * shared;
    real qk[LH_SCAN_CHUNK * LH_SCAN_CHUNK], mixed[LH_SCAN_CHUNK * LH_SCAN_CHUNK],
        slopes[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    real products[LH_SCAN_CHUNK * LH_SCAN_CHUNK] = {0};
    double read[LH_SCAN_CHUNK], kept[LH_SCAN_CHUNK];
    const inside m = {.mixed = mixed,
                      .slopes = slopes,
                      .products = products,
                      .values = scratch,
                      .scaled = scratch + LH_SCAN_CHUNK * spec->value_width,
                      .keys = scratch + 2 * LH_SCAN_CHUNK * spec->value_width,
                      .read = read,
                      .kept = kept};
    for (int64_t head = first; head < first + shared; ++head) {
        const lh_scan_chunk c = lh_cpu_scan_chunk(p, batch, head, index);
        const lh_rows dy = lh_head_rows(args->dy, batch, head, c.first);
        if (head == first) lh_cpu_scan_products(&c, spec->key_width, c.q, c.k, qk);
        lh_cpu_scan_decay(p, &c, qk, mixed);
        value_gradients(p, &c, args, dy, &m);
        product_gradients(p, &c, dy, &m);
        key_gradients(p, &c, args, head == first, &m);
        lh_cpu_scan_decay_gradients(p, &c, slopes, read, kept, args->dlog_decay,
                                    args->dlog_decay_write);
        if (head == first + shared - 1) finish_products(p, &c, args, &m);
    }
}

/* Of a task of run_gradients, and of run_chunk_back. */
static int64_t gradient_scratch(const lh_decay_scan_spec *spec) {
    return LH_SCAN_CHUNK * spec->value_width + spec->key_width * spec->value_width;
}

static int64_t chunk_scratch(const lh_decay_scan_spec *spec) {
    return LH_SCAN_CHUNK * (2 * spec->value_width + spec->key_width);
}

size_t lh_cpu_decay_scan_backward_workspace(const lh_decay_scan_backward_args *args) {
    const lh_decay_scan_spec *spec = &args->spec;
    const int64_t tasks = spec->batch * spec->groups * lh_chunk_count(spec->length, LH_SCAN_CHUNK);
    return lh_cpu_scan_workspace(
        spec, 2,
        lh_max(spec->batch * spec->heads * gradient_scratch(spec), tasks * chunk_scratch(spec)));
}

lh_status lh_cpu_decay_scan_backward(const lh_launch *launch,
                                     const lh_decay_scan_backward_args *args) {
    const lh_decay_scan_spec *spec = &args->spec;
    if (spec->batch == 0) return LH_OK;
    const lh_scan_plan p = lh_cpu_scan_plan(spec, 2, launch->workspace);
    const int64_t pairs = spec->batch * spec->heads, tasks = spec->batch * spec->groups * p.chunks;
    const int64_t scratch = gradient_scratch(spec);
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair) {
        lh_cpu_scan_states(&p, pair / spec->heads, pair % spec->heads, p.scratch + pair * scratch,
                           NULL);
        run_gradients(&p, args, pair / spec->heads, pair % spec->heads, p.scratch + pair * scratch);
    }
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < tasks; ++task)
        run_chunk_back(&p, args, task, p.scratch + task * chunk_scratch(spec));
    return LH_OK;
}
