/* The fixed gate: one gate to a column. */
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/sigmoid.cuh"

lh_status lh_cuda_fixed_gate_forward(const lh_launch *launch,
                                     const lh_fixed_gate_forward_args *args) {
    const lh_fixed_gate_forward_args a = *args;
    return lh_each(launch, a.rows * a.width, [=] __device__(int64_t i) {
        const real gate = lh_sigmoid(a.bias[i % a.width]);
        a.y[i] = a.c[i] * gate + a.z[i] * (1 - gate);
    });
}

size_t lh_cuda_fixed_gate_backward_workspace(const lh_fixed_gate_backward_args *args) {
    return args->dbias != NULL ? lh_column_workspace(args->rows, args->width) : 0;
}

lh_status lh_cuda_fixed_gate_backward(const lh_launch *launch,
                                      const lh_fixed_gate_backward_args *args) {
    const lh_fixed_gate_backward_args a = *args;
    /* dbias first: dc or dz may be written over what it reads. */
    if (a.dbias != NULL) {
        LH_CUDA_TRY(lh_column_sums(launch, a.rows, a.width, launch->workspace, a.dbias,
                                   a.dbias_write, [=] __device__(int64_t row, int64_t column) {
                                       const int64_t i = row * a.width + column;
                                       const real gate = lh_sigmoid(a.bias[column]);
                                       return a.dy[i] * (a.c[i] - a.z[i]) * gate * (1 - gate);
                                   }));
    }
    return lh_each(launch, a.rows * a.width, [=] __device__(int64_t i) {
        const real gate = lh_sigmoid(a.bias[i % a.width]), dy = a.dy[i];
        if (a.dc != NULL) lh_store(&a.dc[i], a.dc_write, dy * gate);
        if (a.dz != NULL) lh_store(&a.dz[i], a.dz_write, dy * (1 - gate));
    });
}
