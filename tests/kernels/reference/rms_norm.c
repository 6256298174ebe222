/* RMS norm and its gradients, row by row. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(rms_norm_forward)(const void *arguments) {
    const lh_rms_norm_forward_args *args = arguments;
    const number *gain = (const void *)args->gain;
    number *rstd = (void *)args->rstd;
    const int64_t width = args->width;
    for (int64_t r = 0; r < args->rows; r++) {
        const number *x = (const number *)args->x.data + r * width;
        number *y = (number *)args->y.data + r * width;
        number squares = 0;
        for (int64_t i = 0; i < width; i++)
            squares += x[i] * x[i];
        rstd[r] = 1 / sqrt(squares / (number)width + args->epsilon);
        for (int64_t i = 0; i < width; i++)
            y[i] = gain[i] * x[i] * rstd[r];
    }
}

/* With n = x rstd and e = gain dy: dx = rstd (e - n mean(e n)). */
static void rms_norm_row(const lh_rms_norm_backward_args *args, int64_t r) {
    const int64_t width = args->width;
    const number *gain = (const void *)args->gain;
    const number *x = (const number *)args->x.data + r * width;
    const number *dy = (const number *)args->dy.data + r * width;
    const number rstd = ((const number *)(const void *)args->rstd)[r];
    number *dx = (number *)args->dx.data + r * width;
    number product = 0;
    for (int64_t i = 0; i < width; i++)
        product += gain[i] * dy[i] * x[i] * rstd;
    for (int64_t i = 0; i < width; i++)
        store(&dx[i], args->dx_write,
              rstd * (gain[i] * dy[i] - x[i] * rstd * product / (number)width));
}

void REFERENCE(rms_norm_backward)(const void *arguments) {
    const lh_rms_norm_backward_args *args = arguments;
    const number *x = args->x.data, *dy = args->dy.data;
    const number *rstd = (const void *)args->rstd;
    number *dgain = (void *)args->dgain;
    for (int64_t i = 0; i < args->width && dgain != NULL; i++) {
        number sum = 0;
        for (int64_t r = 0; r < args->rows; r++)
            sum += dy[r * args->width + i] * x[r * args->width + i] * rstd[r];
        store(&dgain[i], args->dgain_write, sum);
    }
    for (int64_t r = 0; r < args->rows && args->dx.data != NULL; r++)
        rms_norm_row(args, r);
}
