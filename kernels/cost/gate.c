/* Of gates: fixed_gate.cu, lstm_cell.cu, lstm_gate.cu of kernels/cuda. */
#include "kernels/cost/cost.h"

enum { OF_GATE = 10 }; /* FLOPs */

/* An element to a thread that reads `operands` numbers. */
static lh_cost elements(int64_t rows, int64_t width, int operands, int gates) {
    const double count = (double)(rows * width);
    lh_cost cost = {.flops = gates * OF_GATE * count, .read = operands * count * LH_COST_REAL};
    lh_cost_launch(&cost, rows * width);
    return cost;
}

lh_cost lh_cost_fixed_gate_forward(const lh_fixed_gate_forward_args *args) {
    lh_cost cost = elements(args->rows, args->width, 2, 1);
    cost.read += (double)args->width * LH_COST_REAL;
    cost.written = (double)(args->rows * args->width) * LH_COST_REAL;
    return cost;
}

lh_cost lh_cost_fixed_gate_backward(const lh_fixed_gate_backward_args *args) {
    const double count = (double)(args->rows * args->width);
    lh_cost cost = elements(args->rows, args->width, 1, 1);
    lh_cost_column_sums(&cost, args->rows, args->width, 3 * count * LH_COST_REAL, args->dbias,
                        args->dbias_write);
    lh_cost_write(&cost, lh_cost_reals(args->dc, count), args->dc_write);
    lh_cost_write(&cost, lh_cost_reals(args->dz, count), args->dz_write);
    return cost;
}

lh_cost lh_cost_lstm_gate_forward(const lh_lstm_gate_forward_args *args) {
    lh_cost cost = elements(args->rows, args->width, 4, 2);
    cost.written = (double)(args->rows * args->width) * LH_COST_REAL;
    return cost;
}

lh_cost lh_cost_lstm_gate_backward(const lh_lstm_gate_backward_args *args) {
    const double count = (double)(args->rows * args->width);
    lh_cost cost = elements(args->rows, args->width, 5, 2);
    lh_cost_write(&cost, lh_cost_reals(args->dc, count), args->dc_write);
    lh_cost_write(&cost, lh_cost_reals(args->dz, count), args->dz_write);
    lh_cost_write(&cost, lh_cost_reals(args->df, count), args->df_write);
    lh_cost_write(&cost, lh_cost_reals(args->di, count), args->di_write);
    return cost;
}

lh_cost lh_cost_lstm_cell_forward(const lh_lstm_cell_forward_args *args) {
    lh_cost cost = elements(args->rows, args->width, 5, 5);
    cost.written = 2.0 * (double)(args->rows * args->width) * LH_COST_REAL;
    return cost;
}

lh_cost lh_cost_lstm_cell_backward(const lh_lstm_cell_backward_args *args) {
    const double count = (double)(args->rows * args->width);
    lh_cost cost = elements(args->rows, args->width, 5, 5);
    cost.read += lh_cost_reals(args->dnext, count) + lh_cost_reals(args->dh, count);
    lh_cost_write(&cost, lh_cost_reals(args->dgates, 4 * count), args->dgates_write);
    lh_cost_write(&cost, lh_cost_reals(args->dc, count), args->dc_write);
    return cost;
}
