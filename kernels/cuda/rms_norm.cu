#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/warp.cuh"

lh_status lh_cuda_rms_norm_forward(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
    const lh_rms_norm_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *x = a.x + row * a.width;
        real *y = a.y + row * a.width, squares = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            squares += x[i] * x[i];
        const real rstd = 1.0f / sqrtf(lh_warp_sum(squares) / (real)a.width + a.epsilon);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            y[i] = a.gain[i] * x[i] * rstd;
        if (lane == 0) a.rstd[row] = rstd;
    });
}

size_t lh_cuda_rms_norm_backward_workspace(const lh_rms_norm_backward_args *args) {
    return lh_column_workspace(args->rows, args->width);
}

/* With n = x rstd and e = gain dy: dx = rstd (e - n mean(e n)). */
static lh_status input_gradient(const lh_launch *launch, const lh_rms_norm_backward_args *args) {
    const lh_rms_norm_backward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *x = a.x + row * a.width, *dy = a.dy + row * a.width, rstd = a.rstd[row];
        real *dx = a.dx + row * a.width, product = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            product += a.gain[i] * dy[i] * x[i] * rstd;
        product = lh_warp_sum(product) / (real)a.width;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&dx[i], a.dx_write, rstd * (a.gain[i] * dy[i] - x[i] * rstd * product));
    });
}

lh_status lh_cuda_rms_norm_backward(const lh_launch *launch,
                                    const lh_rms_norm_backward_args *args) {
    const lh_rms_norm_backward_args a = *args;
    if (a.dgain != NULL) {
        LH_CUDA_TRY(lh_column_sums(launch, a.rows, a.width, launch->workspace, a.dgain,
                                   a.dgain_write, [=] __device__(int64_t row, int64_t column) {
                                       const int64_t i = row * a.width + column;
                                       return a.dy[i] * a.x[i] * a.rstd[row];
                                   }));
    }
    return a.dx != NULL ? input_gradient(launch, args) : LH_OK;
}
