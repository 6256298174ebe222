/* The gate with a learned constant (Hutchins et al. 2022) and its gradients. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(fixed_gate_forward)(const void *arguments) {
    const lh_fixed_gate_forward_args *args = arguments;
    const number *c = (const void *)args->c, *z = (const void *)args->z;
    const number *bias = (const void *)args->bias;
    number *y = (void *)args->y;
    for (int64_t r = 0; r < args->rows; r++) {
        for (int64_t i = 0; i < args->width; i++) {
            const int64_t at = r * args->width + i;
            y[at] = c[at] * sigmoid(bias[i]) + z[at] * (1 - sigmoid(bias[i]));
        }
    }
}

void REFERENCE(fixed_gate_backward)(const void *arguments) {
    const lh_fixed_gate_backward_args *args = arguments;
    const number *c = (const void *)args->c, *z = (const void *)args->z;
    const number *bias = (const void *)args->bias, *dy = (const void *)args->dy;
    number *dc = (void *)args->dc, *dz = (void *)args->dz, *dbias = (void *)args->dbias;
    for (int64_t i = 0; i < args->width; i++) {
        const number g = sigmoid(bias[i]);
        number sum = 0;
        for (int64_t r = 0; r < args->rows; r++) {
            const int64_t at = r * args->width + i;
            if (dc != NULL) store(&dc[at], args->dc_write, dy[at] * g);
            if (dz != NULL) store(&dz[at], args->dz_write, dy[at] * (1 - g));
            sum += dy[at] * (c[at] - z[at]);
        }
        if (dbias != NULL) store(&dbias[i], args->dbias_write, sum * g * (1 - g));
    }
}
