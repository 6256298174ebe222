#include "tests/kernels/conformance.h"

static const real epsilon = LH_R(1e-6);

static void forward(suite *s, suite_box box, bool in_place, bool with_nan) {
    lh_unit_norm_forward_args args = {
        .dtype = s->dtype, .rows = box.rows, .width = box.width, .epsilon = epsilon};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", in place %d, NaN %d", box.rows,
              box.width, in_place, with_nan);
    real *x = case_in(s, "x", &args.x, count);
    if (with_nan) x[count / 2] = (real)NAN;
    case_out(s, "y", &args.y, count, LH_SET);
    case_out(s, "rnorm", &args.rnorm, box.rows, LH_SET);
    if (in_place) case_in_place(s, &args.y, &args.x);
    case_flops(s, 3.0 * (double)count);
    case_dtype(s, &args.x, args.dtype);
    case_dtype(s, &args.y, args.dtype);
    case_run(s);
}

void cases_unit_norm_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        if (suite_boxes[i].width == 0) continue;
        forward(s, suite_boxes[i], i % 2 == 0, false);
        forward(s, suite_boxes[i], i % 2 == 1, false);
    }
    forward(s, (suite_box){3001, 32}, false, false);
    forward(s, (suite_box){7, 16}, false, true);
}

void bench_unit_norm_forward(suite *s) {
    forward(s, (suite_box){4096 * 8, 32}, false, false);
}

/* The kernel has no x among its arguments, so the loss keeps it apart. */
typedef struct unit_loss {
    lh_unit_norm_forward_args args;
    const real *cotangent;
} unit_loss;

static double loss_of(suite *s, const void *arguments) {
    const unit_loss *loss = arguments;
    launch_unit_norm_forward(s, &loss->args);
    return dot(loss->args.y, loss->cotangent, loss->args.rows * loss->args.width);
}

static void backward(suite *s, suite_box box, bool in_place, lh_write write) {
    lh_unit_norm_backward_args args = {
        .dtype = s->dtype, .rows = box.rows, .width = box.width, .write = write};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", in place %d, write %d", box.rows,
              box.width, in_place, write);
    real *y = case_in(s, "y", &args.y, count);
    naive_unit_norm_forward(
        &(lh_unit_norm_forward_args){.rows = box.rows,
                                     .width = box.width,
                                     .epsilon = epsilon,
                                     .x = y,
                                     .y = y,
                                     .rnorm = case_in(s, "rnorm", &args.rnorm, box.rows)});
    case_in(s, "dy", &args.dy, count);
    case_out(s, "dx", &args.dx, count, write);
    case_scale(s, &args.dx, largest(args.rnorm, box.rows) * largest(args.dy, count));
    if (in_place) case_in_place(s, &args.dx, &args.dy);
    case_flops(s, 5.0 * (double)count);
    case_dtype(s, &args.y, args.dtype);
    case_dtype(s, &args.dy, args.dtype);
    case_dtype(s, &args.dx, args.dtype);
    case_run(s);
}

void cases_unit_norm_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        if (suite_boxes[i].width == 0) continue;
        backward(s, suite_boxes[i], false, LH_SET);
        backward(s, suite_boxes[i], false, LH_ADD);
        backward(s, suite_boxes[i], true, LH_SET);
    }
    backward(s, (suite_box){3001, 32}, false, LH_ADD);
}

void bench_unit_norm_backward(suite *s) {
    backward(s, (suite_box){4096 * 8, 32}, false, LH_SET);
}

void gradients_unit_norm_backward(suite *s) {
    enum { ROWS = 5, WIDTH = 8, COUNT = ROWS * WIDTH };
    real x[COUNT], y[COUNT], rnorm[ROWS], dy[COUNT], dx[COUNT];
    const unit_loss loss = {{ROWS, WIDTH, epsilon, x, y, rnorm, LH_REAL}, dy};
    unit_loss opened = loss;
    case_open(s, &opened, sizeof opened, "%d x %d", ROWS, WIDTH);
    for (int i = 0; i < COUNT; i++) {
        x[i] = (real)suite_normal(s);
        dy[i] = (real)suite_normal(s);
    }
    launch_unit_norm_forward(s, &loss.args);
    launch_unit_norm_backward(
        s, &(lh_unit_norm_backward_args){ROWS, WIDTH, y, rnorm, dy, dx, LH_SET, LH_REAL});
    const gradient_pair pair = {"x", x, dx, COUNT};
    gradient_check(s, &pair, 1, loss_of, &loss);
    s->ordinal++;
}
