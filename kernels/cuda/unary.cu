/* Functions of one number and their derivatives, a run of neighbours to a thread. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/unary.cuh"

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_unary_forward_args *args) {
    const lh_unary_op op = args->op;
    const int64_t count = args->count;
    const element *x = lh_elements<element>(args->x);
    element *y = lh_elements<element>(args->y);
    return lh_each_run(launch, count, [=] __device__(int64_t begin) {
        lh_run value = lh_load_run(x, begin, count);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            value.at[n] = lh_unary_value(op, value.at[n]);
        lh_store_run(y, begin, count, LH_SET, value);
    });
}

lh_status lh_cuda_unary_forward(const lh_launch *launch, const lh_unary_forward_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, forward, launch, args);
}

template <typename element>
static lh_status backward(const lh_launch *launch, const lh_unary_backward_args *args) {
    const lh_unary_op op = args->op;
    const lh_write write = args->write;
    const int64_t count = args->count;
    const element *read = lh_elements<element>(lh_unary_reads_output(op) ? args->y : args->x);
    const element *dy = lh_elements<element>(args->dy);
    element *dx = lh_elements<element>(args->dx);
    return lh_each_run(launch, count, [=] __device__(int64_t begin) {
        lh_run slope = {}, value = lh_load_run(dy, begin, count);
        if (op != LH_UNARY_IDENTITY) slope = lh_load_run(read, begin, count);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            value.at[n] *= lh_unary_slope(op, slope.at[n]);
        lh_store_run(dx, begin, count, write, value);
    });
}

lh_status lh_cuda_unary_backward(const lh_launch *launch, const lh_unary_backward_args *args) {
    return LH_FOR_ELEMENT(args->dy.dtype, backward, launch, args);
}
