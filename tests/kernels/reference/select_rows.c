/* One of two rows by a flag, and the gradients. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(select_rows_forward)(const void *arguments) {
    const lh_select_rows_forward_args *args = arguments;
    const number *a = (const void *)args->a, *x = (const void *)args->x;
    number *y = (void *)args->y;
    for (int64_t b = 0; b < args->batch; b++)
        for (int64_t i = 0; i < args->width; i++)
            y[b * args->width + i] = args->flag[b] ? a[i] : x[b * args->width + i];
}

void REFERENCE(select_rows_backward)(const void *arguments) {
    const lh_select_rows_backward_args *args = arguments;
    const number *dy = (const void *)args->dy;
    number *da = (void *)args->da, *dx = (void *)args->dx;
    for (int64_t i = 0; i < args->width; i++) {
        number sum = 0;
        for (int64_t b = 0; b < args->batch; b++) {
            const int64_t at = b * args->width + i;
            if (args->flag[b]) sum += dy[at];
            if (dx != NULL) store(&dx[at], args->dx_write, args->flag[b] ? 0 : dy[at]);
        }
        if (da != NULL) store(&da[i], args->da_write, sum);
    }
}
