/* Gates of recurrent layers: the fixed and the LSTM gate of carried states, the LSTM's cell. */
#include "harness/ops/op.h"

static lh_status fixed_gate_backward(lh_tape *tape, lh_node *node) {
    lh_fixed_gate_backward_args args = *(const lh_fixed_gate_backward_args *)node->args;
    args.c = lh_tensor_real(node->saved[0]);
    args.z = lh_tensor_real(node->saved[1]);
    args.bias = lh_tensor_real(node->saved[2]);
    args.dy = lh_gradient_read_real(node->output[0]);
    LH_TRY(lh_gradient_write_real(node->input[0], &args.dc, &args.dc_write));
    LH_TRY(lh_gradient_write_real(node->input[1], &args.dz, &args.dz_write));
    LH_TRY(lh_gradient_write_real(node->input[2], &args.dbias, &args.dbias_write));
    return LH_RUN_W(lh_tape_pool(tape), fixed_gate_backward, &args);
}

lh_tensor *lh_fixed_gate(lh_tape *tape, lh_tensor *c, lh_tensor *z, lh_tensor *bias) {
    c = lh_convert(tape, c, LH_REAL);
    z = lh_convert(tape, z, LH_REAL);
    bias = lh_convert(tape, bias, LH_REAL);
    if (c == NULL || z == NULL || bias == NULL) return NULL;
    if (!lh_tensor_same_shape(c, z) || lh_tensor_count(bias) != lh_last_axis(c)) {
        return LH_OP_FAIL("fixed_gate: c %s, z %s, bias %s", lh_shape_text(c), lh_shape_text(z),
                          lh_shape_text(bias));
    }
    lh_tensor *y = lh_tape_new_like(tape, c);
    if (y == NULL) return NULL;
    const lh_fixed_gate_forward_args args = {.rows = lh_row_count(c),
                                             .width = lh_last_axis(c),
                                             .c = lh_tensor_real(c),
                                             .z = lh_tensor_real(z),
                                             .bias = lh_tensor_real(bias),
                                             .y = lh_tensor_real(y)};
    const lh_fixed_gate_backward_args back = {.rows = args.rows, .width = args.width};
    const lh_record record = {.op = "fixed_gate",
                              .backward = fixed_gate_backward,
                              .at_once = true,
                              LH_INPUTS(c, z, bias),
                              LH_OUTPUTS(y),
                              LH_SAVED(c, z, bias),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), fixed_gate_forward, &args), y, &record);
}

static lh_status lstm_gate_backward(lh_tape *tape, lh_node *node) {
    lh_lstm_gate_backward_args args = *(const lh_lstm_gate_backward_args *)node->args;
    args.c = lh_tensor_real(node->saved[0]);
    args.z = lh_tensor_real(node->saved[1]);
    args.f = lh_tensor_real(node->saved[2]);
    args.i = lh_tensor_real(node->saved[3]);
    args.dy = lh_gradient_read_real(node->output[0]);
    real **data[] = {&args.dc, &args.dz, &args.df, &args.di};
    lh_write *write[] = {&args.dc_write, &args.dz_write, &args.df_write, &args.di_write};
    for (int i = 0; i < 4; ++i)
        LH_TRY(lh_gradient_write_real(node->input[i], data[i], write[i]));
    return LH_RUN(lh_tape_pool(tape), lstm_gate_backward, &args);
}

lh_tensor *lh_lstm_gate(lh_tape *tape, lh_tensor *c, lh_tensor *z, lh_tensor *forget,
                        lh_tensor *input, double forget_offset, double input_offset) {
    c = lh_convert(tape, c, LH_REAL);
    z = lh_convert(tape, z, LH_REAL);
    lh_tensor *f = lh_convert(tape, forget, LH_REAL), *i = lh_convert(tape, input, LH_REAL);
    if (c == NULL || z == NULL || f == NULL || i == NULL) return NULL;
    if (!lh_tensor_same_shape(c, z) || !lh_tensor_same_shape(c, f) || !lh_tensor_same_shape(c, i)) {
        return LH_OP_FAIL("lstm_gate: c %s, z %s, forget %s, input %s", lh_shape_text(c),
                          lh_shape_text(z), lh_shape_text(f), lh_shape_text(i));
    }
    lh_tensor *y = lh_tape_new_like(tape, c);
    if (y == NULL) return NULL;
    const lh_lstm_gate_forward_args args = {.rows = lh_row_count(c),
                                            .width = lh_last_axis(c),
                                            .forget_offset = (real)forget_offset,
                                            .input_offset = (real)input_offset,
                                            .c = lh_tensor_real(c),
                                            .z = lh_tensor_real(z),
                                            .f = lh_tensor_real(f),
                                            .i = lh_tensor_real(i),
                                            .y = lh_tensor_real(y)};
    const lh_lstm_gate_backward_args back = {.rows = args.rows,
                                             .width = args.width,
                                             .forget_offset = args.forget_offset,
                                             .input_offset = args.input_offset};
    const lh_record record = {.op = "lstm_gate",
                              .backward = lstm_gate_backward,
                              .at_once = true,
                              LH_INPUTS(c, z, f, i),
                              LH_OUTPUTS(y),
                              LH_SAVED(c, z, f, i),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), lstm_gate_forward, &args), y, &record);
}

static lh_status lstm_cell_backward(lh_tape *tape, lh_node *node) {
    lh_lstm_cell_backward_args args = *(const lh_lstm_cell_backward_args *)node->args;
    args.gates = lh_tensor_real(node->saved[0]);
    args.c = lh_tensor_real(node->saved[1]);
    args.dh = lh_gradient_read_real(node->output[0]);
    args.dnext = lh_gradient_read_real(node->output[1]);
    LH_TRY(lh_gradient_write_real(node->input[0], &args.dgates, &args.dgates_write));
    LH_TRY(lh_gradient_write_real(node->input[1], &args.dc, &args.dc_write));
    return LH_RUN(lh_tape_pool(tape), lstm_cell_backward, &args);
}

lh_tensor *lh_lstm_cell(lh_tape *tape, lh_tensor *gates, lh_tensor *c, lh_tensor **next) {
    gates = lh_convert(tape, gates, LH_REAL);
    c = lh_convert(tape, c, LH_REAL);
    if (gates == NULL || c == NULL) return NULL;
    if (lh_last_axis(gates) != 4 * lh_last_axis(c) || lh_row_count(gates) != lh_row_count(c)) {
        return LH_OP_FAIL("lstm_cell: gates %s, c %s", lh_shape_text(gates), lh_shape_text(c));
    }
    lh_tensor *h = lh_tape_new_like(tape, c);
    *next = lh_tape_new_like(tape, c);
    if (h == NULL || *next == NULL) return NULL;
    const lh_lstm_cell_forward_args args = {.rows = lh_row_count(c),
                                            .width = lh_last_axis(c),
                                            .gates = lh_tensor_real(gates),
                                            .c = lh_tensor_real(c),
                                            .next = lh_tensor_real(*next),
                                            .h = lh_tensor_real(h)};
    const lh_lstm_cell_backward_args back = {.rows = args.rows, .width = args.width};
    const lh_record record = {.op = "lstm_cell",
                              .backward = lstm_cell_backward,
                              .at_once = true,
                              LH_INPUTS(gates, c),
                              LH_OUTPUTS(h, *next),
                              LH_SAVED(gates, c),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), lstm_cell_forward, &args), h, &record);
}
