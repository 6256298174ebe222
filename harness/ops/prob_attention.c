/* Attention of the queries that matter most (ProbSparse; Zhou et al. 2021). */
#include "harness/ops/op.h"

enum { QUERY, KEY, VALUE, INPUTS, OUT = INPUTS, CHOSEN, LSE, SAVED };

static lh_status prob_backward(lh_tape *tape, lh_node *node) {
    lh_tensor *const *t = node->saved;
    lh_prob_attention_backward_args args = {
        .spec = *(const lh_prob_attention_spec *)node->args,
        .q = lh_heads_of(t[QUERY]),
        .k = lh_heads_of(t[KEY]),
        .v = lh_heads_of(t[VALUE]),
        .out = lh_heads_of(t[OUT]),
        .dout = lh_heads_at(t[OUT], lh_gradient_read(node->output[0])),
        .chosen = lh_tensor_integer(t[CHOSEN]),
        .lse = lh_tensor_real(t[LSE])};
    lh_heads *gradient[INPUTS] = {&args.dq, &args.dk, &args.dv};
    lh_write *write[INPUTS] = {&args.dq_write, &args.dk_write, &args.dv_write};
    LH_TRY(lh_gradient_settle_shared(node->input, INPUTS));
    for (int i = 0; i < INPUTS; ++i)
        LH_TRY(lh_gradient_write_heads(node->input[i], t[i], gradient[i], write[i]));
    return LH_RUN_W(lh_tape_pool(tape), prob_attention_backward, &args);
}

/* Dot products with the sampled keys, scores and mixing of the chosen queries; a causal one sees
 * (length + 1) / 2 keys on average. */
static double flops_of(const lh_prob_attention_spec *spec, int64_t samples) {
    const double length = (double)spec->length, seen = spec->causal ? (length + 1.0) / 2.0 : length;
    const double pairs = length * (double)samples + 2.0 * (double)spec->top * seen;
    return 2.0 * pairs * (double)(spec->batch * spec->heads * spec->head_width);
}

lh_tensor *lh_attend_prob(lh_tape *tape, const lh_prob *prob, lh_tensor *q, lh_tensor *k,
                          lh_tensor *v, lh_tensor **chosen) {
    lh_tensor *t[SAVED] = {lh_convert(tape, q, LH_REAL), lh_convert(tape, k, LH_REAL),
                           lh_convert(tape, v, LH_REAL)};
    if (t[QUERY] == NULL || t[KEY] == NULL || t[VALUE] == NULL) return NULL;
    if (q->rank != 4 || !lh_tensor_same_shape(q, k) || !lh_tensor_same_shape(q, v) ||
        prob->top < 0 || prob->top > q->shape[1] || prob->samples < 1)
        return LH_OP_FAIL("attend_prob: queries %s, keys %s, values %s, the top %lld",
                          lh_shape_text(q), lh_shape_text(k), lh_shape_text(v),
                          (long long)prob->top);
    if (!lh_heads_suit_device(tape, "attend_prob", q)) return NULL;
    lh_tensor *key = lh_tape_random_key(tape);
    const lh_prob_attention_spec spec = {.batch = q->shape[0],
                                         .heads = q->shape[2],
                                         .length = q->shape[1],
                                         .head_width = q->shape[3],
                                         .top = prob->top,
                                         .causal = prob->causal,
                                         .scale = (real)prob->scale};
    const int64_t shape[] = {spec.batch, spec.heads, prob->top};
    t[OUT] = lh_tape_new_like(tape, t[QUERY]);
    t[CHOSEN] = *chosen = lh_tape_new(tape, LH_I32, 3, shape);
    t[LSE] = lh_tape_new(tape, LH_REAL, 3, shape);
    if (key == NULL || t[OUT] == NULL || t[CHOSEN] == NULL || t[LSE] == NULL) return NULL;
    const lh_prob_attention_forward_args args = {.spec = spec,
                                                 .samples = prob->samples,
                                                 .key = lh_tensor_random_key(key),
                                                 .q = lh_heads_of(t[QUERY]),
                                                 .k = lh_heads_of(t[KEY]),
                                                 .v = lh_heads_of(t[VALUE]),
                                                 .out = lh_heads_of(t[OUT]),
                                                 .chosen = lh_tensor_integer(t[CHOSEN]),
                                                 .lse = lh_tensor_real(t[LSE])};
    lh_tape_count_flops(tape, flops_of(&spec, prob->samples));
    const lh_record record = {.op = "attend_prob",
                              .backward = prob_backward,
                              .input = t,
                              .input_count = INPUTS,
                              .output = &t[OUT],
                              .output_count = 1,
                              .saved = t,
                              .saved_count = SAVED,
                              .args = &spec,
                              .args_bytes = sizeof spec};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), prob_attention_forward, &args), t[OUT],
                      &record);
}
