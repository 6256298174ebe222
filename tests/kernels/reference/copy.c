/* Copies of boxes, axis within axis. */
#include "tests/kernels/reference/loops.h"

/* Axes from `axis` on; x and y stand at the start of what is left of the box. */
static void copy_box(const lh_copy_args *args, int axis, const number *x, number *y) {
    if (axis == args->rank) {
        store(y, args->write, *x);
        return;
    }
    for (int64_t i = 0; i < args->shape[axis]; i++)
        copy_box(args, axis + 1, x + i * args->x_stride[axis], y + i * args->y_stride[axis]);
}

void REFERENCE(copy)(const void *arguments) {
    const lh_copy_args *args = arguments;
    copy_box(args, 0, args->x.data, args->y.data);
}
