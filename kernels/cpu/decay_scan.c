/* The decaying scan in chunks of tokens (Dao and Gu 2024, section 6), and its gradients.
 *
 * With b_i what is left at token i of the state S before a chunk, d_ij of what token j added to it
 * and e_j = d_nj of that behind the last token n, and P_ij = d_ij q_i . k_j for j <= i:
 *   y_i = sum_j P_ij v_j + b_i q_i S,   S' = b_n S + sum_j e_j k_j^T v_j.
 * First the states between chunks, a task for each batch row and head; then what happens within the
 * chunks, a task for each group of heads, which has one q k^T. All of b, d and e are exp of a sum
 * over just the tokens between: a difference of sums from the start would lose what strong decay
 * leaves. */
#include <cblas.h>
#include <string.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

enum { CHUNK = 64 };

/* Rows of a matrix. */
typedef struct matrix {
    real *data;
    int64_t stride;
} matrix;

/* Tokens of one chunk of a batch row, as one head sees them. */
typedef struct chunk {
    int64_t batch, head, first, count;
    matrix q, k, v;
    const real *decay;    /* log_decay of the first token; NULL: none */
    const real *since;    /* [count]: b_i */
    const real *until;    /* [count]: e_j */
    const real *state;    /* [key_width][value_width]: before it */
    const real *gradient; /* of the state behind it; backward */
} chunk;

/* What lies in workspace. */
typedef struct plan {
    const lh_decay_scan_spec *spec;
    int64_t chunks, state_size;
    real *since;     /* [batch][heads][length] */
    real *until;     /* the same */
    real *states;    /* [batch][heads][chunks][state_size] */
    real *gradients; /* the same; backward */
    real *scratch;   /* of the tasks */
} plan;

/* ---- Operands ---- */

static matrix rows_of(const lh_heads *x, int64_t batch, int64_t head, int64_t token) {
    real *data = lh_as_reals(x->act);
    if (data == NULL) return (matrix){NULL, 0};
    return (matrix){data + batch * x->batch_stride + token * x->token_stride +
                        head * x->head_stride,
                    x->token_stride};
}

static matrix dense(const real *data, int64_t stride) {
    return (matrix){(real *)(uintptr_t)data, stride};
}

/* c [m][n] = op(a) op(b) + beta c, summed over k. */
static void multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, matrix a,
                     matrix b, real beta, matrix c) {
    const enum CBLAS_TRANSPOSE ta = transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE tb = transpose_b ? CblasTrans : CblasNoTrans;
    const int lda = (int)lh_max(a.stride, transpose_a ? m : k);
    const int ldb = (int)lh_max(b.stride, transpose_b ? k : n), ldc = (int)lh_max(c.stride, n);
#ifdef LH_REAL_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1, a.data, lda, b.data, ldb, beta,
                c.data, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1, a.data, lda, b.data, ldb, beta,
                c.data, ldc);
#endif
}

/* y[i] (+)= factor x[i] */
LH_SPECIALIZED void write_scaled(int64_t count, real factor, const real *x, lh_write write,
                                 real *y) {
    if (write == LH_ADD) {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
            y[i] += factor * x[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
            y[i] = factor * x[i];
    }
}

static double dot(int64_t count, const real *a, const real *b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static chunk chunk_of(const plan *p, int64_t batch, int64_t head, int64_t index) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t pair = batch * spec->heads + head, group = head / (spec->heads / spec->groups);
    const lh_range range = lh_chunk(spec->length, CHUNK, index);
    const int64_t state = (pair * p->chunks + index) * p->state_size;
    const int64_t row = pair * spec->length + range.begin;
    const real *decay = spec->log_decay;
    return (chunk){.batch = batch,
                   .head = head,
                   .first = range.begin,
                   .count = range.end - range.begin,
                   .q = rows_of(&spec->q, batch, group, range.begin),
                   .k = rows_of(&spec->k, batch, group, range.begin),
                   .v = rows_of(&spec->v, batch, head, range.begin),
                   .decay = decay != NULL
                                ? decay + (batch * spec->length + range.begin) * spec->heads + head
                                : NULL,
                   .since = p->since + row,
                   .until = p->until + row,
                   .state = p->states + state,
                   .gradient = p->gradients != NULL ? p->gradients + state : NULL};
}

/* ---- From chunk to chunk ---- */

/* Fills b and e of a chunk. */
static void sum_decays(const plan *p, const chunk *c) {
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

/* to = b_n from + sum_j a_j^T scaled_j */
static void pass_on(const plan *p, const chunk *c, const real *from, matrix a, matrix scaled,
                    real *to) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    write_scaled(p->state_size, c->since[c->count - 1], from, LH_SET, to);
    multiply(true, false, keys, values, c->count, a, scaled, 1, dense(to, values));
}

/* States before all chunks, and behind the last one where `end` is given. */
static void run_states(const plan *p, int64_t batch, int64_t head, real *scratch, real *end) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t values = spec->value_width, at = (batch * spec->heads + head) * p->state_size;
    const size_t bytes = (size_t)p->state_size * sizeof(real);
    const matrix scaled = dense(scratch, values);
    if (p->chunks == 0 && end != NULL) memcpy(end + at, spec->start + at, bytes);
    for (int64_t i = 0; i < p->chunks; ++i) {
        const chunk c = chunk_of(p, batch, head, i);
        real *before = (real *)(uintptr_t)c.state, *behind = before + p->state_size;
        sum_decays(p, &c);
        if (i == 0) memcpy(before, spec->start + at, bytes);
        if (i == p->chunks - 1) behind = end != NULL ? end + at : NULL;
        if (behind == NULL) return;
        for (int64_t j = 0; j < c.count; ++j)
            write_scaled(values, c.until[j], c.v.data + j * c.v.stride, LH_SET,
                         scratch + j * values);
        pass_on(p, &c, before, c.k, scaled, behind);
    }
}

/* ---- Within a chunk ---- */

/* products [count][CHUNK] of two chunks' rows. */
static void products_of(const chunk *c, int64_t width, matrix a, matrix b, real *products) {
    multiply(false, true, c->count, c->count, width, a, b, 0, dense(products, CHUNK));
}

/* y_ij = d_ij x_ij for j <= i, else 0. */
static void decay_products(const plan *p, const chunk *c, const real *x, real *y) {
    real between[CHUNK];
    for (int64_t i = 0; i < c->count; ++i) {
        const real decay = c->decay != NULL ? c->decay[i * p->spec->heads] : 0;
        const real *from = x + i * CHUNK;
        real *to = y + i * CHUNK;
        between[i] = 0;
        memset(to, 0, CHUNK * sizeof *to);
        memcpy(to, from, (size_t)(i + 1) * sizeof *to);
#pragma omp simd
        for (int64_t j = 0; j < (c->decay != NULL ? i : 0); ++j) {
            between[j] += decay;
            to[j] *= lh_exp(between[j]);
        }
    }
}

static void run_outputs(const plan *p, const chunk *c, const real *products, const lh_heads *y) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    real mixed[CHUNK * CHUNK];
    const matrix out = rows_of(y, c->batch, c->head, c->first);
    decay_products(p, c, products, mixed);
    multiply(false, false, c->count, values, keys, c->q, dense(c->state, values), 0, out);
    for (int64_t i = 0; i < c->count; ++i)
        write_scaled(values, c->since[i], out.data + i * out.stride, LH_SET,
                     out.data + i * out.stride);
    multiply(false, false, c->count, values, c->count, dense(mixed, CHUNK), c->v, 1, out);
}

static lh_status check(const lh_decay_scan_spec *spec) {
    const bool whole = spec->groups >= 1 && spec->heads >= 1 && spec->heads % spec->groups == 0;
    return whole && spec->key_width >= 1 && spec->value_width >= 1 ? LH_OK : LH_ESHAPE;
}

/* Cuts the workspace up: decays, states, gradients where `backward`, scratch. */
static plan plan_of(const lh_decay_scan_spec *spec, bool backward, void *workspace) {
    plan p = {.spec = spec,
              .chunks = lh_chunk_count(spec->length, CHUNK),
              .state_size = spec->key_width * spec->value_width};
    const int64_t pairs = spec->batch * spec->heads, states = pairs * p.chunks * p.state_size;
    p.since = workspace;
    p.until = p.since + pairs * spec->length;
    p.states = p.until + pairs * spec->length;
    p.gradients = backward ? p.states + states : NULL;
    p.scratch = p.states + states * (backward ? 2 : 1);
    return p;
}

static size_t workspace_of(const lh_decay_scan_spec *spec, int64_t copies, int64_t scratch) {
    const int64_t pairs = spec->batch * spec->heads, chunks = lh_chunk_count(spec->length, CHUNK);
    const int64_t states = pairs * chunks * spec->key_width * spec->value_width;
    return (size_t)(2 * pairs * spec->length + copies * states + scratch) * sizeof(real);
}

/* Scaled rows of one chunk for each batch row and head. */
static int64_t state_scratch(const lh_decay_scan_spec *spec) {
    return spec->batch * spec->heads * CHUNK * spec->value_width;
}

size_t lh_cpu_decay_scan_forward_workspace(const lh_decay_scan_forward_args *args) {
    return workspace_of(&args->spec, 1, state_scratch(&args->spec));
}

lh_status lh_cpu_decay_scan_forward(const lh_launch *launch,
                                    const lh_decay_scan_forward_args *args) {
    const lh_decay_scan_spec *spec = &args->spec;
    const lh_status status = check(spec);
    if (status != LH_OK || spec->batch == 0) return status;
    const plan p = plan_of(spec, false, launch->workspace);
    const int64_t pairs = spec->batch * spec->heads, shared = spec->heads / spec->groups;
    const int64_t tasks = spec->batch * spec->groups * p.chunks;
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair)
        run_states(&p, pair / spec->heads, pair % spec->heads,
                   p.scratch + pair * CHUNK * spec->value_width, args->end);
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < tasks; ++task) {
        const int64_t batch = task / p.chunks / spec->groups, index = task % p.chunks;
        const int64_t first = task / p.chunks % spec->groups * shared;
        real products[CHUNK * CHUNK];
        for (int64_t head = first; head < first + shared; ++head) {
            const chunk c = chunk_of(&p, batch, head, index);
            if (head == first) products_of(&c, spec->key_width, c.q, c.k, products);
            run_outputs(&p, &c, products, &args->y);
        }
    }
    return LH_OK;
}

/* ---- Backward ---- */

/* Rows b_i dy_i of a chunk, zeros without dy. */
static void scale_dy(const plan *p, const chunk *c, const lh_heads *dy, real *scaled) {
    const int64_t values = p->spec->value_width;
    const matrix rows = rows_of(dy, c->batch, c->head, c->first);
    if (rows.data == NULL) memset(scaled, 0, (size_t)(c->count * values) * sizeof *scaled);
    for (int64_t i = 0; rows.data != NULL && i < c->count; ++i)
        write_scaled(values, c->since[i], rows.data + i * rows.stride, LH_SET, scaled + i * values);
}

/* Gradients of the states behind all chunks, from the last one back, and of the first state. */
static void run_gradients(const plan *p, const lh_decay_scan_backward_args *args, int64_t batch,
                          int64_t head, real *scratch) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t at = (batch * spec->heads + head) * p->state_size, size = p->state_size;
    const real *dend = args->dend != NULL ? args->dend + at : NULL;
    real *dstart = args->dstart != NULL ? args->dstart + at : NULL;
    real *first = scratch + CHUNK * spec->value_width; /* dstart before it is written */
    for (int64_t i = p->chunks - 1; i >= 0; --i) {
        const chunk c = chunk_of(p, batch, head, i);
        real *behind = (real *)(uintptr_t)c.gradient;
        if (i == p->chunks - 1 && dend == NULL) memset(behind, 0, (size_t)size * sizeof *behind);
        if (i == p->chunks - 1 && dend != NULL) memcpy(behind, dend, (size_t)size * sizeof *behind);
        if (i == 0 && dstart == NULL) return;
        scale_dy(p, &c, &args->dy, scratch);
        pass_on(p, &c, behind, c.q, dense(scratch, spec->value_width),
                i > 0 ? behind - size : first);
    }
    if (dstart == NULL) return;
    if (p->chunks == 0 && dend == NULL) memset(first, 0, (size_t)size * sizeof *first);
    if (p->chunks == 0 && dend != NULL) memcpy(first, dend, (size_t)size * sizeof *first);
    write_scaled(size, 1, first, args->dstart_write, dstart);
}

/* What one head adds to the gradients of a chunk; the memory of a task. */
typedef struct inside {
    real *mixed;    /* [CHUNK][CHUNK]: P */
    real *slopes;   /* [CHUNK][CHUNK]: dy v^T, then times P */
    real *products; /* [CHUNK][CHUNK]: gradient of q k^T, summed over the heads of the group */
    real *values;   /* [CHUNK][value_width] */
    real *scaled;   /* [CHUNK][value_width]: b_i dy_i, then e_j v_j */
    real *keys;     /* [CHUNK][key_width] */
    double *read;   /* [CHUNK]: gradient of log b_i */
    double *kept;   /* [CHUNK]: gradient of log e_j */
} inside;

/* dv_j = sum_i P_ij dy_i + e_j k_j D, with D the gradient of the state behind; by the second part
 * e_j has its gradient. */
static void value_gradients(const plan *p, const chunk *c, const lh_decay_scan_backward_args *args,
                            matrix dy, const inside *m) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    const matrix dv = rows_of(&args->dv, c->batch, c->head, c->first);
    const matrix work = dense(m->values, values);
    multiply(false, false, c->count, values, keys, c->k, dense(c->gradient, values), 0, work);
    for (int64_t j = 0; j < c->count; ++j) {
        real *row = m->values + j * values;
        write_scaled(values, c->until[j], row, LH_SET, row);
        m->kept[j] = dot(values, row, c->v.data + j * c->v.stride);
    }
    if (dv.data == NULL) return;
    if (dy.data != NULL)
        multiply(true, false, c->count, values, c->count, dense(m->mixed, CHUNK), dy, 1, work);
    for (int64_t j = 0; j < c->count; ++j)
        write_scaled(values, 1, m->values + j * values, args->dv_write, dv.data + j * dv.stride);
}

/* The gradient of q k^T gets d_ij dy_i . v_j; slopes become P_ij dy_i . v_j. */
static void product_gradients(const plan *p, const chunk *c, matrix dy, const inside *m) {
    real decayed[CHUNK * CHUNK];
    memset(m->slopes, 0, CHUNK * CHUNK * sizeof(real));
    if (dy.data == NULL) return;
    products_of(c, p->spec->value_width, dy, c->v, m->slopes);
    decay_products(p, c, m->slopes, decayed);
    for (int64_t i = 0; i < c->count; ++i) {
#pragma omp simd
        for (int64_t j = 0; j < CHUNK; ++j) {
            m->products[i * CHUNK + j] += decayed[i * CHUNK + j];
            m->slopes[i * CHUNK + j] *= m->mixed[i * CHUNK + j];
        }
    }
}

/* dq_i gets b_i dy_i S^T, dk_j gets e_j v_j D^T. */
static void key_gradients(const plan *p, const chunk *c, const lh_decay_scan_backward_args *args,
                          bool first, const inside *m) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    const int64_t group = c->head / (p->spec->heads / p->spec->groups);
    const matrix dq = rows_of(&args->dq, c->batch, group, c->first);
    const matrix dk = rows_of(&args->dk, c->batch, group, c->first);
    const matrix scaled = dense(m->scaled, values);
    scale_dy(p, c, &args->dy, m->scaled);
    multiply(false, true, c->count, keys, values, scaled, dense(c->state, values), 0,
             dense(m->keys, keys));
    for (int64_t i = 0; i < c->count; ++i) {
        const real *row = m->keys + i * keys;
        m->read[i] = dot(keys, row, c->q.data + i * c->q.stride);
        if (dq.data != NULL)
            write_scaled(keys, 1, row, first ? args->dq_write : LH_ADD, dq.data + i * dq.stride);
    }
    if (dk.data == NULL) return;
    for (int64_t j = 0; j < c->count; ++j)
        write_scaled(values, c->until[j], c->v.data + j * c->v.stride, LH_SET,
                     m->scaled + j * values);
    multiply(false, true, c->count, keys, values, scaled, dense(c->gradient, values),
             first && args->dk_write == LH_SET ? 0 : 1, dk);
}

/* log_decay_t is in d_ij for j < t <= i, in b_i for i >= t, in e_j for j < t, and in b_n of the
 * next state. */
static void decay_gradients(const plan *p, const chunk *c, const lh_decay_scan_backward_args *args,
                            const inside *m) {
    const lh_decay_scan_spec *spec = p->spec;
    double below[CHUNK] = {0}, kept[CHUNK + 1] = {0}, read = 0;
    if (args->dlog_decay == NULL) return;
    const double whole = (double)c->since[c->count - 1] * dot(p->state_size, c->state, c->gradient);
    for (int64_t j = 0; j < c->count; ++j)
        kept[j + 1] = kept[j] + m->kept[j];
    for (int64_t t = c->count - 1; t >= 0; --t) {
        double crossing = 0;
        for (int64_t j = 0; j < t; ++j)
            crossing += below[j] += (double)m->slopes[t * CHUNK + j];
        read += m->read[t];
        const int64_t token = c->batch * spec->length + c->first + t;
        const real gradient = (real)(crossing + read + kept[t] + whole);
        write_scaled(1, 1, &gradient, args->dlog_decay_write,
                     args->dlog_decay + token * spec->heads + c->head);
    }
}

static void finish_products(const plan *p, const chunk *c, const lh_decay_scan_backward_args *args,
                            const inside *m) {
    const int64_t keys = p->spec->key_width, group = c->head / (p->spec->heads / p->spec->groups);
    const matrix dq = rows_of(&args->dq, c->batch, group, c->first);
    const matrix dk = rows_of(&args->dk, c->batch, group, c->first);
    const matrix products = dense(m->products, CHUNK);
    if (dq.data != NULL) multiply(false, false, c->count, keys, c->count, products, c->k, 1, dq);
    if (dk.data != NULL) multiply(true, false, c->count, keys, c->count, products, c->q, 1, dk);
}

static void run_chunk_back(const plan *p, const lh_decay_scan_backward_args *args, int64_t task,
                           real *scratch) {
    const lh_decay_scan_spec *spec = p->spec;
    const int64_t shared = spec->heads / spec->groups, index = task % p->chunks;
    const int64_t batch = task / p->chunks / spec->groups;
    const int64_t first = task / p->chunks % spec->groups * shared;
    real qk[CHUNK * CHUNK], mixed[CHUNK * CHUNK], slopes[CHUNK * CHUNK];
    real products[CHUNK * CHUNK] = {0};
    double read[CHUNK], kept[CHUNK];
    const inside m = {.mixed = mixed,
                      .slopes = slopes,
                      .products = products,
                      .values = scratch,
                      .scaled = scratch + CHUNK * spec->value_width,
                      .keys = scratch + 2 * CHUNK * spec->value_width,
                      .read = read,
                      .kept = kept};
    for (int64_t head = first; head < first + shared; ++head) {
        const chunk c = chunk_of(p, batch, head, index);
        const matrix dy = rows_of(&args->dy, batch, head, c.first);
        if (head == first) products_of(&c, spec->key_width, c.q, c.k, qk);
        decay_products(p, &c, qk, mixed);
        value_gradients(p, &c, args, dy, &m);
        product_gradients(p, &c, dy, &m);
        key_gradients(p, &c, args, head == first, &m);
        decay_gradients(p, &c, args, &m);
        if (head == first + shared - 1) finish_products(p, &c, args, &m);
    }
}

/* Of a task of run_gradients, and of run_chunk_back. */
static int64_t gradient_scratch(const lh_decay_scan_spec *spec) {
    return CHUNK * spec->value_width + spec->key_width * spec->value_width;
}

static int64_t chunk_scratch(const lh_decay_scan_spec *spec) {
    return CHUNK * (2 * spec->value_width + spec->key_width);
}

size_t lh_cpu_decay_scan_backward_workspace(const lh_decay_scan_backward_args *args) {
    const lh_decay_scan_spec *spec = &args->spec;
    const int64_t tasks = spec->batch * spec->groups * lh_chunk_count(spec->length, CHUNK);
    return workspace_of(
        spec, 2,
        lh_max(spec->batch * spec->heads * gradient_scratch(spec), tasks * chunk_scratch(spec)));
}

lh_status lh_cpu_decay_scan_backward(const lh_launch *launch,
                                     const lh_decay_scan_backward_args *args) {
    const lh_decay_scan_spec *spec = &args->spec;
    const lh_status status = check(spec);
    if (status != LH_OK || spec->batch == 0) return status;
    const plan p = plan_of(spec, true, launch->workspace);
    const int64_t pairs = spec->batch * spec->heads, tasks = spec->batch * spec->groups * p.chunks;
    const int64_t scratch = gradient_scratch(spec);
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair) {
        run_states(&p, pair / spec->heads, pair % spec->heads, p.scratch + pair * scratch, NULL);
        run_gradients(&p, args, pair / spec->heads, pair % spec->heads, p.scratch + pair * scratch);
    }
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < tasks; ++task)
        run_chunk_back(&p, args, task, p.scratch + task * chunk_scratch(spec));
    return LH_OK;
}
