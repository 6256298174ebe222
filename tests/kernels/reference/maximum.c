/* The gradient of a maximum, to the first of equals. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(maximum_backward)(const void *arguments) {
    const lh_maximum_backward_args *args = arguments;
    const number *x = (const void *)args->x, *dy = (const void *)args->dy;
    number *dx = (void *)args->dx;
    for (int64_t o = 0; o < args->outer; o++) {
        for (int64_t i = 0; i < args->inner; i++) {
            const number *column = x + o * args->axis * args->inner + i;
            int64_t first = 0;
            for (int64_t a = args->axis - 1; a >= 0; a--)
                if (column[a * args->inner] >= column[first * args->inner]) first = a;
            for (int64_t a = 0; a < args->axis; a++)
                store(&dx[(o * args->axis + a) * args->inner + i], args->write,
                      a == first ? dy[o * args->inner + i] : 0);
        }
    }
}
