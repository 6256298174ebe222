#include "kernels/cuda/warp.cuh"

lh_status lh_cuda_unit_norm_forward(const lh_launch *launch,
                                    const lh_unit_norm_forward_args *args) {
    const lh_unit_norm_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *x = a.x + row * a.width;
        real *y = a.y + row * a.width, squares = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            squares += x[i] * x[i];
        const real rnorm = 1.0f / sqrtf(lh_warp_sum(squares) + a.epsilon);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            y[i] = x[i] * rnorm;
        if (lane == 0) a.rnorm[row] = rnorm;
    });
}

lh_status lh_cuda_unit_norm_backward(const lh_launch *launch,
                                     const lh_unit_norm_backward_args *args) {
    const lh_unit_norm_backward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *y = a.y + row * a.width, *dy = a.dy + row * a.width;
        real *dx = a.dx + row * a.width, product = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            product += y[i] * dy[i];
        product = lh_warp_sum(product);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&dx[i], a.write, a.rnorm[row] * (dy[i] - y[i] * product));
    });
}
