/* The gradient of a maximum over an axis, which goes to the first of equals. */
#include "tests/kernels/conformance.h"

static void backward(suite *s, int64_t outer, int64_t axis, int64_t inner, lh_write write,
                     bool ties) {
    lh_maximum_backward_args args = {.outer = outer, .axis = axis, .inner = inner, .write = write};
    const int64_t count = outer * axis * inner;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 " x %" PRId64 ", write %d, ties %d",
              outer, axis, inner, write, ties);
    real *x = case_in(s, "x", &args.x, count);
    for (int64_t i = 0; ties && i < count; i++)
        x[i] = (real)(i % 3);
    case_in(s, "dy", &args.dy, outer * inner);
    case_out(s, "dx", &args.dx, count, write);
    if (write == LH_SET) case_exact(s);
    case_run(s);
}

void cases_maximum_backward(suite *s) {
    static const int64_t shapes[][3] = {{0, 3, 4},   {3, 4, 0},   {1, 1, 1},   {2, 1, 3},
                                        {5, 7, 1},   {7, 5, 2},   {1, 33, 17}, {2, 65, 64},
                                        {3, 9, 129}, {1, 1021, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = 0; row < 4; row++)
            backward(s, shapes[i][0], shapes[i][1], shapes[i][2], write_of(row & 1), row >= 2);
    CASE_REFUSED(s, LH_ESHAPE, lh_maximum_backward_args, .outer = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_maximum_backward_args, .axis = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_maximum_backward_args, .inner = -1);
}

void bench_maximum_backward(suite *s) {
    backward(s, 16, 256, 256, LH_SET, false);
}

enum { OUTER = 2, AXIS = 5, INNER = 3 };

static double backward_loss(suite *s, const void *arguments) {
    const lh_reduce_args *args = arguments;
    launch_reduce(s, args);
    return dot(args->y, args->y, OUTER * INNER) / 2;
}

void gradients_maximum_backward(suite *s) {
    real x[OUTER * AXIS * INNER], y[OUTER * INNER], dx[OUTER * AXIS * INNER];
    const lh_reduce_args args = {.op = LH_REDUCE_MAX,
                                 .outer = OUTER,
                                 .axis = AXIS,
                                 .inner = INNER,
                                 .alpha = 1,
                                 .x = act_of(x),
                                 .y = y};
    lh_reduce_args opened = args;
    case_open(s, &opened, sizeof opened, "%d x %d x %d", OUTER, AXIS, INNER);
    for (int i = 0; i < OUTER * AXIS * INNER; i++)
        x[i] = (real)suite_normal(s);
    launch_reduce(s, &args);
    launch_maximum_backward(
        s, &(lh_maximum_backward_args){
               .outer = OUTER, .axis = AXIS, .inner = INNER, .x = x, .dy = y, .dx = dx});
    const gradient_pair pairs[] = {{"x", x, dx, OUTER * AXIS * INNER}};
    gradient_check(s, pairs, 1, backward_loss, &args);
    s->ordinal++;
}
