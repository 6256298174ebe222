/* Chunks of a scan whose state is a matrix: what the kernels that walk over them have in common. */
#ifndef LH_KERNELS_CPU_SCAN_CHUNK_H
#define LH_KERNELS_CPU_SCAN_CHUNK_H

#include "kernels/cpu/blas.h"

enum { LH_SCAN_CHUNK = 64 };

/* Tokens of one chunk of a batch row, as one head sees them. */
typedef struct lh_scan_chunk {
    int64_t batch, head, group, first, count;
    lh_rows q, k, v;
    const real *decay;    /* log_decay of the first token; NULL: none */
    const real *since;    /* [count]: b_i */
    const real *until;    /* [count]: e_j */
    const real *state;    /* [key_width][value_width]: before it */
    const real *gradient; /* of the state behind it; backward */
} lh_scan_chunk;

/* What lies in workspace. */
typedef struct lh_scan_plan {
    const lh_decay_scan_spec *spec;
    int64_t chunks, state_size;
    real *since;     /* [batch][heads][length] */
    real *until;     /* the same */
    real *states;    /* [batch][heads][chunks][state_size] */
    real *gradients; /* the same; backward */
    real *scratch;   /* of the tasks */
} lh_scan_plan;

/* y[i] (+)= factor x[i] */
LH_SPECIALIZED void lh_scan_scale(int64_t count, real factor, const real *x, lh_write write,
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

/* to[i] = factor[i] from[i], row by row. */
static inline void lh_scan_scale_rows(int64_t count, int64_t width, const real *factor,
                                      lh_rows from, lh_rows to) {
    for (int64_t i = 0; i < count; ++i)
        lh_scan_scale(width, factor[i], lh_row(from, i), LH_SET, lh_row(to, i));
}

static inline double lh_scan_dot(int64_t count, const real *a, const real *b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* ---- Plan and chunks ---- */

/* Cuts the workspace up: decays, states where `copies` is 1, gradients of them, too, where it is 2,
 * scratch. */
lh_scan_plan lh_cpu_scan_plan(const lh_decay_scan_spec *spec, int copies, void *workspace);

/* Bytes for a plan and so many reals of scratch. */
size_t lh_cpu_scan_workspace(const lh_decay_scan_spec *spec, int copies, int64_t scratch);

/* Chunk `index` of a batch row and head. */
lh_scan_chunk lh_cpu_scan_chunk(const lh_scan_plan *p, int64_t batch, int64_t head, int64_t index);

/* ---- From chunk to chunk ---- */

/* Fills b and e of a chunk. */
void lh_cpu_scan_sum_decays(const lh_scan_plan *p, const lh_scan_chunk *c);

/* to = b_n from + sum_j a_j^T scaled_j */
void lh_cpu_scan_pass_on(const lh_scan_plan *p, const lh_scan_chunk *c, const real *from, lh_rows a,
                         lh_rows scaled, real *to);

/* States before all chunks, and behind the last one where `end` is given; scratch
 * [LH_SCAN_CHUNK][value_width]. */
void lh_cpu_scan_states(const lh_scan_plan *p, int64_t batch, int64_t head, real *scratch,
                        real *end);

/* ---- Within a chunk ---- */

/* products [count][LH_SCAN_CHUNK] of two chunks' rows. */
void lh_cpu_scan_products(const lh_scan_chunk *c, int64_t width, lh_rows a, lh_rows b,
                          real *products);

/* y_ij = d_ij x_ij for j <= i, else 0. */
void lh_cpu_scan_decay(const lh_scan_plan *p, const lh_scan_chunk *c, const real *x, real *y);

/* The gradient of log_decay (NULL: not wanted). log_decay_t is in d_ij for j < t <= i, in b_i
 * for i >= t, in e_j for j < t, and in b_n of the next state: slopes [count][LH_SCAN_CHUNK] are the
 * gradients of log d_ij, read those of log b_i, kept those of log e_j. */
void lh_cpu_scan_decay_gradients(const lh_scan_plan *p, const lh_scan_chunk *c, const real *slopes,
                                 const double *read, const double *kept, real *dlog_decay,
                                 lh_write write);

#endif
