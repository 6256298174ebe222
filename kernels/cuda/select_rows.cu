/* Rows that begin afresh get a learned value, the others keep theirs. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_select_rows_forward(const lh_launch *launch,
                                      const lh_select_rows_forward_args *args) {
    const lh_select_rows_forward_args a = *args;
    return lh_each(launch, a.batch * a.width, [=] __device__(int64_t i) {
        a.y[i] = a.flag[i / a.width] != 0 ? a.a[i % a.width] : a.x[i];
    });
}

lh_status lh_cuda_select_rows_backward(const lh_launch *launch,
                                       const lh_select_rows_backward_args *args) {
    const lh_select_rows_backward_args a = *args;
    return lh_each(launch, a.width, [=] __device__(int64_t column) {
        double sum = 0;
        for (int64_t b = 0; b < a.batch; ++b) {
            const int64_t i = b * a.width + column;
            const bool flagged = a.flag[b] != 0;
            const real dy = a.dy[i];
            if (flagged) sum += (double)dy;
            if (a.dx != NULL) lh_store(&a.dx[i], a.dx_write, flagged ? 0 : dy);
        }
        if (a.da != NULL) lh_store(&a.da[column], a.da_write, (real)sum);
    });
}
