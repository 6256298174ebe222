/* One step of an LSTM, a thread to an element of the state. */
#include "kernels/cuda/sigmoid.cuh"

lh_status lh_cuda_lstm_cell_forward(const lh_launch *launch,
                                    const lh_lstm_cell_forward_args *args) {
    const lh_lstm_cell_forward_args a = *args;
    return lh_each(launch, a.rows * a.width, [=] __device__(int64_t i) {
        const real *gate = a.gates + i / a.width * 4 * a.width + i % a.width;
        const real next =
            lh_sigmoid(gate[a.width]) * a.c[i] + lh_sigmoid(gate[0]) * tanhf(gate[2 * a.width]);
        a.next[i] = next;
        a.h[i] = lh_sigmoid(gate[3 * a.width]) * tanhf(next);
    });
}

lh_status lh_cuda_lstm_cell_backward(const lh_launch *launch,
                                     const lh_lstm_cell_backward_args *args) {
    const lh_lstm_cell_backward_args a = *args;
    return lh_each(launch, a.rows * a.width, [=] __device__(int64_t i) {
        const int64_t width = a.width, at = i / width * 4 * width + i % width;
        const real *gate = a.gates + at;
        const real in = lh_sigmoid(gate[0]), forget = lh_sigmoid(gate[width]);
        const real cell = tanhf(gate[2 * width]), open = lh_sigmoid(gate[3 * width]);
        const real c = a.c[i], squashed = tanhf(forget * c + in * cell);
        const real dh = a.dh != NULL ? a.dh[i] : 0;
        const real dnext =
            (a.dnext != NULL ? a.dnext[i] : 0) + dh * open * (1 - squashed * squashed);
        if (a.dc != NULL) lh_store(&a.dc[i], a.dc_write, dnext * forget);
        if (a.dgates == NULL) return;
        real *d = a.dgates + at;
        lh_store(d, a.dgates_write, dnext * cell * in * (1 - in));
        lh_store(d + width, a.dgates_write, dnext * c * forget * (1 - forget));
        lh_store(d + 2 * width, a.dgates_write, dnext * in * (1 - cell * cell));
        lh_store(d + 3 * width, a.dgates_write, dh * squashed * open * (1 - open));
    });
}
