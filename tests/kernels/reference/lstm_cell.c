/* The LSTM's cell and its gradients, element by element. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(lstm_cell_forward)(const void *arguments) {
    const lh_lstm_cell_forward_args *args = arguments;
    const number *gates = (const void *)args->gates, *c = (const void *)args->c;
    number *next = (void *)args->next, *h = (void *)args->h;
    for (int64_t row = 0; row < args->rows; row++)
        for (int64_t e = 0; e < args->width; e++) {
            const int64_t at = row * args->width + e;
            const number *pre = gates + 4 * row * args->width + e;
            next[at] =
                sigmoid(pre[args->width]) * c[at] + sigmoid(pre[0]) * tanh(pre[2 * args->width]);
            h[at] = sigmoid(pre[3 * args->width]) * tanh(next[at]);
        }
}

void REFERENCE(lstm_cell_backward)(const void *arguments) {
    const lh_lstm_cell_backward_args *args = arguments;
    const number *gates = (const void *)args->gates, *c = (const void *)args->c;
    const number *later = (const void *)args->dnext, *dh = (const void *)args->dh;
    number *dgates = (void *)args->dgates, *dc = (void *)args->dc;
    for (int64_t row = 0; row < args->rows; row++)
        for (int64_t e = 0; e < args->width; e++) {
            const int64_t width = args->width, at = row * width + e;
            const number *pre = gates + 4 * row * width + e;
            const number in = sigmoid(pre[0]), forget = sigmoid(pre[width]);
            const number cell = tanh(pre[2 * width]), out = sigmoid(pre[3 * width]);
            const number squashed = tanh(forget * c[at] + in * cell);
            const number above = dh != NULL ? dh[at] : 0;
            const number dnext =
                (later != NULL ? later[at] : 0) + above * out * (1 - squashed * squashed);
            if (dc != NULL) store(&dc[at], args->dc_write, dnext * forget);
            if (dgates == NULL) continue;
            number *d = dgates + 4 * row * width + e;
            store(d, args->dgates_write, dnext * cell * in * (1 - in));
            store(d + width, args->dgates_write, dnext * c[at] * forget * (1 - forget));
            store(d + 2 * width, args->dgates_write, dnext * in * (1 - cell * cell));
            store(d + 3 * width, args->dgates_write, above * squashed * out * (1 - out));
        }
}
