/* RMS norm forward and backward: in place, with a NaN. */
#include "tests/kernels/conformance.h"

static const real epsilon = LH_R(1e-5);

static void forward(suite *s, suite_box box, bool in_place, bool with_nan) {
    lh_rms_norm_forward_args args = {.rows = box.rows, .width = box.width, .epsilon = epsilon};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", in place %d, NaN %d", box.rows,
              box.width, in_place, with_nan);
    real *x = case_in(s, "x", &args.x, count);
    for (int64_t i = 0; i < count; i++)
        x[i] += LH_R(0.5);
    if (with_nan) x[count / 2] = (real)NAN;
    case_in(s, "gain", &args.gain, box.width);
    case_out(s, "y", &args.y, count, LH_SET);
    case_out(s, "rstd", &args.rstd, box.rows, LH_SET);
    if (in_place) case_in_place(s, &args.y, &args.x);
    case_flops(s, 5.0 * (double)count);
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

void cases_rms_norm_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        forward(s, suite_boxes[i], i % 2 == 0, false);
    }
    forward(s, (suite_box){1000, 65}, false, false);
    forward(s, (suite_box){5, 33}, false, true);
    CASE_REFUSED(s, LH_ESHAPE, lh_rms_norm_forward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_rms_norm_forward_args, .width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_rms_norm_forward_args, .x = {.dtype = LH_I32},
                 .y = {.dtype = LH_I32});
    CASE_REFUSED(s, LH_EOPTION, lh_rms_norm_forward_args, .y = {.dtype = LH_BF16});
}

void bench_rms_norm_forward(suite *s) {
    forward(s, (suite_box){4096, 256}, false, false);
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_rms_norm_backward_args *args = arguments;
    const int64_t count = args->rows * args->width;
    real *y = scratch(count), *rstd = scratch(args->rows);
    launch_rms_norm_forward(s, &(lh_rms_norm_forward_args){.rows = args->rows,
                                                           .width = args->width,
                                                           .epsilon = epsilon,
                                                           .x = args->x,
                                                           .gain = args->gain,
                                                           .y = act_of(y),
                                                           .rstd = rstd});
    const double loss = dot(y, args->dy.data, count);
    free(y);
    free(rstd);
    return loss;
}

/* What the forward kernel saved. */
static void save(suite *s, lh_rms_norm_backward_args *args) {
    real *rstd = case_in(s, "rstd", &args->rstd, args->rows);
    real *y = scratch(args->rows * args->width);
    naive_rms_norm_forward(&(lh_rms_norm_forward_args){.rows = args->rows,
                                                       .width = args->width,
                                                       .epsilon = epsilon,
                                                       .x = args->x,
                                                       .gain = args->gain,
                                                       .y = act_of(y),
                                                       .rstd = rstd});
    free(y);
}

/* The size of what is subtracted in dx; nothing of it is left when a row is a single element. */
static double terms(const lh_rms_norm_backward_args *args) {
    return largest(args->rstd, args->rows) * largest(args->gain, args->width) *
           largest(args->dy.data, args->rows * args->width);
}

static void backward(suite *s, suite_box box, int row) {
    lh_rms_norm_backward_args args = {.rows = box.rows,
                                      .width = box.width,
                                      .dx_write = write_of(suite_flag(row, 2)),
                                      .dgain_write = write_of(suite_flag(row, 3))};
    const bool dx = !suite_flag(row, 0), dgain = !suite_flag(row, 1);
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", dx %d, dgain %d, writes %d %d",
              box.rows, box.width, dx, dgain, args.dx_write, args.dgain_write);
    case_in(s, "x", &args.x, box.rows * box.width);
    case_in(s, "gain", &args.gain, box.width);
    save(s, &args);
    case_in(s, "dy", &args.dy, box.rows * box.width);
    if (dx) {
        case_out(s, "dx", &args.dx, box.rows * box.width, args.dx_write);
        case_scale(s, &args.dx, terms(&args));
    }
    if (dgain) case_out(s, "dgain", &args.dgain, box.width, args.dgain_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.x, &args.dx);
    case_pair(s, &args.gain, &args.dgain);
    case_flops(s, 9.0 * (double)(box.rows * box.width));
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.dy, s->dtype);
    case_dtype(s, &args.dx, s->dtype);
    case_run(s);
}

void cases_rms_norm_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, suite_boxes[i], row);
    }
    backward(s, (suite_box){1000, 65}, 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_rms_norm_backward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_rms_norm_backward_args, .width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_rms_norm_backward_args, .x = {.dtype = LH_I32},
                 .dy = {.dtype = LH_I32});
    CASE_REFUSED(s, LH_EOPTION, lh_rms_norm_backward_args, .dy = {.dtype = LH_BF16});
}

void bench_rms_norm_backward(suite *s) {
    backward(s, (suite_box){4096, 256}, 0);
}

void gradients_rms_norm_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (suite_box){4, 9}, row);
    backward(s, (suite_box){17, 65}, 0);
}
