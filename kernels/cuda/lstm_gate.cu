/* The LSTM gate: two gates of each element, between what is kept and what is new. */
#include "kernels/cuda/sigmoid.cuh"

lh_status lh_cuda_lstm_gate_forward(const lh_launch *launch,
                                    const lh_lstm_gate_forward_args *args) {
    const lh_lstm_gate_forward_args a = *args;
    return lh_each(launch, a.rows * a.width, [=] __device__(int64_t i) {
        a.y[i] = a.c[i] * lh_sigmoid(a.f[i] + a.forget_offset) +
                 a.z[i] * lh_sigmoid(a.i[i] + a.input_offset);
    });
}

lh_status lh_cuda_lstm_gate_backward(const lh_launch *launch,
                                     const lh_lstm_gate_backward_args *args) {
    const lh_lstm_gate_backward_args a = *args;
    return lh_each(launch, a.rows * a.width, [=] __device__(int64_t i) {
        const real keep = lh_sigmoid(a.f[i] + a.forget_offset);
        const real take = lh_sigmoid(a.i[i] + a.input_offset);
        const real c = a.c[i], z = a.z[i], dy = a.dy[i];
        if (a.dc != NULL) lh_store(&a.dc[i], a.dc_write, dy * keep);
        if (a.dz != NULL) lh_store(&a.dz[i], a.dz_write, dy * take);
        if (a.df != NULL) lh_store(&a.df[i], a.df_write, dy * c * keep * (1 - keep));
        if (a.di != NULL) lh_store(&a.di[i], a.di_write, dy * z * take * (1 - take));
    });
}
