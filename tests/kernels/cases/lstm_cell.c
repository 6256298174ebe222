/* The LSTM's cell forward and backward. */
#include "tests/kernels/conformance.h"

static void forward(suite *s, suite_box box) {
    lh_lstm_cell_forward_args args = {.rows = box.rows, .width = box.width};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64, box.rows, box.width);
    case_in(s, "gates", &args.gates, 4 * count);
    case_in(s, "c", &args.c, count);
    case_out(s, "next", &args.next, count, LH_SET);
    case_out(s, "h", &args.h, count, LH_SET);
    case_run(s);
}

void cases_lstm_cell_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        forward(s, suite_boxes[i]);
    forward(s, (suite_box){301, 65});
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_cell_forward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_cell_forward_args, .width = -1);
}

void bench_lstm_cell_forward(suite *s) {
    forward(s, (suite_box){64, 256});
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_lstm_cell_backward_args *args = arguments;
    const int64_t count = args->rows * args->width;
    real *next = scratch(count), *h = scratch(count);
    launch_lstm_cell_forward(s, &(lh_lstm_cell_forward_args){.rows = args->rows,
                                                             .width = args->width,
                                                             .gates = args->gates,
                                                             .c = args->c,
                                                             .next = next,
                                                             .h = h});
    const double later = args->dnext != NULL ? dot(next, args->dnext, count) : 0;
    const double loss = later + (args->dh != NULL ? dot(h, args->dh, count) : 0);
    free(next);
    free(h);
    return loss;
}

/* Row of flags: which cotangents are there, which gradients are wanted, how each is written. */
static void backward(suite *s, suite_box box, int row) {
    lh_lstm_cell_backward_args args = {.rows = box.rows,
                                       .width = box.width,
                                       .dgates_write = write_of(suite_flag(row, 4)),
                                       .dc_write = write_of(suite_flag(row, 5))};
    const int64_t count = box.rows * box.width;
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", flags %d", box.rows, box.width,
              row);
    case_in(s, "gates", &args.gates, 4 * count);
    case_in(s, "c", &args.c, count);
    if (!suite_flag(row, 0)) case_in(s, "dnext", &args.dnext, count);
    if (!suite_flag(row, 1)) case_in(s, "dh", &args.dh, count);
    if (!suite_flag(row, 2)) case_out(s, "dgates", &args.dgates, 4 * count, args.dgates_write);
    if (!suite_flag(row, 3)) case_out(s, "dc", &args.dc, count, args.dc_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.gates, &args.dgates);
    case_pair(s, &args.c, &args.dc);
    case_run(s);
}

void cases_lstm_cell_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, suite_boxes[i], row);
    backward(s, (suite_box){301, 265}, 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_cell_backward_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lstm_cell_backward_args, .width = -1);
}

void bench_lstm_cell_backward(suite *s) {
    backward(s, (suite_box){64, 256}, 0);
}

void gradients_lstm_cell_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (suite_box){5, 7}, row);
    backward(s, (suite_box){33, 17}, 0);
}
