/* The LSTM gate of carried states and its gradients. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(lstm_gate_forward)(const void *arguments) {
    const lh_lstm_gate_forward_args *args = arguments;
    const number *c = (const void *)args->c, *z = (const void *)args->z;
    const number *f = (const void *)args->f, *in = (const void *)args->i;
    number *y = (void *)args->y;
    for (int64_t at = 0; at < args->rows * args->width; at++)
        y[at] = c[at] * sigmoid(f[at] + args->forget_offset) +
                z[at] * sigmoid(in[at] + args->input_offset);
}

void REFERENCE(lstm_gate_backward)(const void *arguments) {
    const lh_lstm_gate_backward_args *args = arguments;
    const number *c = (const void *)args->c, *z = (const void *)args->z;
    const number *f = (const void *)args->f, *in = (const void *)args->i;
    const number *dy = (const void *)args->dy;
    number *dc = (void *)args->dc, *dz = (void *)args->dz;
    number *df = (void *)args->df, *di = (void *)args->di;
    for (int64_t at = 0; at < args->rows * args->width; at++) {
        const number keep = sigmoid(f[at] + args->forget_offset);
        const number take = sigmoid(in[at] + args->input_offset);
        if (dc != NULL) store(&dc[at], args->dc_write, dy[at] * keep);
        if (dz != NULL) store(&dz[at], args->dz_write, dy[at] * take);
        if (df != NULL) store(&df[at], args->df_write, dy[at] * c[at] * keep * (1 - keep));
        if (di != NULL) store(&di[at], args->di_write, dy[at] * z[at] * take * (1 - take));
    }
}
