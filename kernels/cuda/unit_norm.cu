/* Rows of unit length and their gradient, a warp to a row. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_unit_norm_forward_args *args) {
    const lh_unit_norm_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const element *x = lh_elements<element>(a.x) + row * a.width;
        element *y = lh_elements<element>(a.y) + row * a.width;
        real squares = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            squares += lh_load(&x[i]) * lh_load(&x[i]);
        const real rnorm = 1.0f / sqrtf(lh_warp_sum(squares) + a.epsilon);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&y[i], LH_SET, lh_load(&x[i]) * rnorm);
        if (lane == 0) a.rnorm[row] = rnorm;
    });
}

lh_status lh_cuda_unit_norm_forward(const lh_launch *launch,
                                    const lh_unit_norm_forward_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, forward, launch, args);
}

template <typename element>
static lh_status backward(const lh_launch *launch, const lh_unit_norm_backward_args *args) {
    const lh_unit_norm_backward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const element *y = lh_elements<element>(a.y) + row * a.width;
        const element *dy = lh_elements<element>(a.dy) + row * a.width;
        element *dx = lh_elements<element>(a.dx) + row * a.width;
        real product = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            product += lh_load(&y[i]) * lh_load(&dy[i]);
        product = lh_warp_sum(product);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&dx[i], a.write, a.rnorm[row] * (lh_load(&dy[i]) - lh_load(&y[i]) * product));
    });
}

lh_status lh_cuda_unit_norm_backward(const lh_launch *launch,
                                     const lh_unit_norm_backward_args *args) {
    return LH_FOR_ELEMENT(args->y.dtype, backward, launch, args);
}
