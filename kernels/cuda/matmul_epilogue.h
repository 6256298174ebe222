/* Which products take what follows them along (matmul_epilogue.cu); for the kernels and for their
 * cost. */
#ifndef LH_KERNELS_CUDA_MATMUL_EPILOGUE_H
#define LH_KERNELS_CUDA_MATMUL_EPILOGUE_H

#include "kernels/kernels.h"

enum {
    LH_EPILOGUE_GRAIN = 8, /* rows are multiples of it, also those of what GELU leaves beside */
    /* Addresses are multiples of it: asked of all alike, so that the algorithm, and with it the
     * bits, do not follow where a tensor happens to lie. */
    LH_EPILOGUE_ALIGNMENT = 16
};

/* cuBLASLt knows ReLU, and GELU by tanh, which alone can leave its argument. */
static inline bool lh_epilogue_knows(const lh_matmul_args *args) {
    switch (args->activation) {
    case LH_UNARY_IDENTITY:
    case LH_UNARY_RELU:
        return args->pre.data == NULL;
    case LH_UNARY_GELU:
        return true;
    default:
        return false;
    }
}

static inline bool lh_epilogue_reaches(const lh_matmul_args *args) {
    const uintptr_t addresses = (uintptr_t)args->a.data | (uintptr_t)args->b.data |
                                (uintptr_t)args->c.data | (uintptr_t)args->pre.data |
                                (uintptr_t)args->residual.data | (uintptr_t)args->bias;
    return addresses % LH_EPILOGUE_ALIGNMENT == 0;
}

static inline bool lh_matmul_takes_epilogue(const lh_matmul_args *args) {
    const bool follows = lh_matmul_has_finish(args) || args->residual.data != NULL;
    const int64_t rows = args->n | args->a_leading | args->b_leading | args->c_leading;
    return follows && args->batch == 1 && args->k > 0 && rows % LH_EPILOGUE_GRAIN == 0 &&
           lh_epilogue_knows(args) && lh_epilogue_reaches(args);
}

/* Whether the bias is rounded for it first: cuBLASLt wants it in the type of C. */
static inline bool lh_epilogue_rounds_bias(const lh_matmul_args *args) {
    return args->bias != NULL && args->c.dtype == LH_BF16;
}

struct lh_gemm; /* gemm.cuh */

/* The product with what follows it in one pass over C. *done is false where cuBLASLt has no
 * algorithm for it; nothing is written then. */
lh_status lh_cuda_matmul_epilogue(const lh_launch *launch, const struct lh_gemm *gemm, bool *done);

#endif
