/* Scans: recurrences over time whose state is a matrix. */
#include "harness/ops/op.h"

enum { QUERY, KEY, VALUE, LOG_DECAY, START, INPUTS };

/* [batch][tokens][heads * head_width] as heads; a slice's tokens lie apart. */
static lh_heads heads_in(const lh_tensor *x, lh_act act, int64_t head_width) {
    return (lh_heads){.act = act,
                      .batch_stride = x->stride[0],
                      .token_stride = x->stride[1],
                      .head_stride = head_width};
}

/* x itself where the kernel can read it: reals whose last axis is dense. */
static lh_tensor *readable(lh_tape *tape, lh_tensor *x) {
    if (x == NULL || x->rank != 3) return NULL;
    return x->dtype == LH_REAL && x->stride[2] == 1 ? x : lh_convert(tape, x, LH_REAL);
}

/* v has the batch, length and heads that the others must have. */
static bool fits(lh_tensor *const *t) {
    const lh_tensor *q = t[QUERY], *k = t[KEY], *v = t[VALUE], *decay = t[LOG_DECAY];
    const lh_tensor *start = t[START];
    if (start->rank != 4 || q->shape[2] % start->shape[2] != 0) return false;
    const int64_t heads = start->shape[1], groups = q->shape[2] / start->shape[2];
    return groups > 0 && heads % groups == 0 && lh_tensor_same_shape(q, k) &&
           q->shape[0] == v->shape[0] && q->shape[1] == v->shape[1] &&
           start->shape[0] == v->shape[0] && v->shape[2] == heads * start->shape[3] &&
           (decay == NULL ||
            (lh_row_count(decay) == lh_row_count(v) && lh_last_axis(decay) == heads));
}

static lh_decay_scan_spec spec_of(lh_tensor *const *t) {
    const lh_tensor *q = t[QUERY], *k = t[KEY], *v = t[VALUE], *start = t[START];
    const int64_t keys = start->shape[2], values = start->shape[3];
    return (lh_decay_scan_spec){.batch = v->shape[0],
                                .length = v->shape[1],
                                .heads = start->shape[1],
                                .groups = q->shape[2] / keys,
                                .key_width = keys,
                                .value_width = values,
                                .q = heads_in(q, lh_tensor_activation(q), keys),
                                .k = heads_in(k, lh_tensor_activation(k), keys),
                                .v = heads_in(v, lh_tensor_activation(v), values),
                                .log_decay =
                                    t[LOG_DECAY] != NULL ? lh_tensor_real(t[LOG_DECAY]) : NULL,
                                .start = lh_tensor_real(start)};
}

/* Where the gradient of an operand of heads goes; nowhere when none is wanted. */
static lh_status gradient_heads(const lh_node *node, int input, int64_t head_width, lh_heads *to,
                                lh_write *write) {
    lh_act act = {.data = NULL};
    if (node->input[input] == NULL) return LH_OK;
    LH_TRY(lh_gradient_write(node->input[input], &act, write));
    *to = heads_in(node->saved[input], act, head_width);
    return LH_OK;
}

static lh_status decay_scan_backward(lh_tape *tape, lh_node *node) {
    const lh_decay_scan_spec spec = spec_of(node->saved);
    const int64_t keys = spec.key_width, values = spec.value_width;
    lh_decay_scan_backward_args args = {.spec = spec,
                                        .dy = {.act = lh_gradient_read(node->output[0]),
                                               .batch_stride = spec.length * spec.heads * values,
                                               .token_stride = spec.heads * values,
                                               .head_stride = values},
                                        .dend = lh_gradient_read_real(node->output[1])};
    LH_TRY(gradient_heads(node, QUERY, keys, &args.dq, &args.dq_write));
    LH_TRY(gradient_heads(node, KEY, keys, &args.dk, &args.dk_write));
    LH_TRY(gradient_heads(node, VALUE, values, &args.dv, &args.dv_write));
    if (node->input[LOG_DECAY] != NULL)
        LH_TRY(lh_gradient_write_real(node->input[LOG_DECAY], &args.dlog_decay,
                                      &args.dlog_decay_write));
    if (node->input[START] != NULL)
        LH_TRY(lh_gradient_write_real(node->input[START], &args.dstart, &args.dstart_write));
    return LH_RUN_W(lh_tape_pool(tape), decay_scan_backward, &args);
}

lh_tensor *lh_decay_scan(lh_tape *tape, lh_tensor *q, lh_tensor *k, lh_tensor *v,
                         lh_tensor *log_decay, lh_tensor *start, lh_tensor **end) {
    lh_tensor *t[INPUTS] = {[QUERY] = readable(tape, q),
                            [KEY] = readable(tape, k),
                            [VALUE] = readable(tape, v),
                            [LOG_DECAY] =
                                log_decay != NULL ? lh_convert(tape, log_decay, LH_REAL) : NULL,
                            [START] = start};
    if (t[QUERY] == NULL || t[KEY] == NULL || t[VALUE] == NULL || start == NULL ||
        (log_decay != NULL && t[LOG_DECAY] == NULL))
        return NULL;
    if (!fits(t))
        return LH_OP_FAIL("decay_scan: q %s, k %s, v %s, start %s", lh_shape_text(q),
                          lh_shape_text(k), lh_shape_text(v), lh_shape_text(start));
    const lh_decay_scan_spec spec = spec_of(t);
    lh_tensor *y = lh_tape_new(tape, LH_REAL, 3, v->shape);
    *end = lh_tape_new_like(tape, start);
    if (y == NULL || *end == NULL) return NULL;
    const lh_decay_scan_forward_args args = {
        .spec = spec,
        .y = heads_in(y, lh_tensor_activation(y), spec.value_width),
        .end = lh_tensor_real(*end)};
    /* Of the recurrence, k^T v and q S: the same for every chunk. */
    lh_tape_count_flops(tape, 4.0 * (double)lh_tensor_count(v) * (double)spec.key_width);
    const lh_record record = {.op = "decay_scan",
                              .backward = decay_scan_backward,
                              .input = t,
                              .input_count = INPUTS,
                              .output = LH_TENSORS(y, *end),
                              .output_count = 2,
                              .saved = t,
                              .saved_count = INPUTS};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), decay_scan_forward, &args), y, &record);
}
