/* What the delta rule writes, in chunks of tokens (Yang et al. 2024, section 3.3), and its
 * gradients.
 *
 * With b, d and e as in decay_scan.c, S the state before a chunk and
 * P_ij = d_ij k_i . k_j for j < i:
 *   u_i = beta_i (v_i - b_i k_i S - sum_j P_ij u_j),
 *   S' = b_n S + sum_j e_j k_j^T u_j:
 * a lower triangular system with ones on its diagonal, (1 + beta P) u = beta (v - b k S). One chunk
 * needs the state behind the one before, so a batch row and head is one task.
 *
 * Backward with D the gradient of S', from the last chunk back:
 *   (1 + beta P)^T w = du + e k D,   gradient of S = b_n D - sum_i b_i beta_i k_i^T w_i;
 * then a task for each chunk of a group of heads finds in w, u, S and D what all inputs get. */
#include <string.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/scan_chunk.h"

/* beta of token i of a chunk. */
static real beta_at(const lh_delta_rule_spec *spec, const lh_scan_chunk *c, int64_t i) {
    const int64_t token = c->batch * spec->scan.length + c->first + i;
    return spec->beta[token * spec->scan.heads + c->head];
}

/* P, zeros on and above the diagonal; products is k k^T. */
static void mix(const lh_scan_plan *p, const lh_scan_chunk *c, const real *products, real *mixed) {
    lh_cpu_scan_decay(p, c, products, mixed);
    for (int64_t i = 0; i < c->count; ++i)
        mixed[i * LH_SCAN_CHUNK + i] = 0;
}

/* The system 1 + beta P below its diagonal. */
static void write_system(const lh_scan_plan *p, const lh_delta_rule_spec *spec,
                         const lh_scan_chunk *c, real *system) {
    real products[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    lh_cpu_scan_products(c, p->spec->key_width, c->k, c->k, products);
    mix(p, c, products, system);
    for (int64_t i = 0; i < c->count; ++i) {
        real *row = system + i * LH_SCAN_CHUNK;
        lh_scan_scale(i, beta_at(spec, c, i), row, LH_SET, row);
    }
}

/* Solves the system, or its transpose, for rows x [count][value_width] in place. */
static void solve(const lh_scan_plan *p, const lh_scan_chunk *c, bool transpose, const real *system,
                  lh_rows x) {
    lh_blas_solve(transpose, c->count, p->spec->value_width, lh_rows_of(system, LH_SCAN_CHUNK), x);
}

/* ---- Forward ---- */

/* u = beta (v - b k S), before the system is solved. */
static void write_errors(const lh_scan_plan *p, const lh_delta_rule_spec *spec,
                         const lh_scan_chunk *c, const real *state, lh_rows u) {
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    lh_blas_multiply(false, false, c->count, values, keys, 1, c->k, lh_rows_of(state, values), 0,
                     u);
    for (int64_t i = 0; i < c->count; ++i) {
        const real beta = beta_at(spec, c, i);
        real *row = u.data + i * u.stride;
        lh_scan_scale(values, -c->since[i] * beta, row, LH_SET, row);
        lh_scan_scale(values, beta, c->v.data + i * c->v.stride, LH_ADD, row);
    }
}

/* All chunks of a batch row and head; scratch as forward_scratch says. */
static void run_forward(const lh_scan_plan *p, const lh_delta_rule_forward_args *args,
                        int64_t batch, int64_t head, real *scratch) {
    const int64_t values = p->spec->value_width;
    real system[LH_SCAN_CHUNK * LH_SCAN_CHUNK], *state = scratch, *next = scratch + p->state_size;
    const lh_rows kept = lh_rows_of(next + p->state_size, values);
    memcpy(state, p->spec->start + (batch * p->spec->heads + head) * p->state_size,
           (size_t)p->state_size * sizeof *state);
    for (int64_t i = 0; i < p->chunks; ++i) {
        const lh_scan_chunk c = lh_cpu_scan_chunk(p, batch, head, i);
        const lh_rows u = lh_head_rows(args->u, batch, head, c.first);
        lh_cpu_scan_sum_decays(p, &c);
        write_system(p, &args->spec, &c, system);
        write_errors(p, &args->spec, &c, state, u);
        solve(p, &c, false, system, u);
        if (i == p->chunks - 1) return;
        lh_scan_scale_rows(c.count, values, c.until, u, kept);
        lh_cpu_scan_pass_on(p, &c, state, c.k, kept, next);
        real *before = state;
        state = next;
        next = before;
    }
}

static int64_t forward_scratch(const lh_decay_scan_spec *spec) {
    return 2 * spec->key_width * spec->value_width + LH_SCAN_CHUNK * spec->value_width;
}

size_t lh_cpu_delta_rule_forward_workspace(const lh_delta_rule_forward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    return lh_cpu_scan_workspace(scan, 0, scan->batch * scan->heads * forward_scratch(scan));
}

lh_status lh_cpu_delta_rule_forward(const lh_launch *launch,
                                    const lh_delta_rule_forward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    if (scan->batch == 0) return LH_OK;
    const lh_scan_plan p = lh_cpu_scan_plan(scan, 0, launch->workspace);
    const int64_t pairs = scan->batch * scan->heads;
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair)
        run_forward(&p, args, pair / scan->heads, pair % scan->heads,
                    p.scratch + pair * forward_scratch(scan));
    return LH_OK;
}

/* ---- Backward ---- */

/* What the backward pass has: the plan of a scan whose values are u, w of all tokens
 * [batch][heads][length][value_width], and the memory of its tasks. */
typedef struct back {
    const lh_delta_rule_backward_args *args;
    lh_scan_plan plan;
    real *solved, *scratch;
} back;

static lh_rows solved_rows(const back *b, const lh_scan_chunk *c) {
    const lh_decay_scan_spec *scan = b->plan.spec;
    const int64_t pair = c->batch * scan->heads + c->head;
    return lh_rows_of(b->solved + (pair * scan->length + c->first) * scan->value_width,
                      scan->value_width);
}

/* w of a chunk. */
static void solve_back(const back *b, const lh_scan_chunk *c) {
    const lh_scan_plan *p = &b->plan;
    const int64_t keys = p->spec->key_width, values = p->spec->value_width;
    const lh_rows du = lh_head_rows(b->args->du, c->batch, c->head, c->first);
    const lh_rows w = solved_rows(b, c);
    real system[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    lh_blas_multiply(false, false, c->count, values, keys, 1, c->k, lh_rows_of(c->gradient, values),
                     0, w);
    lh_scan_scale_rows(c->count, values, c->until, w, w);
    for (int64_t i = 0; i < c->count; ++i)
        lh_scan_scale(values, 1, du.data + i * du.stride, LH_ADD, w.data + i * w.stride);
    write_system(p, &b->args->spec, c, system);
    solve(p, c, true, system, w);
}

/* w of all chunks and gradients of the states behind them, from the last one back, and of the first
 * state; scratch as chain_scratch says. */
static void run_gradients(const back *b, int64_t batch, int64_t head, real *scratch) {
    const lh_scan_plan *p = &b->plan;
    const int64_t values = p->spec->value_width, size = p->state_size;
    real *first = scratch + LH_SCAN_CHUNK * values, *dstart = b->args->dstart;
    memset(first, 0, (size_t)size * sizeof *first);
    for (int64_t i = p->chunks - 1; i >= 0; --i) {
        const lh_scan_chunk c = lh_cpu_scan_chunk(p, batch, head, i);
        real *behind = (real *)(uintptr_t)c.gradient, factor[LH_SCAN_CHUNK];
        if (i == p->chunks - 1) memset(behind, 0, (size_t)size * sizeof *behind);
        solve_back(b, &c);
        if (i == 0 && dstart == NULL) return;
        for (int64_t t = 0; t < c.count; ++t)
            factor[t] = -c.since[t] * beta_at(&b->args->spec, &c, t);
        lh_scan_scale_rows(c.count, values, factor, solved_rows(b, &c),
                           lh_rows_of(scratch, values));
        lh_cpu_scan_pass_on(p, &c, behind, c.k, lh_rows_of(scratch, values),
                            i > 0 ? behind - size : first);
    }
    if (dstart != NULL)
        lh_scan_scale(size, 1, first, b->args->dstart_write,
                      dstart + (batch * p->spec->heads + head) * size);
}

/* What one head adds to the gradients of a chunk; the memory of a task. */
typedef struct inside {
    real *mixed;    /* [LH_SCAN_CHUNK][LH_SCAN_CHUNK]: P */
    real *slopes;   /* the same: gradient of P, then times P */
    real *products; /* the same: gradient of k k^T, summed over the heads of the group */
    lh_rows right;  /* [LH_SCAN_CHUNK][value_width]: beta_i w_i, the gradient of v */
    lh_rows work;   /* the same */
    lh_rows keys;   /* [LH_SCAN_CHUNK][key_width] */
    double *read;   /* [LH_SCAN_CHUNK]: gradient of log b_i */
    double *kept;   /* [LH_SCAN_CHUNK]: gradient of log e_j */
} inside;

/* dv = beta w, and dbeta_i = w_i . (v_i - b_i k_i S - sum_j P_ij u_j). */
static void value_gradients(const back *b, const lh_scan_chunk *c, const inside *m) {
    const lh_delta_rule_backward_args *args = b->args;
    const lh_decay_scan_spec *scan = b->plan.spec;
    const int64_t values = scan->value_width, heads = scan->heads;
    const lh_rows v = lh_head_rows(args->spec.scan.v, c->batch, c->head, c->first);
    const lh_rows dv = lh_head_rows(args->dv, c->batch, c->head, c->first);
    const lh_rows w = solved_rows(b, c), work = m->work;
    lh_blas_multiply(false, false, c->count, values, scan->key_width, 1, c->k,
                     lh_rows_of(c->state, values), 0, work);
    lh_scan_scale_rows(c->count, values, c->since, work, work);
    lh_blas_multiply(false, false, c->count, values, c->count, 1,
                     lh_rows_of(m->mixed, LH_SCAN_CHUNK), c->v, 1, work);
    for (int64_t i = 0; i < c->count; ++i) {
        const real *solved = w.data + i * w.stride, beta = beta_at(&args->spec, c, i);
        const real slope = (real)(lh_scan_dot(values, solved, v.data + i * v.stride) -
                                  lh_scan_dot(values, solved, work.data + i * work.stride));
        const int64_t token = c->batch * scan->length + c->first + i;
        lh_scan_scale(values, beta, solved, LH_SET, m->right.data + i * values);
        if (dv.data != NULL)
            lh_scan_scale(values, beta, solved, args->dv_write, dv.data + i * dv.stride);
        if (args->dbeta != NULL)
            lh_scan_scale(1, 1, &slope, args->dbeta_write, args->dbeta + token * heads + c->head);
    }
}

/* The gradient of k k^T gets -d_ij beta_i w_i . u_j; slopes become P_ij times as much as P gets. */
static void product_gradients(const back *b, const lh_scan_chunk *c, const inside *m) {
    real decayed[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    lh_cpu_scan_products(c, b->plan.spec->value_width, m->right, c->v, m->slopes);
    mix(&b->plan, c, m->slopes, decayed);
    for (int64_t i = 0; i < c->count; ++i) {
#pragma omp simd
        for (int64_t j = 0; j < c->count; ++j) {
            m->products[i * LH_SCAN_CHUNK + j] -= decayed[i * LH_SCAN_CHUNK + j];
            m->slopes[i * LH_SCAN_CHUNK + j] *= -m->mixed[i * LH_SCAN_CHUNK + j];
        }
    }
}

/* keys = rows x^T for a state x, row i scaled by factor_i; log_slope_i is what log factor_i gets.
 */
static void key_part(const back *b, const lh_scan_chunk *c, const inside *m, lh_rows rows,
                     const real *x, const real *factor, double *log_slope) {
    const int64_t keys = b->plan.spec->key_width, values = b->plan.spec->value_width;
    lh_blas_multiply(false, true, c->count, keys, values, 1, rows, lh_rows_of(x, values), 0,
                     m->keys);
    lh_scan_scale_rows(c->count, keys, factor, m->keys, m->keys);
    for (int64_t i = 0; i < c->count; ++i)
        log_slope[i] = lh_scan_dot(keys, m->keys.data + i * keys, c->k.data + i * c->k.stride);
}

static void add_keys(const lh_scan_chunk *c, const inside *m, int64_t keys, lh_write write,
                     lh_rows dk) {
    for (int64_t i = 0; i < c->count && dk.data != NULL; ++i)
        lh_scan_scale(keys, 1, m->keys.data + i * keys, write, dk.data + i * dk.stride);
}

/* dk_i gets -b_i beta_i w_i S^T and e_i u_i D^T; behind the last head of a group what k k^T got. */
static void key_gradients(const back *b, const lh_scan_chunk *c, bool first, bool last,
                          const inside *m) {
    const int64_t keys = b->plan.spec->key_width;
    const lh_rows dk = lh_head_rows(b->args->dk, c->batch, c->group, c->first);
    const lh_rows products = lh_rows_of(m->products, LH_SCAN_CHUNK);
    real factor[LH_SCAN_CHUNK];
    for (int64_t i = 0; i < c->count; ++i)
        factor[i] = -c->since[i];
    key_part(b, c, m, m->right, c->state, factor, m->read);
    add_keys(c, m, keys, first ? b->args->dk_write : LH_ADD, dk);
    key_part(b, c, m, c->v, c->gradient, c->until, m->kept);
    add_keys(c, m, keys, LH_ADD, dk);
    if (!last || dk.data == NULL) return;
    lh_blas_multiply(false, false, c->count, keys, c->count, 1, products, c->k, 1, dk);
    lh_blas_multiply(true, false, c->count, keys, c->count, 1, products, c->k, 1, dk);
}

static void run_chunk_back(const back *b, int64_t task, real *scratch) {
    const lh_decay_scan_spec *scan = b->plan.spec;
    const int64_t shared = scan->heads / scan->groups, index = task % b->plan.chunks;
    const int64_t batch = task / b->plan.chunks / scan->groups;
    const int64_t first = task / b->plan.chunks % scan->groups * shared;
    const int64_t values = LH_SCAN_CHUNK * scan->value_width;
    real kk[LH_SCAN_CHUNK * LH_SCAN_CHUNK], mixed[LH_SCAN_CHUNK * LH_SCAN_CHUNK];
    real slopes[LH_SCAN_CHUNK * LH_SCAN_CHUNK], products[LH_SCAN_CHUNK * LH_SCAN_CHUNK] = {0};
    double read[LH_SCAN_CHUNK], kept[LH_SCAN_CHUNK];
    const inside m = {.mixed = mixed,
                      .slopes = slopes,
                      .products = products,
                      .right = lh_rows_of(scratch, scan->value_width),
                      .work = lh_rows_of(scratch + values, scan->value_width),
                      .keys = lh_rows_of(scratch + 2 * values, scan->key_width),
                      .read = read,
                      .kept = kept};
    for (int64_t head = first; head < first + shared; ++head) {
        const lh_scan_chunk c = lh_cpu_scan_chunk(&b->plan, batch, head, index);
        if (head == first) lh_cpu_scan_products(&c, scan->key_width, c.k, c.k, kk);
        mix(&b->plan, &c, kk, mixed);
        value_gradients(b, &c, &m);
        product_gradients(b, &c, &m);
        key_gradients(b, &c, head == first, head == first + shared - 1, &m);
        lh_cpu_scan_decay_gradients(&b->plan, &c, slopes, read, kept, b->args->dlog_decay,
                                    b->args->dlog_decay_write);
    }
}

/* Of a task of run_gradients, and of run_chunk_back. */
static int64_t chain_scratch(const lh_decay_scan_spec *scan) {
    return LH_SCAN_CHUNK * scan->value_width + scan->key_width * scan->value_width;
}

static int64_t chunk_scratch(const lh_decay_scan_spec *scan) {
    return LH_SCAN_CHUNK * (2 * scan->value_width + scan->key_width);
}

static int64_t solved_size(const lh_decay_scan_spec *scan) {
    return scan->batch * scan->heads * scan->length * scan->value_width;
}

size_t lh_cpu_delta_rule_backward_workspace(const lh_delta_rule_backward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    const int64_t tasks = scan->batch * scan->groups * lh_chunk_count(scan->length, LH_SCAN_CHUNK);
    const int64_t scratch =
        lh_max(scan->batch * scan->heads * chain_scratch(scan), tasks * chunk_scratch(scan));
    return lh_cpu_scan_workspace(scan, 2, solved_size(scan) + scratch);
}

lh_status lh_cpu_delta_rule_backward(const lh_launch *launch,
                                     const lh_delta_rule_backward_args *args) {
    lh_decay_scan_spec scan = args->spec.scan;
    if (scan.batch == 0) return LH_OK;
    scan.v = args->u;
    back b = {.args = args, .plan = lh_cpu_scan_plan(&scan, 2, launch->workspace)};
    b.solved = b.plan.scratch;
    b.scratch = b.solved + solved_size(&scan);
    const int64_t pairs = scan.batch * scan.heads, tasks = scan.batch * scan.groups * b.plan.chunks;
#pragma omp parallel for schedule(static)
    for (int64_t pair = 0; pair < pairs; ++pair) {
        real *scratch = b.scratch + pair * chain_scratch(&scan);
        lh_cpu_scan_states(&b.plan, pair / scan.heads, pair % scan.heads, scratch, NULL);
        run_gradients(&b, pair / scan.heads, pair % scan.heads, scratch);
    }
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < tasks; ++task)
        run_chunk_back(&b, task, b.scratch + task * chunk_scratch(&scan));
    return LH_OK;
}
