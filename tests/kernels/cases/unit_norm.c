/* Rows scaled to unit length, forward and backward: in place, with a NaN. */
#include "tests/kernels/op_gradient.h"

static const real epsilon = LH_R(1e-6);

static void forward(suite *s, suite_box box, bool in_place, bool with_nan) {
    lh_unit_norm_forward_args args = {.rows = box.rows, .width = box.width, .epsilon = epsilon};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", in place %d, NaN %d", box.rows,
              box.width, in_place, with_nan);
    real *x = case_in(s, "x", &args.x, count);
    if (with_nan) x[count / 2] = (real)NAN;
    case_out(s, "y", &args.y, count, LH_SET);
    case_out(s, "rnorm", &args.rnorm, box.rows, LH_SET);
    if (in_place) case_in_place(s, &args.y, &args.x);
    case_flops(s, 3.0 * (double)count);
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

void cases_unit_norm_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        forward(s, suite_boxes[i], i % 2 == 0, false);
        forward(s, suite_boxes[i], i % 2 == 1, false);
    }
    forward(s, (suite_box){3001, 32}, false, false);
    forward(s, (suite_box){7, 16}, false, true);
    CASE_REFUSED(s, LH_ESHAPE, lh_unit_norm_forward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_unit_norm_forward_args, .width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_unit_norm_forward_args, .x = {.dtype = LH_I32},
                 .y = {.dtype = LH_I32});
    CASE_REFUSED(s, LH_EOPTION, lh_unit_norm_forward_args, .y = {.dtype = LH_BF16});
}

void bench_unit_norm_forward(suite *s) {
    forward(s, (suite_box){4096 * 8, 32}, false, false);
}

static void backward(suite *s, suite_box box, bool in_place, lh_write write) {
    lh_unit_norm_backward_args args = {.rows = box.rows, .width = box.width, .write = write};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", in place %d, write %d", box.rows,
              box.width, in_place, write);
    real *y = case_in(s, "y", &args.y, count);
    naive_unit_norm_forward(
        &(lh_unit_norm_forward_args){.rows = box.rows,
                                     .width = box.width,
                                     .epsilon = epsilon,
                                     .x = act_of(y),
                                     .y = act_of(y),
                                     .rnorm = case_in(s, "rnorm", &args.rnorm, box.rows)});
    case_in(s, "dy", &args.dy, count);
    case_out(s, "dx", &args.dx, count, write);
    case_scale(s, &args.dx, largest(args.rnorm, box.rows) * largest(args.dy.data, count));
    if (in_place) case_in_place(s, &args.dx, &args.dy);
    case_flops(s, 5.0 * (double)count);
    case_dtype(s, &args.y, s->dtype);
    case_dtype(s, &args.dy, s->dtype);
    case_dtype(s, &args.dx, s->dtype);
    case_run(s);
}

void cases_unit_norm_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        backward(s, suite_boxes[i], false, LH_SET);
        backward(s, suite_boxes[i], false, LH_ADD);
        backward(s, suite_boxes[i], true, LH_SET);
    }
    backward(s, (suite_box){3001, 32}, false, LH_ADD);
    CASE_REFUSED(s, LH_ESHAPE, lh_unit_norm_backward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_unit_norm_backward_args, .width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_unit_norm_backward_args, .dy = {.dtype = LH_BF16});
    CASE_REFUSED(s, LH_EOPTION, lh_unit_norm_backward_args, .dx = {.dtype = LH_BF16});
}

void bench_unit_norm_backward(suite *s) {
    backward(s, (suite_box){4096 * 8, 32}, false, LH_SET);
}

static lh_tensor *apply(lh_tape *tape, lh_tensor *const *inputs) {
    return lh_unit_norm(tape, inputs[0], (double)epsilon);
}

void gradients_unit_norm_backward(suite *s) {
    op_gradient(s, apply, 1, 5, 8);
    op_gradient(s, apply, 1, 17, 33);
}
