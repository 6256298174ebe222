/* Softmax of rows and its gradient; a row without any visible entry gives zeros. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(softmax_forward)(const void *arguments) {
    const lh_softmax_forward_args *args = arguments;
    for (int64_t r = 0; r < args->rows; r++) {
        const number *x = (const number *)(const void *)args->x + r * args->width;
        number *y = (number *)(void *)args->y + r * args->width;
        number most = -(number)INFINITY, sum = 0;
        for (int64_t i = 0; i < args->width; i++)
            most = larger(most, x[i]);
        const bool masked = most == -(number)INFINITY;
        for (int64_t i = 0; i < args->width; i++)
            sum += masked ? 1 : exp(x[i] - most);
        for (int64_t i = 0; i < args->width; i++)
            y[i] = masked ? 0 : exp(x[i] - most) / sum;
    }
}

void REFERENCE(softmax_backward)(const void *arguments) {
    const lh_softmax_backward_args *args = arguments;
    for (int64_t r = 0; r < args->rows; r++) {
        const number *y = (const number *)(const void *)args->y + r * args->width;
        const number *dy = (const number *)(const void *)args->dy + r * args->width;
        number *dx = (number *)(void *)args->dx + r * args->width;
        number sum = 0;
        for (int64_t i = 0; i < args->width; i++)
            sum += y[i] * dy[i];
        for (int64_t i = 0; i < args->width; i++)
            store(&dx[i], args->write, y[i] * (dy[i] - sum));
    }
}
