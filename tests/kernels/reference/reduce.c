/* Sums and maxima over the middle axis of three. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(reduce)(const void *arguments) {
    const lh_reduce_args *args = arguments;
    const number *x = args->x.data;
    number *y = (void *)args->y;
    for (int64_t o = 0; o < args->outer; o++) {
        for (int64_t i = 0; i < args->inner; i++) {
            number sum = 0, most = -(number)INFINITY;
            for (int64_t a = 0; a < args->axis; a++) {
                const number element = x[(o * args->axis + a) * args->inner + i];
                sum += element;
                most = larger(most, element);
            }
            const number value = args->op == LH_REDUCE_SUM ? args->alpha * sum : most;
            store(&y[o * args->inner + i], args->write, value);
        }
    }
}
