/* alpha a + beta b. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(linear_combination)(const void *arguments) {
    const lh_linear_combination_args *args = arguments;
    const number *a = args->a.data, *b = args->b.data;
    number *y = args->y.data;
    for (int64_t i = 0; i < args->count; i++) {
        const number second = b == NULL ? 0 : args->beta * b[i];
        store(&y[i], args->write, args->alpha * a[i] + second);
    }
}
