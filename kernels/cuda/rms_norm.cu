/* Root-mean-square normalisation, a warp to a row. */
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/row_runs.cuh"

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_rms_norm_forward_args *args) {
    const lh_rms_norm_forward_args a = *args;
    return lh_each_row(launch, a.rows, [=] __device__(int64_t row, int lane) {
        const element *x = lh_elements<element>(a.x) + row * a.width;
        element *y = lh_elements<element>(a.y) + row * a.width;
        real squares = 0;
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            const lh_run run = lh_load_run(x, begin, a.width);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                squares += run.at[n] * run.at[n];
        });
        const real rstd = 1.0f / sqrtf(lh_warp_sum(squares) / (real)a.width + a.epsilon);
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            const lh_run gain = lh_load_run(a.gain, begin, a.width);
            lh_run run = lh_load_run(x, begin, a.width);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                run.at[n] *= gain.at[n] * rstd;
            lh_store_run(y, begin, a.width, LH_SET, run);
        });
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
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            const lh_run gain = lh_load_run(a.gain, begin, a.width);
            const lh_run slope = lh_load_run(dy, begin, a.width),
                         value = lh_load_run(x, begin, a.width);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                product += gain.at[n] * slope.at[n] * value.at[n] * rstd;
        });
        product = lh_warp_sum(product) / (real)a.width;
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            const lh_run gain = lh_load_run(a.gain, begin, a.width);
            const lh_run slope = lh_load_run(dy, begin, a.width),
                         value = lh_load_run(x, begin, a.width);
            lh_run run;
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                run.at[n] = rstd * (gain.at[n] * slope.at[n] - value.at[n] * rstd * product);
            lh_store_run(dx, begin, a.width, a.dx_write, run);
        });
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
