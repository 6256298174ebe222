/* Softmax of rows and its gradient, a warp to a row. */
#include "kernels/cuda/warp.cuh"

lh_status lh_cuda_softmax_forward(const lh_launch *launch, const lh_softmax_forward_args *args) {
    const lh_softmax_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *x = a.x + row * a.width;
        real *y = a.y + row * a.width, most = -INFINITY, sum = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            most = lh_larger(most, x[i]);
        most = lh_warp_max(most);
        const bool masked = most == -INFINITY;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            sum += expf(x[i] - most);
        sum = lh_warp_sum(sum);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            y[i] = masked ? 0 : expf(x[i] - most) / sum;
    });
}

lh_status lh_cuda_softmax_backward(const lh_launch *launch, const lh_softmax_backward_args *args) {
    const lh_softmax_backward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *y = a.y + row * a.width, *dy = a.dy + row * a.width;
        real *dx = a.dx + row * a.width, sum = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            sum += y[i] * dy[i];
        sum = lh_warp_sum(sum);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&dx[i], a.write, y[i] * (dy[i] - sum));
    });
}
