/* What the CPU kernels ask of the BLAS: a product and a triangular solve, of reals; nothing else
 * calls it.
 *
 * Matrices are row-major, as all tensors are: with CblasRowMajor the BLAS itself works out that the
 * same memory, column-major, is the transpose. A call runs in the thread that makes it, because
 * kernels/backends.c leaves OpenBLAS one: kernels cut their work by its shape and share the pieces
 * out, so that bits do not depend on the number of threads. */
#ifndef LH_KERNELS_CPU_BLAS_H
#define LH_KERNELS_CPU_BLAS_H

#include <cblas.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"

/* Rows of a matrix: row r begins at data + r * stride. */
typedef struct lh_rows {
    real *data;
    int64_t stride;
} lh_rows;

/* The rows of `data`, which may be const where they are only read. */
static inline lh_rows lh_rows_of(const real *data, int64_t stride) {
    return (lh_rows){(real *)(uintptr_t)data, stride};
}

/* The vectors of a head from `token` on; data NULL where the view has none. */
static inline lh_rows lh_head_rows(lh_heads heads, int64_t batch, int64_t head, int64_t token) {
    real *data = lh_as_reals(heads.act);
    const int64_t at =
        batch * heads.batch_stride + head * heads.head_stride + token * heads.token_stride;
    return (lh_rows){data == NULL ? NULL : data + at, heads.token_stride};
}

static inline real *lh_row(lh_rows rows, int64_t row) {
    return rows.data + row * rows.stride;
}

/* A leading dimension: BLAS wants one that holds a row, also of a matrix that has but one row and
 * so any stride. */
static inline int lh_blas_leading(lh_rows rows, int64_t width) {
    return (int)lh_max(lh_max(rows.stride, 1), width);
}

/* c [m][n] = alpha * op(a) op(b) + beta * c, summed over k. */
static inline void lh_blas_multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n,
                                    int64_t k, real alpha, lh_rows a, lh_rows b, real beta,
                                    lh_rows c) {
    const enum CBLAS_TRANSPOSE ta = transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE tb = transpose_b ? CblasTrans : CblasNoTrans;
    const int lda = lh_blas_leading(a, transpose_a ? m : k);
    const int ldb = lh_blas_leading(b, transpose_b ? k : n), ldc = lh_blas_leading(c, n);
#ifdef LH_REAL_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, alpha, a.data, lda, b.data, ldb,
                beta, c.data, ldc);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, alpha, a.data, lda, b.data, ldb,
                beta, c.data, ldc);
#endif
}

/* x [m][n] = op(system)^-1 x. The system [m][m] is lower triangular with a diagonal of ones; what
 * lies on the diagonal and above it is not read. */
static inline void lh_blas_solve(bool transpose, int64_t m, int64_t n, lh_rows system, lh_rows x) {
    const enum CBLAS_TRANSPOSE t = transpose ? CblasTrans : CblasNoTrans;
    const int lds = lh_blas_leading(system, m), ldx = lh_blas_leading(x, n);
#ifdef LH_REAL_DOUBLE
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, t, CblasUnit, (int)m, (int)n, 1, system.data,
                lds, x.data, ldx);
#else
    cblas_strsm(CblasRowMajor, CblasLeft, CblasLower, t, CblasUnit, (int)m, (int)n, 1, system.data,
                lds, x.data, ldx);
#endif
}

#endif
