/* For backends: a residual as a copy, to which the product is then added. */
#ifndef LH_KERNELS_MATMUL_RESIDUAL_H
#define LH_KERNELS_MATMUL_RESIDUAL_H

#include <string.h>

#include "kernels/kernels.h"

/* The residual into C. */
static inline lh_copy_args lh_matmul_residual_copy(const lh_matmul_args *args) {
    const int64_t shape[] = {args->batch, args->m, args->n};
    const int64_t stride[] = {args->c_step, args->c_leading, 1};
    lh_copy_args copy;
    memset(&copy, 0, sizeof copy);
    copy.rank = 3;
    copy.x = args->residual;
    copy.y = args->c;
    copy.write = LH_SET;
    memcpy(copy.shape, shape, sizeof shape);
    memcpy(copy.x_stride, stride, sizeof stride);
    memcpy(copy.y_stride, stride, sizeof stride);
    return copy;
}

/* What is left to do after it. */
static inline lh_matmul_args lh_matmul_onto_residual(const lh_matmul_args *args) {
    lh_matmul_args onto = *args;
    onto.residual.data = NULL;
    onto.write = LH_ADD;
    return onto;
}

#endif
