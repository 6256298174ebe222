/* Attention to the nearest keys of a memory (Wu et al. 2022, Memorizing Transformers). */
#include "harness/ops/op.h"

enum { QUERY, HEAD_SCALE, KEYS, VALUES, INDEX, WEIGHT, SAVED };

static lh_status knn_backward(lh_tape *tape, lh_node *node) {
    lh_tensor *const *t = node->saved;
    lh_knn_attention_backward_args args = *(const lh_knn_attention_backward_args *)node->args;
    args.head_scale = t[HEAD_SCALE] != NULL ? lh_tensor_real(t[HEAD_SCALE]) : NULL;
    args.q = lh_heads_of(t[QUERY]);
    args.dout = lh_heads_at(t[QUERY], lh_gradient_read(node->output[0]));
    args.k = lh_tensor_real(t[KEYS]);
    args.v = lh_tensor_real(t[VALUES]);
    args.index = lh_tensor_integer(t[INDEX]);
    args.weight = lh_tensor_real(t[WEIGHT]);
    LH_TRY(lh_gradient_write_heads(node->input[QUERY], t[QUERY], &args.dq, &args.dq_write));
    LH_TRY(lh_gradient_write_real(node->input[HEAD_SCALE], &args.dhead_scale,
                                  &args.dhead_scale_write));
    return LH_RUN_W(lh_tape_pool(tape), knn_attention_backward, &args);
}

static bool fits(const lh_tensor *q, const lh_tensor *k, const lh_tensor *v, const lh_tensor *count,
                 const lh_tensor *head_scale) {
    return q->rank == 4 && k->rank == 3 && lh_tensor_same_shape(k, v) &&
           k->shape[0] == q->shape[0] && k->shape[2] == q->shape[2] * q->shape[3] &&
           lh_tensor_count(count) == q->shape[0] &&
           (head_scale == NULL || lh_tensor_count(head_scale) == q->shape[2]);
}

lh_tensor *lh_attend_knn(lh_tape *tape, lh_tensor *q, lh_tensor *k, lh_tensor *v, lh_tensor *count,
                         lh_tensor *head_scale, int64_t top) {
    q = lh_convert(tape, q, LH_REAL);
    k = lh_convert(tape, k, LH_REAL);
    v = lh_convert(tape, v, LH_REAL);
    head_scale = lh_convert(tape, head_scale, LH_REAL);
    if (q == NULL || k == NULL || v == NULL || count == NULL) return NULL;
    if (!fits(q, k, v, count, head_scale)) {
        return LH_OP_FAIL("attend_knn: queries %s, memory %s", lh_shape_text(q), lh_shape_text(k));
    }
    if (!lh_heads_suit_device(tape, "attend_knn", q) || !lh_integers_suit("attend_knn", count))
        return NULL;
    const int64_t chosen[] = {q->shape[0], q->shape[1], q->shape[2], top};
    lh_tensor *t[SAVED] = {[QUERY] = q, [HEAD_SCALE] = head_scale, [KEYS] = k, [VALUES] = v};
    t[INDEX] = lh_tape_new(tape, LH_I32, 4, chosen);
    t[WEIGHT] = lh_tape_new(tape, LH_REAL, 4, chosen);
    lh_tensor *y = lh_tape_new_like(tape, q);
    if (t[INDEX] == NULL || t[WEIGHT] == NULL || y == NULL) return NULL;
    const lh_knn_attention_forward_args args = {
        .batch = q->shape[0],
        .heads = q->shape[2],
        .queries = q->shape[1],
        .head_width = q->shape[3],
        .capacity = k->shape[1],
        .top = top,
        .head_scale = head_scale != NULL ? lh_tensor_real(head_scale) : NULL,
        .q = lh_heads_of(q),
        .k = lh_tensor_real(k),
        .v = lh_tensor_real(v),
        .count = lh_tensor_integer(count),
        .out = lh_heads_of(y),
        .index = lh_tensor_integer(t[INDEX]),
        .weight = lh_tensor_real(t[WEIGHT])};
    const lh_knn_attention_backward_args back = {.batch = args.batch,
                                                 .heads = args.heads,
                                                 .queries = args.queries,
                                                 .head_width = args.head_width,
                                                 .capacity = args.capacity,
                                                 .top = top};
    /* Scores against the whole memory, then a mix of `top` values. */
    lh_tape_count_flops(tape, 2.0 * (double)lh_tensor_count(q) * (double)(args.capacity + top));
    const lh_record record = {.op = "attend_knn",
                              .backward = knn_backward,
                              .at_once = true,
                              LH_INPUTS(q, head_scale),
                              LH_OUTPUTS(y),
                              .saved = t,
                              .saved_count = SAVED,
                              .args = &back,
                              .args_bytes = sizeof back};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), knn_attention_forward, &args), y, &record);
}
