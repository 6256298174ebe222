/* Rows of unit length and the gradient of their scaling. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(unit_norm_forward)(const void *arguments) {
    const lh_unit_norm_forward_args *args = arguments;
    number *rnorm = (void *)args->rnorm;
    const int64_t width = args->width;
    for (int64_t r = 0; r < args->rows; r++) {
        const number *x = (const number *)args->x.data + r * width;
        number *y = (number *)args->y.data + r * width;
        number squares = 0;
        for (int64_t i = 0; i < width; i++)
            squares += x[i] * x[i];
        rnorm[r] = 1 / sqrt(squares + args->epsilon);
        for (int64_t i = 0; i < width; i++)
            y[i] = x[i] * rnorm[r];
    }
}

void REFERENCE(unit_norm_backward)(const void *arguments) {
    const lh_unit_norm_backward_args *args = arguments;
    const number *rnorm = (const void *)args->rnorm;
    const int64_t width = args->width;
    for (int64_t r = 0; r < args->rows; r++) {
        const number *y = (const number *)args->y.data + r * width;
        const number *dy = (const number *)args->dy.data + r * width;
        number *dx = (number *)args->dx.data + r * width;
        number product = 0;
        for (int64_t i = 0; i < width; i++)
            product += y[i] * dy[i];
        for (int64_t i = 0; i < width; i++)
            store(&dx[i], args->write, rnorm[r] * (dy[i] - y[i] * product));
    }
}
