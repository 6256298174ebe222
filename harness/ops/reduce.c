/* Sums, means and maxima over an axis, and softmax over the last. */
#include "harness/ops/op.h"

/* x seen as [outer][axis][inner]. */
typedef struct reduction {
    int64_t outer, axis, inner;
    double alpha;
} reduction;

/* dx repeats alpha * dy along the axis. */
static lh_status reduction_backward(lh_tape *tape, lh_node *node) {
    const reduction *r = node->args;
    const int64_t shape[] = {r->outer, r->inner};
    lh_tensor *scaled = lh_tape_new(tape, LH_REAL, 2, shape);
    if (scaled == NULL) return lh_failed();
    const lh_linear_combination_args scale = {.count = r->outer * r->inner,
                                              .alpha = (real)r->alpha,
                                              .a = lh_gradient_read(node->output[0]),
                                              .y = lh_tensor_activation(scaled)};
    LH_TRY(LH_RUN(lh_tape_pool(tape), linear_combination, &scale));
    lh_copy_args args = {.rank = 3,
                         .shape = {r->outer, r->axis, r->inner},
                         .x = lh_tensor_activation(scaled),
                         .x_stride = {r->inner, 0, 1},
                         .y_stride = {r->axis * r->inner, r->inner, 1}};
    LH_TRY(lh_gradient_write(node->input[0], &args.y, &args.write));
    return LH_RUN(lh_tape_pool(tape), copy, &args);
}

static lh_status maximum_backward(lh_tape *tape, lh_node *node) {
    const reduction *r = node->args;
    lh_maximum_backward_args args = {.outer = r->outer,
                                     .axis = r->axis,
                                     .inner = r->inner,
                                     .x = lh_tensor_real(node->saved[0]),
                                     .dy = lh_gradient_read_real(node->output[0])};
    LH_TRY(lh_gradient_write_real(node->input[0], &args.dx, &args.write));
    return LH_RUN(lh_tape_pool(tape), maximum_backward, &args);
}

static lh_tensor *reduced(lh_tape *tape, lh_tensor *x, lh_reduce_op op, reduction r, int rank,
                          const int64_t *shape) {
    lh_tensor *y = lh_tape_new(tape, LH_REAL, rank, shape);
    if (y == NULL) return NULL;
    const bool is_sum = op == LH_REDUCE_SUM;
    const lh_reduce_args args = {.op = op,
                                 .outer = r.outer,
                                 .axis = r.axis,
                                 .inner = r.inner,
                                 .alpha = (real)r.alpha,
                                 .x = lh_tensor_activation(x),
                                 .y = lh_tensor_real(y)};
    const lh_record record = {.op = is_sum ? "sum" : "maximum",
                              .backward = is_sum ? reduction_backward : maximum_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              .saved = &x,
                              .saved_count = is_sum ? 0 : 1,
                              .args = &r,
                              .args_bytes = sizeof r};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), reduce, &args), y, &record);
}

typedef enum reduction_kind { SUM, MEAN, MAXIMUM } reduction_kind;

static lh_tensor *over_axis(lh_tape *tape, lh_tensor *x, int axis, reduction_kind kind) {
    x = lh_convert(tape, x, LH_REAL);
    if (x == NULL) return NULL;
    if (axis < 0 || axis >= x->rank) {
        return LH_OP_FAIL("reduction: axis %d of %s", axis, lh_shape_text(x));
    }
    reduction r = {.outer = 1, .axis = x->shape[axis], .inner = 1, .alpha = 1.0};
    int64_t shape[LH_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; ++i) {
        if (i < axis) r.outer *= x->shape[i];
        if (i > axis) r.inner *= x->shape[i];
        if (i != axis) shape[rank++] = x->shape[i];
    }
    if (kind == MEAN) r.alpha = 1.0 / (double)r.axis;
    return reduced(tape, x, kind == MAXIMUM ? LH_REDUCE_MAX : LH_REDUCE_SUM, r, rank, shape);
}

lh_tensor *lh_sum(lh_tape *tape, lh_tensor *x, int axis) {
    return over_axis(tape, x, axis, SUM);
}

lh_tensor *lh_mean(lh_tape *tape, lh_tensor *x, int axis) {
    return over_axis(tape, x, axis, MEAN);
}

lh_tensor *lh_maximum(lh_tape *tape, lh_tensor *x, int axis) {
    return over_axis(tape, x, axis, MAXIMUM);
}

lh_tensor *lh_sum_all(lh_tape *tape, lh_tensor *x) {
    x = lh_convert(tape, x, LH_REAL);
    if (x == NULL) return NULL;
    const reduction r = {.outer = 1, .axis = lh_tensor_count(x), .inner = 1, .alpha = 1.0};
    return reduced(tape, x, LH_REDUCE_SUM, r, 0, NULL);
}

/* ---- softmax ---- */

static lh_status softmax_backward(lh_tape *tape, lh_node *node) {
    lh_softmax_backward_args args = *(const lh_softmax_backward_args *)node->args;
    args.y = lh_tensor_real(node->saved[0]);
    args.dy = lh_gradient_read_real(node->output[0]);
    LH_TRY(lh_gradient_write_real(node->input[0], &args.dx, &args.write));
    return LH_RUN(lh_tape_pool(tape), softmax_backward, &args);
}

lh_tensor *lh_softmax(lh_tape *tape, lh_tensor *x) {
    x = lh_convert(tape, x, LH_REAL);
    lh_tensor *y = x != NULL ? lh_tape_new_like(tape, x) : NULL;
    if (y == NULL) return NULL;
    const lh_softmax_forward_args args = {.rows = lh_row_count(x),
                                          .width = lh_last_axis(x),
                                          .x = lh_tensor_real(x),
                                          .y = lh_tensor_real(y)};
    const lh_softmax_backward_args back = {.rows = args.rows, .width = args.width};
    const lh_record record = {.op = "softmax",
                              .backward = softmax_backward,
                              LH_INPUTS(x),
                              LH_OUTPUTS(y),
                              LH_SAVED(y),
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), softmax_forward, &args), y, &record);
}
