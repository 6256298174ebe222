/* Matrix products through oneDNN on the processor: of bf16 with sums in f32, and those of reals
 * that it multiplies faster than the BLAS. The one place that knows the library; a build without it
 * has product_none.c instead. */
#ifndef LH_KERNELS_PRODUCT_H
#define LH_KERNELS_PRODUCT_H

#include "kernels/bf16.h"

#ifdef __cplusplus
extern "C" {
#endif

/* C = alpha * op(A) op(B), or C += that; op(A) is [m][k], op(B) is [k][n], C is [m][n], each
 * row-major with its leading dimension as stored. A and B have one dtype; C has reals, or bf16 of
 * such operands, and is rounded once. */
typedef struct lh_product {
    int64_t m, n, k; /* 1 or more */
    int64_t a_leading, b_leading, c_leading;
    bool transpose_a, transpose_b;
    float alpha; /* one of few: a kernel is made for each */
    lh_dtype dtype, c_dtype;
    lh_write write;
} lh_product;

/* NULL, or what bf16 on this processor lacks: the library or the instructions. Static storage. */
const char *lh_product_lacks_bf16(void);

/* Whether the processor multiplies in this precision what lies in memory as `dtype`. */
static inline bool lh_product_knows(lh_dtype dtype, lh_precision precision) {
    if (precision == LH_PRECISION_BF16) return lh_product_lacks_bf16() == NULL;
    return precision == LH_PRECISION_F32 && dtype == LH_REAL;
}

/* Sums of fewer products than this are better filled up with zeros in bf16: the processor has a
 * faster instruction for longer ones. 1: none. */
int64_t lh_product_shortest_bf16(void);

/* Whether a product of reals is better run here than by the BLAS: a rule by shape and processor,
 * for a timing would choose other bits from run to run. */
bool lh_product_suits_reals(const lh_product *product);

/* Runs in the calling thread alone, so that bits do not depend on the number of threads; may be
 * called from several. The kernel for a product is made when it is first met. Fails: LH_EDEVICE
 * with lh_device_explain, LH_EMEMORY. */
lh_status lh_product_run(const lh_product *product, const void *a, const void *b, void *c);

#ifdef __cplusplus
}
#endif

#endif
