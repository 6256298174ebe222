/* Layer norm, RMS norm, rows of unit length; dropout. */
#include "harness/ops/op.h"

static lh_tensor *statistic(lh_tape *tape, int64_t rows) {
    return lh_tape_new(tape, LH_REAL, 1, &rows);
}

/* ---- layer norm ---- */

static lh_status layer_norm_backward(lh_tape *tape, lh_node *node) {
    lh_layer_norm_backward_args args = *(const lh_layer_norm_backward_args *)node->args;
    args.x = lh_tensor_activation(node->saved[0]);
    args.gain = lh_tensor_real(node->saved[1]);
    args.mean = lh_tensor_real(node->saved[2]);
    args.rstd = lh_tensor_real(node->saved[3]);
    args.dy = lh_gradient_read(node->output[0]);
    LH_TRY(lh_gradient_write(node->input[0], &args.dx, &args.dx_write));
    LH_TRY(lh_gradient_write_real(node->input[1], &args.dgain, &args.dgain_write));
    LH_TRY(lh_gradient_write_real(node->input[2], &args.dbias, &args.dbias_write));
    return LH_RUN_W(lh_tape_pool(tape), layer_norm_backward, &args);
}

lh_tensor *lh_layer_norm(lh_tape *tape, lh_tensor *x, lh_tensor *gain, lh_tensor *bias,
                         double epsilon) {
    x = lh_contiguous(tape, x);
    gain = lh_convert(tape, gain, LH_REAL);
    bias = lh_convert(tape, bias, LH_REAL);
    if (x == NULL || gain == NULL) return NULL;
    const int64_t rows = lh_row_count(x), width = lh_last_axis(x);
    if (lh_tensor_count(gain) != width || (bias != NULL && lh_tensor_count(bias) != width)) {
        return LH_OP_FAIL("layer_norm: x %s, gain %s", lh_shape_text(x), lh_shape_text(gain));
    }
    lh_tensor *y = lh_tape_new_like(tape, x), *mean = statistic(tape, rows),
              *rstd = statistic(tape, rows);
    if (y == NULL || mean == NULL || rstd == NULL) return NULL;
    const lh_layer_norm_forward_args args = {.rows = rows,
                                             .width = width,
                                             .epsilon = (real)epsilon,
                                             .x = lh_tensor_activation(x),
                                             .gain = lh_tensor_real(gain),
                                             .bias = bias != NULL ? lh_tensor_real(bias) : NULL,
                                             .y = lh_tensor_activation(y),
                                             .mean = lh_tensor_real(mean),
                                             .rstd = lh_tensor_real(rstd)};
    const lh_layer_norm_backward_args back = {.rows = rows, .width = width};
    const lh_record record = {.op = "layer_norm",
                              .backward = layer_norm_backward,
                              .at_once = true,
                              LH_INPUTS(x, gain, bias),
                              LH_OUTPUTS(y),
                              LH_SAVED(x, gain, mean, rstd),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), layer_norm_forward, &args), y, &record);
}

/* ---- root-mean-square norm ---- */

static lh_status rms_norm_backward(lh_tape *tape, lh_node *node) {
    lh_rms_norm_backward_args args = *(const lh_rms_norm_backward_args *)node->args;
    args.x = lh_tensor_activation(node->saved[0]);
    args.gain = lh_tensor_real(node->saved[1]);
    args.rstd = lh_tensor_real(node->saved[2]);
    args.dy = lh_gradient_read(node->output[0]);
    LH_TRY(lh_gradient_write(node->input[0], &args.dx, &args.dx_write));
    LH_TRY(lh_gradient_write_real(node->input[1], &args.dgain, &args.dgain_write));
    return LH_RUN_W(lh_tape_pool(tape), rms_norm_backward, &args);
}

lh_tensor *lh_rms_norm(lh_tape *tape, lh_tensor *x, lh_tensor *gain, double epsilon) {
    x = lh_contiguous(tape, x);
    gain = lh_convert(tape, gain, LH_REAL);
    if (x == NULL || gain == NULL) return NULL;
    const int64_t rows = lh_row_count(x), width = lh_last_axis(x);
    if (lh_tensor_count(gain) != width) {
        return LH_OP_FAIL("rms_norm: x %s, gain %s", lh_shape_text(x), lh_shape_text(gain));
    }
    lh_tensor *y = lh_tape_new_like(tape, x), *rstd = statistic(tape, rows);
    if (y == NULL || rstd == NULL) return NULL;
    const lh_rms_norm_forward_args args = {.rows = rows,
                                           .width = width,
                                           .epsilon = (real)epsilon,
                                           .x = lh_tensor_activation(x),
                                           .gain = lh_tensor_real(gain),
                                           .y = lh_tensor_activation(y),
                                           .rstd = lh_tensor_real(rstd)};
    const lh_rms_norm_backward_args back = {.rows = rows, .width = width};
    const lh_record record = {.op = "rms_norm",
                              .backward = rms_norm_backward,
                              .at_once = true,
                              LH_INPUTS(x, gain),
                              LH_OUTPUTS(y),
                              LH_SAVED(x, gain, rstd),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), rms_norm_forward, &args), y, &record);
}

/* ---- unit length ---- */

static lh_status unit_norm_backward(lh_tape *tape, lh_node *node) {
    lh_unit_norm_backward_args args = *(const lh_unit_norm_backward_args *)node->args;
    args.y = lh_tensor_activation(node->saved[0]);
    args.rnorm = lh_tensor_real(node->saved[1]);
    args.dy = lh_gradient_read(node->output[0]);
    LH_TRY(lh_gradient_write(node->input[0], &args.dx, &args.write));
    return LH_RUN(lh_tape_pool(tape), unit_norm_backward, &args);
}

lh_tensor *lh_unit_norm(lh_tape *tape, lh_tensor *x, double epsilon) {
    x = lh_contiguous(tape, x);
    if (x == NULL) return NULL;
    const int64_t rows = lh_row_count(x), width = lh_last_axis(x);
    lh_tensor *y = lh_tape_new_like(tape, x), *rnorm = statistic(tape, rows);
    if (y == NULL || rnorm == NULL) return NULL;
    const lh_unit_norm_forward_args args = {.rows = rows,
                                            .width = width,
                                            .epsilon = (real)epsilon,
                                            .x = lh_tensor_activation(x),
                                            .y = lh_tensor_activation(y),
                                            .rnorm = lh_tensor_real(rnorm)};
    const lh_unit_norm_backward_args back = {.rows = rows, .width = width};
    const lh_record record = {.op = "unit_norm",
                              .backward = unit_norm_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              LH_SAVED(y, rnorm),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), unit_norm_forward, &args), y, &record);
}

/* ---- dropout ---- */

typedef struct dropped {
    int64_t outer, length, width, period, first;
    double rate;
} dropped;

static lh_dropout_args dropout_args(const dropped *d, const lh_tensor *key) {
    return (lh_dropout_args){.outer = d->outer,
                             .length = d->length,
                             .width = d->width,
                             .period = d->period,
                             .first = d->first,
                             .rate = d->rate,
                             .key = lh_tensor_random_key(key)};
}

static lh_status dropout_backward(lh_tape *tape, lh_node *node) {
    lh_dropout_args args = dropout_args(node->args, node->saved[0]);
    args.x = lh_gradient_read(node->output[0]);
    LH_TRY(lh_gradient_write(node->input[0], &args.y, &args.write));
    return LH_RUN(lh_tape_pool(tape), dropout, &args);
}

lh_tensor *lh_dropout(lh_tape *tape, lh_tensor *x, double rate, int64_t period) {
    if (x == NULL || rate == 0) return x;
    x = lh_contiguous(tape, x);
    lh_tensor *key = lh_tape_random_key(tape);
    lh_tensor *y = x != NULL ? lh_tape_new_like(tape, x) : NULL;
    if (key == NULL || y == NULL) return NULL;
    if (x->rank < 2) return LH_OP_FAIL("dropout: x %s has no length axis", lh_shape_text(x));
    const int64_t length = x->shape[x->rank - 2], width = x->shape[x->rank - 1];
    const dropped d = {.outer = length * width > 0 ? lh_tensor_count(x) / (length * width) : 0,
                       .length = length,
                       .width = width,
                       .period = period,
                       .first = lh_tape_parts_before(tape, lh_tensor_count(x)),
                       .rate = rate};
    lh_dropout_args args = dropout_args(&d, key);
    args.x = lh_tensor_activation(x);
    args.y = lh_tensor_activation(y);
    const lh_record record = {.op = "dropout",
                              .backward = dropout_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              LH_SAVED(key),
                              .args = &d,
                              .args_bytes = sizeof d};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), dropout, &args), y, &record);
}
