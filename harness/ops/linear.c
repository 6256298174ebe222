/* A linear layer with bias and activation, or added to a residual, as one op. */
#include "harness/ops/op.h"

/* y [rows][out] = activation(x [rows][in] weight [in][out] + bias). */
typedef struct linear {
    int64_t rows, in, out;
    lh_unary_op activation;
} linear;

/* dx (+)= dy weight^T. */
static lh_status input_gradient(lh_tape *tape, const linear *l, lh_act dy, const lh_tensor *weight,
                                lh_gradient *to) {
    lh_matmul_args args = {.batch = 1,
                           .m = l->rows,
                           .n = l->in,
                           .k = l->out,
                           .transpose_b = true,
                           .alpha = 1,
                           .a = dy,
                           .a_leading = l->out,
                           .b = lh_tensor_activation(weight),
                           .b_leading = l->out,
                           .c_leading = l->in};
    LH_TRY(lh_gradient_write(to, &args.c, &args.write));
    return lh_run_matmul(lh_tape_pool(tape), &args);
}

/* dweight (+)= x^T dy. */
static lh_status weight_gradient(lh_tape *tape, const linear *l, const lh_tensor *x, lh_act dy,
                                 lh_gradient *to) {
    lh_matmul_args args = {.batch = 1,
                           .m = l->in,
                           .n = l->out,
                           .k = l->rows,
                           .transpose_a = true,
                           .alpha = 1,
                           .a = lh_tensor_activation(x),
                           .a_leading = l->in,
                           .b = dy,
                           .b_leading = l->out,
                           .c_leading = l->out};
    LH_TRY(lh_gradient_write(to, &args.c, &args.write));
    return lh_run_matmul(lh_tape_pool(tape), &args);
}

static lh_status bias_gradient(lh_tape *tape, const linear *l, lh_act dy, lh_gradient *to) {
    lh_reduce_args args = {
        .op = LH_REDUCE_SUM, .outer = 1, .axis = l->rows, .inner = l->out, .alpha = 1, .x = dy};
    LH_TRY(lh_gradient_write_real(to, &args.y, &args.write));
    return LH_RUN_W(lh_tape_pool(tape), reduce, &args);
}

/* The gradient before the activation: in dy's own buffer when nobody else looks at it. */
static lh_status before_activation(lh_tape *tape, lh_node *node, const linear *l, lh_act *dy) {
    if (l->activation == LH_UNARY_IDENTITY) return LH_OK;
    lh_gradient *gradient = node->output[0];
    lh_unary_backward_args args = {
        .op = l->activation, .count = l->rows * l->out, .dy = *dy, .write = LH_SET};
    *(lh_unary_reads_output(l->activation) ? &args.y : &args.x) =
        lh_tensor_activation(node->saved[2]);
    if (lh_gradient_is_exclusive(gradient)) {
        args.dx = lh_tensor_activation(gradient->value);
    } else {
        lh_tensor *own = lh_tape_new_like(tape, node->saved[2]);
        if (own == NULL) return lh_failed();
        args.dx = lh_tensor_activation(own);
    }
    *dy = args.dx;
    return LH_RUN(lh_tape_pool(tape), unary_backward, &args);
}

static lh_status linear_backward(lh_tape *tape, lh_node *node) {
    const linear *l = node->args;
    const lh_tensor *x = node->saved[0], *weight = node->saved[1];
    lh_act dy = lh_gradient_read(node->output[0]);
    LH_TRY(before_activation(tape, node, l, &dy));
    if (node->input[2] != NULL) LH_TRY(bias_gradient(tape, l, dy, node->input[2]));
    if (node->input[1] != NULL) LH_TRY(weight_gradient(tape, l, x, dy, node->input[1]));
    if (node->input[0] != NULL) LH_TRY(input_gradient(tape, l, dy, weight, node->input[0]));
    if (node->input_count > 3 && node->input[3] != NULL) {
        return lh_gradient_give(node->input[3], node->output[0]->value);
    }
    return LH_OK;
}

static bool fits(const lh_tensor *x, const lh_tensor *weight, const lh_tensor *bias) {
    return x->rank >= 1 && weight->rank == 2 && lh_last_axis(x) == weight->shape[0] &&
           (bias == NULL || lh_tensor_count(bias) == weight->shape[1]);
}

/* The operands as the kernel reads them; false after a message. */
static bool check(lh_tape *tape, const char *op, lh_tensor **x, lh_tensor **weight,
                  lh_tensor **bias) {
    if (*x == NULL || *weight == NULL) return false;
    if (!fits(*x, *weight, *bias)) {
        (void)lh_fail(LH_ESHAPE, "%s: x %s, weight %s, bias %s; a weight is [in][out]", op,
                      lh_shape_text(*x), lh_shape_text(*weight),
                      *bias != NULL ? lh_shape_text(*bias) : "none");
        return false;
    }
    *x = lh_contiguous(tape, *x);
    *weight = lh_contiguous(tape, *weight);
    *bias = lh_convert(tape, *bias, LH_REAL);
    return *x != NULL && *weight != NULL;
}

static lh_tensor *new_output(lh_tape *tape, const lh_tensor *x, lh_dtype dtype, int64_t out) {
    int64_t shape[LH_MAX_RANK];
    for (int i = 0; i < x->rank; ++i)
        shape[i] = x->shape[i];
    shape[x->rank - 1] = out;
    return lh_tape_new(tape, dtype, x->rank, shape);
}

static lh_matmul_args forward_args(const linear *l, const lh_tensor *x, const lh_tensor *weight,
                                   lh_tensor *y) {
    return (lh_matmul_args){.batch = 1,
                            .m = l->rows,
                            .n = l->out,
                            .k = l->in,
                            .alpha = 1,
                            .a = lh_tensor_activation(x),
                            .a_leading = l->in,
                            .b = lh_tensor_activation(weight),
                            .b_leading = l->out,
                            .c = lh_tensor_activation(y),
                            .c_leading = l->out,
                            .activation = l->activation};
}

static void count_flops(lh_tape *tape, const linear *l) {
    lh_tape_count_flops(tape, 2.0 * (double)l->rows * (double)l->in * (double)l->out);
}

lh_tensor *lh_linear(lh_tape *tape, lh_tensor *x, lh_tensor *weight, lh_tensor *bias,
                     lh_unary_op activation) {
    if (!check(tape, "linear", &x, &weight, &bias)) return NULL;
    const linear l = {
        .rows = lh_row_count(x), .in = weight->shape[0], .out = weight->shape[1], activation};
    lh_tensor *y = new_output(tape, x, lh_pool_activation(lh_tape_pool(tape)), l.out);
    if (y == NULL) return NULL;
    lh_matmul_args args = forward_args(&l, x, weight, y);
    args.bias = bias != NULL ? lh_tensor_real(bias) : NULL;
    lh_tensor *kept = activation == LH_UNARY_IDENTITY ? NULL : y;
    lh_tensor *const inputs[] = {x, weight, bias};
    if (!lh_unary_reads_output(activation) && lh_tape_wants(tape, inputs, 3)) {
        kept = lh_tape_new_like(tape, y);
        if (kept == NULL) return NULL;
        args.pre = lh_tensor_activation(kept);
    }
    count_flops(tape, &l);
    const lh_record record = {.op = "linear",
                              .backward = linear_backward,
                              .input = inputs,
                              .input_count = 3,
                              LH_OUTPUTS(y),
                              LH_SAVED(x, weight, kept),
                              .args = &l,
                              .args_bytes = sizeof l};
    return lh_op_done(tape, lh_run_matmul(lh_tape_pool(tape), &args), y, &record);
}

lh_tensor *lh_linear_add(lh_tape *tape, lh_tensor *residual, lh_tensor *x, lh_tensor *weight) {
    lh_tensor *bias = NULL;
    if (residual == NULL || !check(tape, "linear_add", &x, &weight, &bias)) return NULL;
    residual = lh_contiguous(tape, residual);
    const linear l = {.rows = lh_row_count(x), .in = weight->shape[0], .out = weight->shape[1]};
    lh_tensor *y = residual != NULL ? new_output(tape, x, residual->dtype, l.out) : NULL;
    if (y == NULL) return NULL;
    if (!lh_tensor_same_shape(y, residual)) {
        return LH_OP_FAIL("linear_add: residual %s, x weight %s", lh_shape_text(residual),
                          lh_shape_text(y));
    }
    lh_matmul_args args = forward_args(&l, x, weight, y);
    args.residual = lh_tensor_activation(residual);
    count_flops(tape, &l);
    const lh_record record = {.op = "linear_add",
                              .backward = linear_backward,
                              LH_INPUTS(x, weight, bias, residual),
                              LH_OUTPUTS(y),
                              LH_SAVED(x, weight),
                              .args = &l,
                              .args_bytes = sizeof l};
    return lh_op_done(tape, lh_run_matmul(lh_tape_pool(tape), &args), y, &record);
}
