/* The causal convolution of each channel, tap by tap. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(short_convolution_forward)(const void *arguments) {
    const lh_short_convolution_forward_args *args = arguments;
    const number *x = (const void *)args->x, *before = (const void *)args->before;
    const number *weight = (const void *)args->weight, *bias = (const void *)args->bias;
    const int64_t length = args->length, width = args->width, kernel = args->kernel;
    number *y = (void *)args->y;
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t t = 0; t < length; t++)
            for (int64_t c = 0; c < width; c++) {
                number sum = bias != NULL ? bias[c] : 0;
                for (int64_t lag = 0; lag < kernel; lag++)
                    sum +=
                        weight[c * kernel + kernel - 1 - lag] *
                        (lag <= t ? x[(b * length + t - lag) * width + c]
                                  : before[(b * (kernel - 1) + kernel - 1 + t - lag) * width + c]);
                y[(b * length + t) * width + c] = sum;
            }
}

/* What token t reads `lag` tokens back. */
static number read_at(const lh_short_convolution_backward_args *args, int64_t b, int64_t t,
                      int64_t lag, int64_t c) {
    const number *x = (const void *)args->x, *before = (const void *)args->before;
    const int64_t ahead = args->kernel - 1;
    return lag <= t ? x[(b * args->length + t - lag) * args->width + c]
                    : before[(b * ahead + ahead + t - lag) * args->width + c];
}

static void input_gradients(const lh_short_convolution_backward_args *args) {
    const number *weight = (const void *)args->weight, *dy = (const void *)args->dy;
    const int64_t width = args->width, kernel = args->kernel;
    number *dx = (void *)args->dx;
    for (int64_t i = 0; i < args->batch * args->length * width && dx != NULL; i++) {
        const int64_t left = args->length - i / width % args->length;
        number sum = 0;
        for (int64_t lag = 0; lag < kernel && lag < left; lag++)
            sum += weight[i % width * kernel + kernel - 1 - lag] * dy[i + lag * width];
        store(&dx[i], args->dx_write, sum);
    }
}

void REFERENCE(short_convolution_backward)(const void *arguments) {
    const lh_short_convolution_backward_args *args = arguments;
    const number *dy = (const void *)args->dy;
    const int64_t width = args->width, kernel = args->kernel, rows = args->batch * args->length;
    number *dweight = (void *)args->dweight, *dbias = (void *)args->dbias;
    input_gradients(args);
    for (int64_t c = 0; c < width; c++) {
        wide bias = 0;
        for (int64_t r = 0; r < rows; r++)
            bias += (wide)dy[r * width + c];
        if (dbias != NULL) store(&dbias[c], args->dbias_write, (number)bias);
        for (int64_t lag = 0; lag < kernel && dweight != NULL; lag++) {
            wide sum = 0;
            for (int64_t r = 0; r < rows; r++)
                sum += (wide)dy[r * width + c] *
                       (wide)read_at(args, r / args->length, r % args->length, lag, c);
            store(&dweight[c * kernel + kernel - 1 - lag], args->dweight_write, (number)sum);
        }
    }
}
