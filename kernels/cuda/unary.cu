#include "kernels/cuda/element.cuh"
#include "kernels/cuda/unary.cuh"

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_unary_forward_args *args) {
    const lh_unary_op op = args->op;
    const element *x = lh_elements<element>(args->x);
    element *y = lh_elements<element>(args->y);
    return lh_each(launch, args->count, [=] __device__(int64_t i) {
        lh_store(&y[i], LH_SET, lh_unary_value(op, lh_load(&x[i])));
    });
}

lh_status lh_cuda_unary_forward(const lh_launch *launch, const lh_unary_forward_args *args) {
    if (!lh_unary_known(args->op)) return LH_EOPTION;
    return LH_FOR_ELEMENT(args->dtype, forward, launch, args);
}

template <typename element>
static lh_status backward(const lh_launch *launch, const lh_unary_backward_args *args) {
    const lh_unary_op op = args->op;
    const lh_write write = args->write;
    const element *read = lh_elements<element>(lh_unary_reads_output(op) ? args->y : args->x);
    const element *dy = lh_elements<element>(args->dy);
    element *dx = lh_elements<element>(args->dx);
    return lh_each(launch, args->count, [=] __device__(int64_t i) {
        const real slope = op == LH_UNARY_IDENTITY ? 1.0f : lh_unary_slope(op, lh_load(&read[i]));
        lh_store(&dx[i], write, lh_load(&dy[i]) * slope);
    });
}

lh_status lh_cuda_unary_backward(const lh_launch *launch, const lh_unary_backward_args *args) {
    if (!lh_unary_known(args->op)) return LH_EOPTION;
    return LH_FOR_ELEMENT(args->dtype, backward, launch, args);
}
