/* A sum of squares in the widest type. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(sum_squares)(const void *arguments) {
    const lh_sum_squares_args *args = arguments;
    const number *x = (const void *)args->x;
    wide sum = 0;
    for (int64_t i = 0; i < args->count; i++)
        sum += (wide)x[i] * (wide)x[i];
    *args->y = (double)(args->write == LH_ADD ? (wide)*args->y + sum : sum);
}
