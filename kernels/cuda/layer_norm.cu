#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/warp.cuh"

lh_status lh_cuda_layer_norm_forward(const lh_launch *launch,
                                     const lh_layer_norm_forward_args *args) {
    const lh_layer_norm_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *x = a.x + row * a.width;
        real *y = a.y + row * a.width, sum = 0, squares = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            sum += x[i];
        const real mean = lh_warp_sum(sum) / (real)a.width;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            squares += (x[i] - mean) * (x[i] - mean);
        const real rstd = 1.0f / sqrtf(lh_warp_sum(squares) / (real)a.width + a.epsilon);
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            y[i] = a.gain[i] * (x[i] - mean) * rstd + (a.bias != NULL ? a.bias[i] : 0);
        if (lane != 0) return;
        a.mean[row] = mean;
        a.rstd[row] = rstd;
    });
}

size_t lh_cuda_layer_norm_backward_workspace(const lh_layer_norm_backward_args *args) {
    return lh_column_workspace(args->rows, args->width);
}

/* With n = (x - mean) rstd and e = gain dy: dx = rstd (e - mean(e) - n mean(e n)). */
static lh_status input_gradient(const lh_launch *launch, const lh_layer_norm_backward_args *args) {
    const lh_layer_norm_backward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const real *x = a.x + row * a.width, *dy = a.dy + row * a.width;
        const real mean = a.mean[row], rstd = a.rstd[row], count = (real)a.width;
        real *dx = a.dx + row * a.width, sum = 0, product = 0;
        for (int64_t i = lane; i < a.width; i += LH_WARP) {
            const real e = a.gain[i] * dy[i];
            sum += e;
            product += e * (x[i] - mean) * rstd;
        }
        sum = lh_warp_sum(sum) / count;
        product = lh_warp_sum(product) / count;
        for (int64_t i = lane; i < a.width; i += LH_WARP)
            lh_store(&dx[i], a.dx_write,
                     rstd * (a.gain[i] * dy[i] - sum - (x[i] - mean) * rstd * product));
    });
}

lh_status lh_cuda_layer_norm_backward(const lh_launch *launch,
                                      const lh_layer_norm_backward_args *args) {
    const lh_layer_norm_backward_args a = *args;
    if (a.dgain != NULL) {
        LH_CUDA_TRY(lh_column_sums(launch, a.rows, a.width, launch->workspace, a.dgain,
                                   a.dgain_write, [=] __device__(int64_t row, int64_t column) {
                                       const int64_t i = row * a.width + column;
                                       return a.dy[i] * (a.x[i] - a.mean[row]) * a.rstd[row];
                                   }));
    }
    if (a.dbias != NULL) {
        LH_CUDA_TRY(lh_column_sums(
            launch, a.rows, a.width, launch->workspace, a.dbias, a.dbias_write,
            [=] __device__(int64_t row, int64_t column) { return a.dy[row * a.width + column]; }));
    }
    return a.dx != NULL ? input_gradient(launch, args) : LH_OK;
}
