/* Reversible blocks on the tape: backward recovers each block's inputs from its outputs. */
#include "harness/ops/op.h"

/* One block's functions and where its random ops began. */
typedef struct step {
    lh_reversible_block block;
    uint32_t f_position, g_position;
} step;

typedef struct chain {
    int count;
    step *steps;
} chain;

/* y = a + b or a - b as plain arithmetic on constants, into a tensor of the scope. */
static lh_tensor *combine(lh_tape *tape, const lh_tensor *a, const lh_tensor *b, real beta) {
    lh_tensor *y = lh_tape_new_like(tape, a);
    if (y == NULL) return NULL;
    const lh_linear_combination_args args = {.count = lh_tensor_count(a),
                                             .alpha = 1,
                                             .beta = beta,
                                             .a = lh_tensor_activation(a),
                                             .b = lh_tensor_activation(b),
                                             .y = lh_tensor_activation(y)};
    return LH_RUN(lh_tape_pool(tape), linear_combination, &args) == LH_OK ? y : NULL;
}

/* In the type that it comes in: bf16 is widened where it is added to a stream. */
static lh_tensor *apply(lh_tape *tape, lh_half half, void *context, lh_tensor *x) {
    lh_tensor *y = lh_contiguous(tape, half(tape, context, x));
    if (y == NULL) return NULL;
    if (lh_tensor_same_shape(x, y)) return y;
    (void)lh_fail(LH_ESHAPE, "reversible: a half maps %s to %s", lh_shape_text(x),
                  lh_shape_text(y));
    return NULL;
}

/* The same as a region: the parameters that it needs leave at its end. */
static lh_tensor *visit(lh_tape *tape, lh_half half, void *context, lh_tensor *x) {
    const int mark = lh_tape_visits(tape);
    lh_tensor *y = apply(tape, half, context, x);
    if (y == NULL) return NULL;
    return lh_tape_end_visits(tape, mark) == LH_OK ? y : NULL;
}

/* y1 = x1 + f(x2); y2 = x2 + g(y1), without recording. */
static lh_status forward_step(lh_tape *tape, step *s, lh_tensor **x1, lh_tensor **x2) {
    const lh_scope scope = lh_scope_open(tape);
    s->f_position = lh_tape_random_position(tape);
    lh_tensor *f = visit(tape, s->block.f, s->block.f_context, *x2);
    lh_tensor *y1 = f != NULL ? combine(tape, *x1, f, 1) : NULL;
    s->g_position = lh_tape_random_position(tape);
    lh_tensor *g = y1 != NULL ? visit(tape, s->block.g, s->block.g_context, y1) : NULL;
    lh_tensor *y2 = g != NULL ? combine(tape, *x2, g, 1) : NULL;
    lh_tensor *keep[] = {y1, y2};
    lh_scope_close_many(tape, scope, keep, 2);
    if (y2 == NULL) return lh_failed();
    *x1 = y1;
    *x2 = y2;
    return LH_OK;
}

/* Runs half(x) again with recording, gives back its value and adds its gradient at `cotangent` to
 * *dx. */
static lh_tensor *differentiate(lh_tape *tape, lh_half half, void *context, uint32_t position,
                                lh_tensor *x, lh_tensor *cotangent, lh_tensor **dx) {
    lh_node *const stop = lh_tape_last(tape);
    const int mark = lh_tape_visits(tape);
    lh_tensor *leaf = lh_tape_leaf(tape, x, true);
    if (leaf == NULL) return NULL;
    lh_tape_set_random_position(tape, position);
    lh_tape_set_recording(tape, true);
    lh_tensor *y = apply(tape, half, context, leaf);
    lh_tape_set_recording(tape, false);
    if (y == NULL) return NULL;
    if (y->gradient != NULL) {
        if (lh_gradient_give(y->gradient, cotangent) != LH_OK) return NULL;
        if (lh_tape_run_back(tape, stop) != LH_OK) return NULL;
    }
    if (lh_tape_end_visits(tape, mark) != LH_OK) return NULL;
    lh_tensor *flowed = leaf->gradient->present ? leaf->gradient->value : NULL;
    if (flowed != NULL) *dx = combine(tape, *dx, flowed, 1);
    return *dx != NULL ? y : NULL;
}

/* Recovers x1, x2 from y1, y2 and turns dy1, dy2 into dx1, dx2. */
static lh_status backward_step(lh_tape *tape, const step *s, lh_tensor *y[2], lh_tensor *d[2]) {
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *g =
        differentiate(tape, s->block.g, s->block.g_context, s->g_position, y[0], d[1], &d[0]);
    lh_tensor *x2 = g != NULL ? combine(tape, y[1], g, -1) : NULL;
    lh_tensor *f = x2 != NULL ? differentiate(tape, s->block.f, s->block.f_context, s->f_position,
                                              x2, d[0], &d[1])
                              : NULL;
    lh_tensor *x1 = f != NULL ? combine(tape, y[0], f, -1) : NULL;
    lh_tensor *keep[] = {x1, x2, d[0], d[1]};
    lh_scope_close_many(tape, scope, keep, 4);
    if (x1 == NULL) return lh_failed();
    y[0] = x1;
    y[1] = x2;
    return LH_OK;
}

/* The gradient that reached an output as a tensor of its shape, zeros when none did. */
static lh_tensor *cotangent_of(lh_tape *tape, const lh_gradient *gradient, const lh_tensor *like) {
    lh_tensor *copy = lh_tape_new_like(tape, like);
    if (copy == NULL) return NULL;
    const int64_t count = lh_tensor_count(like);
    if (!lh_gradient_is_present(gradient)) {
        const lh_fill_args args = {.count = count, .x = lh_tensor_real(copy)};
        return LH_RUN(lh_tape_pool(tape), fill, &args) == LH_OK ? copy : NULL;
    }
    const lh_linear_combination_args args = {.count = count,
                                             .alpha = 1,
                                             .a = lh_gradient_read(gradient),
                                             .y = lh_tensor_activation(copy)};
    return LH_RUN(lh_tape_pool(tape), linear_combination, &args) == LH_OK ? copy : NULL;
}

static lh_status reversible_backward(lh_tape *tape, lh_node *node) {
    const chain *c = node->args;
    const uint32_t position = lh_tape_random_position(tape);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *y[2] = {node->saved[0], node->saved[1]};
    lh_tensor *d[2] = {cotangent_of(tape, node->output[0], y[0]),
                       cotangent_of(tape, node->output[1], y[1])};
    if (d[0] == NULL || d[1] == NULL) return lh_failed();
    for (int i = c->count - 1; i >= 0; --i) {
        LH_TRY(backward_step(tape, &c->steps[i], y, d));
        lh_tensor *keep[] = {y[0], y[1], d[0], d[1]};
        lh_scope_close_many(tape, scope, keep, 4);
    }
    lh_tape_set_random_position(tape, position);
    for (int i = 0; i < 2; ++i) {
        if (node->input[i] != NULL) LH_TRY(lh_gradient_give(node->input[i], d[i]));
    }
    return LH_OK;
}

lh_status lh_reversible(lh_tape *tape, const lh_reversible_block *blocks, int count, lh_tensor *x1,
                        lh_tensor *x2, lh_tensor **y1, lh_tensor **y2) {
    x1 = lh_convert(tape, x1, LH_REAL);
    x2 = lh_convert(tape, x2, LH_REAL);
    if (x1 == NULL || x2 == NULL) return lh_failed();
    if (!lh_tensor_same_shape(x1, x2)) {
        return lh_fail(LH_ESHAPE, "reversible: x1 %s, x2 %s", lh_shape_text(x1), lh_shape_text(x2));
    }
    chain c = {.count = count, .steps = lh_tape_scratch(tape, (size_t)count * sizeof(step) + 1)};
    if (c.steps == NULL) return LH_EMEMORY;
    lh_tensor *const inputs[] = {x1, x2};
    const lh_scope scope = lh_scope_open(tape);
    const lh_region_mark mark = lh_tape_enter_region(tape);
    lh_tensor *y[2] = {lh_tape_leaf(tape, x1, false), lh_tape_leaf(tape, x2, false)};
    lh_status status = y[0] != NULL && y[1] != NULL ? LH_OK : LH_EMEMORY;
    for (int i = 0; i < count && status == LH_OK; ++i) {
        c.steps[i].block = blocks[i];
        status = forward_step(tape, &c.steps[i], &y[0], &y[1]);
        lh_scope_close_many(tape, scope, y, 2);
    }
    lh_hold *holds = lh_tape_leave_region(tape, mark);
    LH_TRY(status);
    *y1 = y[0];
    *y2 = y[1];
    const lh_record entry = {.op = "reversible",
                             .backward = reversible_backward,
                             .input = inputs,
                             .input_count = 2,
                             .output = y,
                             .output_count = 2,
                             .saved = y,
                             .saved_count = 2,
                             .args = &c,
                             .args_bytes = sizeof c,
                             .holds = holds};
    return lh_tape_record(tape, &entry);
}
