/* Root-mean-square normalisation, a warp to a row. */
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
    const lh_rms_norm_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const element *x = lh_elements<element>(a.x) + row * a.width;
        element *y = lh_elements<element>(a.y) + row * a.width;
        real squares = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            squares += lh_load(&x[i]) * lh_load(&x[i]);
        const real rstd = 1.0f / sqrtf(lh_warp_sum(squares) / (real)a.width + a.epsilon);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&y[i], LH_SET, a.gain[i] * lh_load(&x[i]) * rstd);
        if (lane == 0) a.rstd[row] = rstd;
    });
}

lh_status lh_cuda_rms_norm_forward(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, forward, launch, args);
}

size_t lh_cuda_rms_norm_backward_workspace(const lh_rms_norm_backward_args *args) {
    return lh_column_workspace(args->rows, args->width);
}

/* With n = x rstd and e = gain dy: dx = rstd (e - n mean(e n)). */
template <typename element>
static lh_status input_gradient(const lh_launch *launch, const lh_rms_norm_backward_args *args) {
    const lh_rms_norm_backward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const element *x = lh_elements<element>(a.x) + row * a.width;
        const element *dy = lh_elements<element>(a.dy) + row * a.width;
        element *dx = lh_elements<element>(a.dx) + row * a.width;
        const real rstd = a.rstd[row];
        real product = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            product += a.gain[i] * lh_load(&dy[i]) * lh_load(&x[i]) * rstd;
        product = lh_warp_sum(product) / (real)a.width;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&dx[i], a.dx_write,
                     rstd * (a.gain[i] * lh_load(&dy[i]) - lh_load(&x[i]) * rstd * product));
    });
}

template <typename element>
static lh_status backward(const lh_launch *launch, const lh_rms_norm_backward_args *args) {
    const lh_rms_norm_backward_args a = *args;
    const element *x = lh_elements<element>(a.x), *dy = lh_elements<element>(a.dy);
    if (a.dgain != NULL) {
        LH_CUDA_TRY(lh_column_sums(launch, a.rows, a.width, launch->workspace, a.dgain,
                                   a.dgain_write, [=] __device__(int64_t row, int64_t column) {
                                       const int64_t i = row * a.width + column;
                                       return lh_load(&dy[i]) * lh_load(&x[i]) * a.rstd[row];
                                   }));
    }
    return a.dx.data != NULL ? input_gradient<element>(launch, args) : LH_OK;
}

lh_status lh_cuda_rms_norm_backward(const lh_launch *launch,
                                    const lh_rms_norm_backward_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, backward, launch, args);
}
