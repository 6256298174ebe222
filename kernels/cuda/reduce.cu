/* Sums and maxima along an axis. */
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/element.cuh"

/* Sums over all rows of a matrix, such as a bias' gradient: too few outputs to take a thread each.
 */
static bool sums_columns(const lh_reduce_args *args) {
    return args->op == LH_REDUCE_SUM && args->outer == 1 && args->inner > 1 &&
           args->axis > LH_COLUMN_STRETCH;
}

size_t lh_cuda_reduce_workspace(const lh_reduce_args *args) {
    return sums_columns(args) ? lh_column_workspace(args->axis, args->inner) : 0;
}

/* Along the last axis a warp takes an output; else a thread does, its neighbours beside it. */
template <typename element>
static lh_status reduce(const lh_launch *launch, const lh_reduce_args *args) {
    const lh_reduce_args a = *args;
    const bool sums = a.op == LH_REDUCE_SUM;
    if (sums_columns(args)) {
        const element *x = lh_elements<element>(a.x);
        return lh_column_sums(launch, a.axis, a.inner, launch->workspace, a.y, a.write,
                              [=] __device__(int64_t row, int64_t column) {
                                  return a.alpha * lh_load(&x[row * a.inner + column]);
                              });
    }
    if (a.inner != 1) {
        return lh_each(launch, a.outer * a.inner, [=] __device__(int64_t i) {
            const element *x =
                lh_elements<element>(a.x) + i / a.inner * a.axis * a.inner + i % a.inner;
            double sum = 0;
            real most = -INFINITY;
            for (int64_t n = 0; n < a.axis; ++n, x += a.inner) {
                sum += (double)lh_load(x);
                most = lh_larger(most, lh_load(x));
            }
            lh_store(&a.y[i], a.write, sums ? a.alpha * (real)sum : most);
        });
    }
    return lh_each_row(launch, a.outer, [=] __device__(int64_t row, int lane) {
        const element *x = lh_elements<element>(a.x) + row * a.axis;
        double sum = 0;
        real most = -INFINITY;
        for (int64_t n = lane; n < a.axis; n += LH_WARP) {
            sum += (double)lh_load(&x[n]);
            most = lh_larger(most, lh_load(&x[n]));
        }
        sum = lh_warp_sum(sum);
        most = lh_warp_max(most);
        if (lane == 0) lh_store(&a.y[row], a.write, sums ? a.alpha * (real)sum : most);
    });
}

lh_status lh_cuda_reduce(const lh_launch *launch, const lh_reduce_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, reduce, launch, args);
}
