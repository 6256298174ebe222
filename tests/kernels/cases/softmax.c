/* Softmax forward and backward: masked rows, far values, a NaN, in place. */
#include "tests/kernels/conformance.h"

/* Some rows are partly or wholly masked; the last has a NaN if asked for. Beyond +-88 exp leaves a
 * float, beyond +-709 a double. */
static void forward_within(suite *s, suite_box box, real most, bool in_place, bool masked,
                           bool with_nan) {
    lh_softmax_forward_args args = {.rows = box.rows, .width = box.width};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 " within %g, in place %d, masked %d, NaN %d", box.rows,
              box.width, (double)most, in_place, masked, with_nan);
    real *x = case_in(s, "x", &args.x, count);
    scale_reals(x, count, most);
    for (int64_t i = 0; i < count && masked; i++)
        if (i / box.width % 3 == 0 || suite_integer(s, 4) == 0) x[i] = -(real)INFINITY;
    if (with_nan) x[count - 1] = (real)NAN;
    case_out(s, "y", &args.y, count, LH_SET);
    if (in_place) case_in_place(s, &args.y, &args.x);
    case_flops(s, 5.0 * (double)count);
    case_run(s);
}

static void forward(suite *s, suite_box box, bool in_place, bool masked, bool with_nan) {
    forward_within(s, box, 3, in_place, masked, with_nan);
}

void cases_softmax_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        forward(s, suite_boxes[i], i % 2 == 0, false, false);
        forward(s, suite_boxes[i], i % 2 == 1, true, false);
    }
    forward(s, (suite_box){3, 20011}, false, false, false);
    forward(s, (suite_box){1001, 33}, false, true, false);
    forward(s, (suite_box){5, 33}, false, true, true);
    forward_within(s, (suite_box){7, 33}, 1000, false, false, false);
    CASE_REFUSED(s, LH_ESHAPE, lh_softmax_forward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_softmax_forward_args, .width = -1);
}

void bench_softmax_forward(suite *s) {
    forward(s, (suite_box){4096, 512}, false, false, false);
}

static void backward(suite *s, suite_box box, lh_write write) {
    lh_softmax_backward_args args = {.rows = box.rows, .width = box.width, .write = write};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", write %d", box.rows, box.width,
              write);
    real *y = case_in(s, "y", &args.y, count);
    naive_softmax_forward(
        &(lh_softmax_forward_args){.rows = box.rows, .width = box.width, .x = y, .y = y});
    case_in(s, "dy", &args.dy, count);
    case_out(s, "dx", &args.dx, count, write);
    case_flops(s, 4.0 * (double)count);
    case_run(s);
}

void cases_softmax_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        backward(s, suite_boxes[i], LH_SET);
        backward(s, suite_boxes[i], LH_ADD);
    }
    backward(s, (suite_box){3, 20011}, LH_SET);
    backward(s, (suite_box){1001, 33}, LH_ADD);
    CASE_REFUSED(s, LH_ESHAPE, lh_softmax_backward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_softmax_backward_args, .width = -1);
}

void bench_softmax_backward(suite *s) {
    backward(s, (suite_box){4096, 512}, LH_SET);
}

/* The kernel has no x among its arguments, so the loss keeps it apart. */
typedef struct softmax_loss {
    lh_softmax_forward_args args;
    const real *cotangent;
} softmax_loss;

static double loss_of(suite *s, const void *arguments) {
    const softmax_loss *loss = arguments;
    launch_softmax_forward(s, &loss->args);
    return dot(loss->args.y, loss->cotangent, loss->args.rows * loss->args.width);
}

void gradients_softmax_backward(suite *s) {
    enum { ROWS = 4, WIDTH = 11, COUNT = ROWS * WIDTH };
    real x[COUNT], y[COUNT], dy[COUNT], dx[COUNT];
    const softmax_loss loss = {{ROWS, WIDTH, x, y}, dy};
    softmax_loss opened = loss;
    case_open(s, &opened, sizeof opened, "%d x %d", ROWS, WIDTH);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (real)suite_normal(s);
        dy[i] = (real)suite_normal(s);
    }
    launch_softmax_forward(s, &loss.args);
    launch_softmax_backward(s, &(lh_softmax_backward_args){ROWS, WIDTH, y, dy, dx, LH_SET});
    const gradient_pair pair = {"x", x, dx, COUNT};
    gradient_check(s, &pair, 1, loss_of, &loss);
    s->ordinal++;
}
