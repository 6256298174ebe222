/* Rows of unit length and their gradient, a warp to a row. */
#include "kernels/cuda/row_runs.cuh"

template <typename element>
static lh_status forward(const lh_launch *launch, const lh_unit_norm_forward_args *args) {
    const lh_unit_norm_forward_args a = *args;
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
        const real rnorm = 1.0f / sqrtf(lh_warp_sum(squares) + a.epsilon);
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            lh_run run = lh_load_run(x, begin, a.width);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                run.at[n] *= rnorm;
            lh_store_run(y, begin, a.width, LH_SET, run);
        });
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
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            const lh_run of_y = lh_load_run(y, begin, a.width),
                         slope = lh_load_run(dy, begin, a.width);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                product += of_y.at[n] * slope.at[n];
        });
        product = lh_warp_sum(product);
        const real rnorm = a.rnorm[row];
        lh_each_lane_run(a.width, lane, [&](int64_t begin) {
            const lh_run of_y = lh_load_run(y, begin, a.width);
            lh_run run = lh_load_run(dy, begin, a.width);
            LH_UNROLL
            for (int n = 0; n < LH_RUN; ++n)
                run.at[n] = rnorm * (run.at[n] - of_y.at[n] * product);
            lh_store_run(dx, begin, a.width, a.write, run);
        });
    });
}

lh_status lh_cuda_unit_norm_backward(const lh_launch *launch,
                                     const lh_unit_norm_backward_args *args) {
    return LH_FOR_ELEMENT(args->y.dtype, backward, launch, args);
}
