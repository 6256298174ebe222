#include "kernels/cuda/unary.cuh"

lh_status lh_cuda_unary_forward(const lh_launch *launch, const lh_unary_forward_args *args) {
    const lh_unary_forward_args a = *args;
    if (!lh_unary_known(a.op)) return LH_EOPTION;
    return lh_each(launch, a.count,
                   [=] __device__(int64_t i) { a.y[i] = lh_unary_value(a.op, a.x[i]); });
}

lh_status lh_cuda_unary_backward(const lh_launch *launch, const lh_unary_backward_args *args) {
    const lh_unary_backward_args a = *args;
    if (!lh_unary_known(a.op)) return LH_EOPTION;
    const real *read = lh_unary_reads_output(a.op) ? a.y : a.x;
    return lh_each(launch, a.count, [=] __device__(int64_t i) {
        const real slope = a.op == LH_UNARY_IDENTITY ? 1.0f : lh_unary_slope(a.op, read[i]);
        lh_store(&a.dx[i], a.write, a.dy[i] * slope);
    });
}
