/* Matrix products. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_MATMUL_H
#define LH_KERNELS_CONTRACT_MATMUL_H

#include "kernels/contract/check.h"

/* C = act(alpha * op(A) op(B) + bias), C = alpha * op(A) op(B) + residual, or
 * C += alpha * op(A) op(B), for `batch` products.
 *
 * op(A) is [m][k], op(B) is [k][n], C is [m][n]; each row-major with its leading dimension
 * (elements between rows as stored, before the transpose) and its step between batch members (0
 * repeats). With LH_ADD there is no bias, no activation and no residual, and with a
 * residual neither of the other two. `pre`, optional, gets the value before the activation in C's
 * layout (for activations whose gradient needs it).
 * The operands are rounded to `precision` first; one that the backend lacks gives LH_EOPTION, and
 * so does a matrix that lies in memory as bf16 unless bf16 is the precision. In bf16 the
 * bias may be rounded, too, and C before its bias and activation.
 * m, n, k and the leading dimensions are below 2^31, as a BLAS counts them.
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
    lh_act pre;      /* out optional, like c */
    lh_act residual; /* in  optional, like c, which it must not overlap */
    lh_precision precision;
} lh_matmul_args;

static inline bool lh_matmul_fits(const lh_matmul_args *args) {
    const int64_t a_columns = args->transpose_a ? args->m : args->k;
    const int64_t b_columns = args->transpose_b ? args->k : args->n;
    const int64_t joined = args->m | args->n | args->k | args->a_leading | args->b_leading |
                           args->c_leading; /* below 2^31 where all are */
    return lh_are_sizes(args->batch | joined) && joined <= INT32_MAX &&
           args->a_leading >= a_columns && args->b_leading >= b_columns &&
           args->c_leading >= args->n;
}

/* Whether C is not only the product. */
static inline bool lh_matmul_has_finish(const lh_matmul_args *args) {
    return args->bias != NULL || args->pre.data != NULL || args->activation != LH_UNARY_IDENTITY;
}

static inline lh_status lh_matmul_check(const lh_matmul_args *args) {
    const bool operands = lh_multiplies(args->a.dtype, args->precision) &&
                          lh_multiplies(args->b.dtype, args->precision) &&
                          lh_multiplies(args->c.dtype, args->precision) &&
                          lh_agrees(args->pre, args->c.dtype) &&
                          lh_agrees(args->residual, args->c.dtype);
    const int additions = (args->write == LH_ADD) + (args->residual.data != NULL);
    const bool finish =
        lh_unary_known(args->activation) && additions + lh_matmul_has_finish(args) <= 1;
    return lh_sound(lh_matmul_fits(args),
                    lh_precision_known(args->precision) && operands && finish);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(matmul, args->a.dtype | args->b.dtype | args->c.dtype)
#endif
