/* The LSTM gate of carried states forward and backward. */
#include "tests/kernels/conformance.h"

static void forward(suite *s, suite_box box) {
    lh_lstm_gate_forward_args args = {
        .rows = box.rows, .width = box.width, .forget_offset = 1, .input_offset = -1};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64, box.rows, box.width);
    case_in(s, "c", &args.c, count);
    case_in(s, "z", &args.z, count);
    case_in(s, "f", &args.f, count);
    case_in(s, "i", &args.i, count);
    case_out(s, "y", &args.y, count, LH_SET);
    case_run(s);
}

void cases_lstm_gate_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        forward(s, suite_boxes[i]);
    forward(s, (suite_box){1001, 65});
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_gate_forward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_gate_forward_args, .width = -1);
}

void bench_lstm_gate_forward(suite *s) {
    forward(s, (suite_box){16 * 256, 256});
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_lstm_gate_backward_args *args = arguments;
    const int64_t count = args->rows * args->width;
    real *y = scratch(count);
    launch_lstm_gate_forward(s, &(lh_lstm_gate_forward_args){.rows = args->rows,
                                                             .width = args->width,
                                                             .forget_offset = args->forget_offset,
                                                             .input_offset = args->input_offset,
                                                             .c = args->c,
                                                             .z = args->z,
                                                             .f = args->f,
                                                             .i = args->i,
                                                             .y = y});
    const double loss = dot(y, args->dy, count);
    free(y);
    return loss;
}

/* Which gradients are wanted, and how each is written, in rows of pairs. */
static void add_gradients(suite *s, lh_lstm_gate_backward_args *args, int64_t count, int row) {
    args->dc_write = write_of(suite_flag(row, 4));
    args->dz_write = write_of(suite_flag(row, 5));
    args->df_write = write_of(suite_flag(row, 6));
    args->di_write = write_of(!suite_flag(row, 4));
    if (!suite_flag(row, 0)) case_out(s, "dc", &args->dc, count, args->dc_write);
    if (!suite_flag(row, 1)) case_out(s, "dz", &args->dz, count, args->dz_write);
    if (!suite_flag(row, 2)) case_out(s, "df", &args->df, count, args->df_write);
    if (!suite_flag(row, 3)) case_out(s, "di", &args->di, count, args->di_write);
}

static void backward(suite *s, suite_box box, int row) {
    lh_lstm_gate_backward_args args = {
        .rows = box.rows, .width = box.width, .forget_offset = 1, .input_offset = -1};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", flags %d", box.rows, box.width,
              row);
    case_in(s, "c", &args.c, count);
    case_in(s, "z", &args.z, count);
    case_in(s, "f", &args.f, count);
    case_in(s, "i", &args.i, count);
    case_in(s, "dy", &args.dy, count);
    add_gradients(s, &args, count, row);
    case_loss(s, backward_loss);
    case_pair(s, &args.c, &args.dc);
    case_pair(s, &args.z, &args.dz);
    case_pair(s, &args.f, &args.df);
    case_pair(s, &args.i, &args.di);
    case_run(s);
}

void cases_lstm_gate_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, suite_boxes[i], row);
    backward(s, (suite_box){1001, 65}, 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_gate_backward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_gate_backward_args, .width = -1);
}

void bench_lstm_gate_backward(suite *s) {
    backward(s, (suite_box){16 * 256, 256}, 0);
}

void gradients_lstm_gate_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (suite_box){5, 7}, row);
    backward(s, (suite_box){33, 17}, 0);
}
