/* Sums, products with spreading along rows or batches, and unary functions. */
#include "harness/ops/op.h"

/* y = alpha a + beta b and its two gradients. */
typedef struct weights {
    double alpha, beta;
} weights;

static lh_status contribute(lh_tape *tape, lh_gradient *to, lh_gradient *from, double factor) {
    if (factor == 1.0 && from->value != NULL && from->root == NULL) {
        return lh_gradient_give(to, from->value);
    }
    lh_linear_combination_args args = {
        .count = from->count, .alpha = (real)factor, .a = lh_gradient_read(from)};
    LH_TRY(lh_gradient_write(to, &args.y, &args.write));
    return LH_RUN(lh_tape_pool(tape), linear_combination, &args);
}

static lh_status combination_backward(lh_tape *tape, lh_node *node) {
    const weights *w = node->args;
    const double factor[] = {w->alpha, w->beta};
    for (int i = 0; i < node->input_count; ++i) {
        if (node->input[i] != NULL) {
            LH_TRY(contribute(tape, node->input[i], node->output[0], factor[i]));
        }
    }
    return LH_OK;
}

static lh_tensor *combination(lh_tape *tape, lh_tensor *a, lh_tensor *b, weights w,
                              const char *op) {
    lh_tensor *y = lh_tape_new_like(tape, a);
    if (y == NULL) return NULL;
    lh_linear_combination_args args = {.count = lh_tensor_count(a),
                                       .alpha = (real)w.alpha,
                                       .beta = (real)w.beta,
                                       .a = lh_tensor_activation(a),
                                       .y = lh_tensor_activation(y)};
    if (b != NULL) args.b = lh_tensor_activation(b);
    const lh_record record = {.op = op,
                              .backward = combination_backward,
                              .input = LH_TENSORS(a, b),
                              .input_count = b != NULL ? 2 : 1,
                              LH_OUTPUTS(y),
                              .args = &w,
                              .args_bytes = sizeof w};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), linear_combination, &args), y, &record);
}

static lh_tensor *pairwise(lh_tape *tape, lh_tensor *a, lh_tensor *b, double beta, const char *op) {
    if (a == NULL || b == NULL) return NULL;
    if (!lh_tensor_same_shape(a, b)) {
        return LH_OP_FAIL("%s: a %s, b %s", op, lh_shape_text(a), lh_shape_text(b));
    }
    /* a branch in bf16 is widened where it is added to a stream of reals */
    const bool widens = beta == 1.0 && a->dtype == LH_REAL;
    const lh_dtype dtype = lh_common_dtype(a, b->dtype);
    a = lh_convert(tape, a, dtype);
    b = widens ? lh_contiguous(tape, b) : lh_convert(tape, b, dtype);
    if (a == NULL || b == NULL) return NULL;
    return combination(tape, a, b, (weights){1.0, beta}, op);
}

lh_tensor *lh_add(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    return pairwise(tape, a, b, 1.0, "add");
}

lh_tensor *lh_subtract(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    return pairwise(tape, a, b, -1.0, "subtract");
}

lh_tensor *lh_scale(lh_tape *tape, lh_tensor *x, double factor) {
    x = lh_contiguous(tape, x);
    return x != NULL ? combination(tape, x, NULL, (weights){factor, 0.0}, "scale") : NULL;
}

/* ---- products and sums with a spread operand ---- */

/* a [rows][columns] op b; spread as in lh_binary_args. */
typedef struct spread_args {
    lh_binary_op op;
    lh_spread spread;
    int64_t rows, columns;
} spread_args;

/* The gradient of factor `input` where the other one is spread as it was, or neither is. */
static lh_status factor_backward(lh_tape *tape, lh_node *node, const spread_args *s, int input) {
    lh_binary_args args = {.op = LH_BINARY_MUL,
                           .spread = s->spread,
                           .rows = s->rows,
                           .columns = s->columns,
                           .a = lh_gradient_read_real(node->output[0]),
                           .b = lh_tensor_real(node->saved[1 - input])};
    LH_TRY(lh_gradient_write_real(node->input[input], &args.y, &args.write));
    return LH_RUN(lh_tape_pool(tape), binary, &args);
}

/* db of a sum or product: dy (times a), summed over what b was spread over. */
static lh_status spread_operand_backward(lh_tape *tape, lh_node *node, const spread_args *s) {
    if (s->op == LH_BINARY_MUL && s->spread == LH_SPREAD_NONE)
        return factor_backward(tape, node, s, 1);
    lh_act from = lh_gradient_read(node->output[0]);
    lh_reduce_args reduce = {
        .op = LH_REDUCE_SUM, .outer = 1, .axis = s->rows, .inner = s->columns, .alpha = 1};
    if (s->spread == LH_SPREAD_COLUMNS) {
        reduce.outer = s->rows;
        reduce.axis = s->columns;
        reduce.inner = 1;
    }
    if (s->op == LH_BINARY_MUL) {
        const int64_t shape[] = {s->rows, s->columns};
        lh_tensor *product = lh_tape_new(tape, LH_REAL, 2, shape);
        if (product == NULL) return lh_failed();
        const lh_binary_args multiply = {.op = LH_BINARY_MUL,
                                         .rows = s->rows,
                                         .columns = s->columns,
                                         .a = lh_gradient_read_real(node->output[0]),
                                         .b = lh_tensor_real(node->saved[0]),
                                         .y = lh_tensor_real(product)};
        LH_TRY(LH_RUN(lh_tape_pool(tape), binary, &multiply));
        from = lh_tensor_activation(product);
    }
    reduce.x = from;
    if (s->spread != LH_SPREAD_NONE) {
        LH_TRY(lh_gradient_write_real(node->input[1], &reduce.y, &reduce.write));
        return LH_RUN_W(lh_tape_pool(tape), reduce, &reduce);
    }
    lh_linear_combination_args copy = {.count = s->rows * s->columns, .alpha = 1, .a = from};
    LH_TRY(lh_gradient_write(node->input[1], &copy.y, &copy.write));
    return LH_RUN(lh_tape_pool(tape), linear_combination, &copy);
}

static lh_status spread_backward(lh_tape *tape, lh_node *node) {
    const spread_args *s = node->args;
    if (node->input[0] != NULL && s->op == LH_BINARY_ADD) {
        LH_TRY(contribute(tape, node->input[0], node->output[0], 1.0));
    } else if (node->input[0] != NULL) {
        LH_TRY(factor_backward(tape, node, s, 0));
    }
    return node->input[1] != NULL ? spread_operand_backward(tape, node, s) : LH_OK;
}

static lh_tensor *spread(lh_tape *tape, lh_tensor *a, lh_tensor *b, lh_binary_op op, lh_spread kind,
                         const char *name) {
    a = lh_convert(tape, a, LH_REAL);
    b = lh_convert(tape, b, LH_REAL);
    if (a == NULL || b == NULL) return NULL;
    const int64_t count = lh_tensor_count(a),
                  columns = kind == LH_SPREAD_COLUMNS ? lh_last_axis(a) : lh_tensor_count(b);
    if (columns > 0 && count % columns != 0) {
        return LH_OP_FAIL("%s: a %s, b %s", name, lh_shape_text(a), lh_shape_text(b));
    }
    const spread_args s = {
        .op = op, .spread = kind, .rows = columns > 0 ? count / columns : 0, .columns = columns};
    lh_tensor *y = lh_tape_new_like(tape, a);
    if (y == NULL) return NULL;
    const lh_binary_args args = {.op = op,
                                 .spread = kind,
                                 .rows = s.rows,
                                 .columns = s.columns,
                                 .a = lh_tensor_real(a),
                                 .b = lh_tensor_real(b),
                                 .y = lh_tensor_real(y)};
    const lh_record record = {.op = name,
                              .backward = spread_backward,
                              LH_INPUTS(a, b),
                              LH_OUTPUTS(y),
                              .saved = LH_TENSORS(a, b),
                              .saved_count = op == LH_BINARY_MUL ? 2 : 0,
                              .args = &s,
                              .args_bytes = sizeof s};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), binary, &args), y, &record);
}

lh_tensor *lh_multiply(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    if (a == NULL || b == NULL) return NULL;
    if (!lh_tensor_same_shape(a, b)) {
        return LH_OP_FAIL("multiply: a %s, b %s", lh_shape_text(a), lh_shape_text(b));
    }
    return spread(tape, a, b, LH_BINARY_MUL, LH_SPREAD_NONE, "multiply");
}

static bool fits_rows(const lh_tensor *a, const lh_tensor *b) {
    return a != NULL && b != NULL && b->rank == 1 && lh_last_axis(a) == b->shape[0];
}

lh_tensor *lh_add_row(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    if (a == NULL || b == NULL) return NULL;
    if (!fits_rows(a, b)) {
        return LH_OP_FAIL("add_row: a %s, b %s", lh_shape_text(a), lh_shape_text(b));
    }
    return spread(tape, a, b, LH_BINARY_ADD, LH_SPREAD_ROWS, "add_row");
}

lh_tensor *lh_multiply_row(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    if (a == NULL || b == NULL) return NULL;
    if (!fits_rows(a, b)) {
        return LH_OP_FAIL("multiply_row: a %s, b %s", lh_shape_text(a), lh_shape_text(b));
    }
    return spread(tape, a, b, LH_BINARY_MUL, LH_SPREAD_ROWS, "multiply_row");
}

lh_tensor *lh_multiply_column(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    if (a == NULL || b == NULL) return NULL;
    if (lh_row_count(a) != lh_tensor_count(b)) {
        return LH_OP_FAIL("multiply_column: a %s, b %s", lh_shape_text(a), lh_shape_text(b));
    }
    return spread(tape, a, b, LH_BINARY_MUL, LH_SPREAD_COLUMNS, "multiply_column");
}

lh_tensor *lh_add_batch(lh_tape *tape, lh_tensor *a, lh_tensor *b) {
    if (a == NULL || b == NULL) return NULL;
    if (a->rank < 1 || lh_tensor_count(a) != a->shape[0] * lh_tensor_count(b)) {
        return LH_OP_FAIL("add_batch: a %s, b %s", lh_shape_text(a), lh_shape_text(b));
    }
    return spread(tape, a, b, LH_BINARY_ADD, LH_SPREAD_ROWS, "add_batch");
}

lh_tensor *lh_repeat(lh_tape *tape, lh_tensor *x, int64_t count) {
    if (x == NULL) return NULL;
    if (x->rank == LH_MAX_RANK) return LH_OP_FAIL("repeat: no axis left for %s", lh_shape_text(x));
    x = lh_contiguous(tape, x);
    if (x == NULL) return NULL;
    int64_t shape[LH_MAX_RANK] = {count};
    for (int i = 0; i < x->rank; ++i)
        shape[i + 1] = x->shape[i];
    lh_tensor *zero = lh_zeros(tape, x->rank + 1, shape);
    return lh_add_batch(tape, zero, x);
}

/* ---- functions of one tensor ---- */

static lh_status unary_backward(lh_tape *tape, lh_node *node) {
    const lh_unary_op op = *(const lh_unary_op *)node->args;
    lh_unary_backward_args args = {
        .op = op, .count = node->output[0]->count, .dy = lh_gradient_read(node->output[0])};
    *(lh_unary_reads_output(op) ? &args.y : &args.x) = lh_tensor_activation(node->saved[0]);
    LH_TRY(lh_gradient_write(node->input[0], &args.dx, &args.write));
    return LH_RUN(lh_tape_pool(tape), unary_backward, &args);
}

lh_tensor *lh_unary(lh_tape *tape, lh_unary_op op, lh_tensor *x) {
    x = lh_contiguous(tape, x);
    lh_tensor *y = x != NULL ? lh_tape_new_like(tape, x) : NULL;
    if (y == NULL) return NULL;
    const lh_unary_forward_args args = {.op = op,
                                        .count = lh_tensor_count(x),
                                        .x = lh_tensor_activation(x),
                                        .y = lh_tensor_activation(y)};
    const lh_record record = {.op = "unary",
                              .backward = unary_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              .saved = LH_TENSORS(lh_unary_reads_output(op) ? y : x),
                              .saved_count = 1,
                              .args = &op,
                              .args_bytes = sizeof op};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), unary_forward, &args), y, &record);
}
