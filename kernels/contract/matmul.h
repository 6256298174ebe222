/* Matrix products. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_MATMUL_H
#define LH_KERNELS_CONTRACT_MATMUL_H

#include "kernels/terms.h"

/* C = act(alpha * op(A) op(B) + bias), or C += alpha * op(A) op(B), for `batch` products.
 *
 * op(A) is [m][k], op(B) is [k][n], C is [m][n]; each row-major with its leading dimension
 * (elements between rows as stored, before the transpose) and its step between batch members (0
 * repeats). With LH_ADD there is no bias and no activation. `pre`, optional, gets the value before
 * the activation in C's layout (for activations whose gradient needs it).
 * The operands are rounded to `precision` first; one that the backend lacks gives LH_EOPTION, and
 * so does a matrix that lies in memory as bf16 unless bf16 is the precision. In bf16, C is rounded
 * before its bias and activation, too.
 * Flops 2*batch*m*n*k. The tiling depends on the shape alone. */
typedef struct lh_matmul_args {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
    real alpha;
    lh_act a; /* in */
    int64_t a_leading, a_step;
    lh_act b; /* in */
    int64_t b_leading, b_step;
    lh_act c; /* out; must not overlap a or b */
    int64_t c_leading, c_step;
    lh_write write;
    const real *bias; /* in  optional [n] */
    lh_unary_op activation;
    lh_act pre; /* out optional, like c */
    lh_precision precision;
} lh_matmul_args;

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(matmul, args->a.dtype | args->b.dtype | args->c.dtype)
#endif
