/* The gate with a learned constant, forward and backward. */
#include "tests/kernels/conformance.h"

static void forward(suite *s, suite_box box) {
    lh_fixed_gate_forward_args args = {.rows = box.rows, .width = box.width};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64, box.rows, box.width);
    case_in(s, "c", &args.c, count);
    case_in(s, "z", &args.z, count);
    case_in(s, "bias", &args.bias, box.width);
    case_out(s, "y", &args.y, count, LH_SET);
    case_run(s);
}

void cases_fixed_gate_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        forward(s, suite_boxes[i]);
    forward(s, (suite_box){1001, 65});
    CASE_REFUSED(s, LH_ESHAPE, lh_fixed_gate_forward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_fixed_gate_forward_args, .width = -1);
}

void bench_fixed_gate_forward(suite *s) {
    forward(s, (suite_box){16 * 256, 256});
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_fixed_gate_backward_args *args = arguments;
    const int64_t count = args->rows * args->width;
    real *y = scratch(count);
    launch_fixed_gate_forward(
        s, &(lh_fixed_gate_forward_args){args->rows, args->width, args->c, args->z, args->bias, y});
    const double loss = dot(y, args->dy, count);
    free(y);
    return loss;
}

static void backward(suite *s, suite_box box, int row) {
    lh_fixed_gate_backward_args args = {.rows = box.rows,
                                        .width = box.width,
                                        .dc_write = write_of(suite_flag(row, 3)),
                                        .dz_write = write_of(suite_flag(row, 4)),
                                        .dbias_write = write_of(suite_flag(row, 5))};
    const bool dc = !suite_flag(row, 0), dz = !suite_flag(row, 1), dbias = !suite_flag(row, 2);
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 ", dc %d, dz %d, dbias %d, writes %d %d %d", box.rows,
              box.width, dc, dz, dbias, args.dc_write, args.dz_write, args.dbias_write);
    case_in(s, "c", &args.c, count);
    case_in(s, "z", &args.z, count);
    case_in(s, "bias", &args.bias, box.width);
    case_in(s, "dy", &args.dy, count);
    if (dc) case_out(s, "dc", &args.dc, count, args.dc_write);
    if (dz) case_out(s, "dz", &args.dz, count, args.dz_write);
    if (dbias) case_out(s, "dbias", &args.dbias, box.width, args.dbias_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.c, &args.dc);
    case_pair(s, &args.z, &args.dz);
    case_pair(s, &args.bias, &args.dbias);
    case_run(s);
}

void cases_fixed_gate_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, suite_boxes[i], row);
    backward(s, (suite_box){1001, 65}, 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_fixed_gate_backward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_fixed_gate_backward_args, .width = -1);
}

void bench_fixed_gate_backward(suite *s) {
    backward(s, (suite_box){16 * 256, 256}, 0);
}

void gradients_fixed_gate_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (suite_box){5, 7}, row);
    backward(s, (suite_box){33, 17}, 0);
}
