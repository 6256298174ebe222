/* The causal convolution of each channel. */
#include "harness/ops/op.h"

enum { INPUT, WEIGHT, BIAS, INPUTS, BEFORE = INPUTS, SAVED };

static lh_status short_convolution_backward(lh_tape *tape, lh_node *node) {
    lh_short_convolution_backward_args args =
        *(const lh_short_convolution_backward_args *)node->args;
    args.x = lh_tensor_real(node->saved[INPUT]);
    args.before = lh_tensor_real(node->saved[BEFORE]);
    args.weight = lh_tensor_real(node->saved[WEIGHT]);
    args.dy = lh_gradient_read_real(node->output[0]);
    real **data[] = {&args.dx, &args.dweight, &args.dbias};
    lh_write *write[] = {&args.dx_write, &args.dweight_write, &args.dbias_write};
    for (int i = 0; i < INPUTS; ++i)
        LH_TRY(lh_gradient_write_real(node->input[i], data[i], write[i]));
    return LH_RUN_W(lh_tape_pool(tape), short_convolution_backward, &args);
}

static bool fits(const lh_tensor *x, const lh_tensor *before, const lh_tensor *weight,
                 const lh_tensor *bias) {
    if (x->rank != 3 || before->rank != 3 || weight->rank < 2) return false;
    const int64_t width = x->shape[2], kernel = lh_last_axis(weight);
    return kernel > 0 && lh_tensor_count(weight) == width * kernel && weight->shape[0] == width &&
           before->shape[0] == x->shape[0] && before->shape[1] == kernel - 1 &&
           before->shape[2] == width && (bias == NULL || lh_tensor_count(bias) == width);
}

lh_tensor *lh_short_convolution(lh_tape *tape, lh_tensor *x, lh_tensor *before, lh_tensor *weight,
                                lh_tensor *bias) {
    x = lh_convert(tape, x, LH_REAL);
    before = lh_convert(tape, before, LH_REAL);
    weight = lh_convert(tape, weight, LH_REAL);
    bias = lh_convert(tape, bias, LH_REAL);
    if (x == NULL || before == NULL || weight == NULL) return NULL;
    if (!fits(x, before, weight, bias))
        return LH_OP_FAIL("short_convolution: x %s, before %s, weight %s", lh_shape_text(x),
                          lh_shape_text(before), lh_shape_text(weight));
    lh_tensor *y = lh_tape_new_like(tape, x);
    if (y == NULL) return NULL;
    const lh_short_convolution_forward_args args = {.batch = x->shape[0],
                                                    .length = x->shape[1],
                                                    .width = x->shape[2],
                                                    .kernel = lh_last_axis(weight),
                                                    .x = lh_tensor_real(x),
                                                    .before = lh_tensor_real(before),
                                                    .weight = lh_tensor_real(weight),
                                                    .bias =
                                                        bias != NULL ? lh_tensor_real(bias) : NULL,
                                                    .y = lh_tensor_real(y)};
    const lh_short_convolution_backward_args back = {
        .batch = args.batch, .length = args.length, .width = args.width, .kernel = args.kernel};
    lh_tape_count_flops(tape, 2.0 * (double)lh_tensor_count(x) * (double)args.kernel);
    const lh_record record = {.op = "short_convolution",
                              .backward = short_convolution_backward,
                              .at_once = true,
                              .input = LH_TENSORS(x, weight, bias),
                              .input_count = INPUTS,
                              LH_OUTPUTS(y),
                              .saved = LH_TENSORS(x, weight, bias, before),
                              .saved_count = SAVED,
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), short_convolution_forward, &args), y,
                      &record);
}
