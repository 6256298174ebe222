/* Layer norm and its gradients, row by row. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(layer_norm_forward)(const void *arguments) {
    const lh_layer_norm_forward_args *args = arguments;
    const number *gain = (const void *)args->gain, *bias = (const void *)args->bias;
    number *mean = (void *)args->mean, *rstd = (void *)args->rstd;
    const int64_t width = args->width;
    for (int64_t r = 0; r < args->rows; r++) {
        const number *x = (const number *)args->x.data + r * width;
        number *y = (number *)args->y.data + r * width;
        number sum = 0, squares = 0;
        for (int64_t i = 0; i < width; i++)
            sum += x[i];
        mean[r] = sum / (number)width;
        for (int64_t i = 0; i < width; i++)
            squares += (x[i] - mean[r]) * (x[i] - mean[r]);
        rstd[r] = 1 / sqrt(squares / (number)width + args->epsilon);
        for (int64_t i = 0; i < width; i++)
            y[i] = gain[i] * (x[i] - mean[r]) * rstd[r] + (bias == NULL ? 0 : bias[i]);
    }
}

/* With n = (x - mean) rstd and e = gain dy: dx = rstd (e - mean(e) - n mean(e n)). */
static void layer_norm_row(const lh_layer_norm_backward_args *args, int64_t r) {
    const int64_t width = args->width;
    const number *gain = (const void *)args->gain;
    const number *x = (const number *)args->x.data + r * width;
    const number *dy = (const number *)args->dy.data + r * width;
    const number mean = ((const number *)(const void *)args->mean)[r];
    const number rstd = ((const number *)(const void *)args->rstd)[r];
    number *dx = (number *)args->dx.data + r * width;
    number sum = 0, product = 0;
    for (int64_t i = 0; i < width; i++) {
        sum += gain[i] * dy[i];
        product += gain[i] * dy[i] * (x[i] - mean) * rstd;
    }
    for (int64_t i = 0; i < width; i++) {
        const number n = (x[i] - mean) * rstd;
        const number e = gain[i] * dy[i];
        store(&dx[i], args->dx_write,
              rstd * (e - sum / (number)width - n * product / (number)width));
    }
}

void REFERENCE(layer_norm_backward)(const void *arguments) {
    const lh_layer_norm_backward_args *args = arguments;
    const number *x = args->x.data, *dy = args->dy.data;
    const number *mean = (const void *)args->mean, *rstd = (const void *)args->rstd;
    number *dgain = (void *)args->dgain, *dbias = (void *)args->dbias;
    for (int64_t i = 0; i < args->width; i++) {
        number gain_sum = 0, bias_sum = 0;
        for (int64_t r = 0; r < args->rows; r++) {
            const int64_t at = r * args->width + i;
            gain_sum += dy[at] * (x[at] - mean[r]) * rstd[r];
            bias_sum += dy[at];
        }
        if (dgain != NULL) store(&dgain[i], args->dgain_write, gain_sum);
        if (dbias != NULL) store(&dbias[i], args->dbias_write, bias_sum);
    }
    for (int64_t r = 0; r < args->rows && args->dx.data != NULL; r++)
        layer_norm_row(args, r);
}
