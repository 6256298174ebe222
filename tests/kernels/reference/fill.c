/* A constant everywhere. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(fill)(const void *arguments) {
    const lh_fill_args *args = arguments;
    number *x = (void *)args->x;
    for (int64_t i = 0; i < args->count; i++)
        x[i] = args->value;
}
