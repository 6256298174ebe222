/* Scans: recurrences over time whose state is a matrix. */
#include "harness/ops/op.h"

/* The delta rule has no queries, the decaying scan no beta. */
enum { QUERY, KEY, VALUE, LOG_DECAY, START, BETA, INPUTS, WRITTEN = INPUTS, SAVED };

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

/* A number for each token and head of v; or none. */
static bool fits_tokens(const lh_tensor *x, const lh_tensor *v, int64_t heads) {
    return x == NULL || (lh_row_count(x) == lh_row_count(v) && lh_last_axis(x) == heads);
}

/* v has the batch, length and heads that the others must have. */
static bool fits(lh_tensor *const *t) {
    const lh_tensor *q = t[QUERY], *k = t[KEY], *v = t[VALUE], *start = t[START];
    if (start->rank != 4 || k->shape[2] % start->shape[2] != 0) return false;
    const int64_t heads = start->shape[1], groups = k->shape[2] / start->shape[2];
    return groups > 0 && heads % groups == 0 && (q == NULL || lh_tensor_same_shape(q, k)) &&
           k->shape[0] == v->shape[0] && k->shape[1] == v->shape[1] &&
           start->shape[0] == v->shape[0] && v->shape[2] == heads * start->shape[3] &&
           fits_tokens(t[LOG_DECAY], v, heads) && fits_tokens(t[BETA], v, heads);
}

static const real *reals_of(const lh_tensor *x) {
    return x != NULL ? lh_tensor_real(x) : NULL;
}

static lh_decay_scan_spec spec_of(lh_tensor *const *t) {
    const lh_tensor *q = t[QUERY], *k = t[KEY], *v = t[VALUE], *start = t[START];
    const int64_t keys = start->shape[2], values = start->shape[3];
    lh_decay_scan_spec spec = {.batch = v->shape[0],
                               .length = v->shape[1],
                               .heads = start->shape[1],
                               .groups = k->shape[2] / keys,
                               .key_width = keys,
                               .value_width = values,
                               .k = heads_in(k, lh_tensor_activation(k), keys),
                               .v = heads_in(v, lh_tensor_activation(v), values),
                               .log_decay = reals_of(t[LOG_DECAY]),
                               .start = lh_tensor_real(start)};
    if (q != NULL) spec.q = heads_in(q, lh_tensor_activation(q), keys);
    return spec;
}

/* Of what an op makes, dense [batch][length][heads][value_width]. */
static lh_heads values_in(const lh_decay_scan_spec *spec, lh_act act) {
    return (lh_heads){.act = act,
                      .batch_stride = spec->length * spec->heads * spec->value_width,
                      .token_stride = spec->heads * spec->value_width,
                      .head_stride = spec->value_width};
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
    lh_decay_scan_backward_args args = {.spec = spec,
                                        .dy = values_in(&spec, lh_gradient_read(node->output[0])),
                                        .dend = lh_gradient_read_real(node->output[1])};
    LH_TRY(gradient_heads(node, QUERY, spec.key_width, &args.dq, &args.dq_write));
    LH_TRY(gradient_heads(node, KEY, spec.key_width, &args.dk, &args.dk_write));
    LH_TRY(gradient_heads(node, VALUE, spec.value_width, &args.dv, &args.dv_write));
    LH_TRY(
        lh_gradient_write_real(node->input[LOG_DECAY], &args.dlog_decay, &args.dlog_decay_write));
    LH_TRY(lh_gradient_write_real(node->input[START], &args.dstart, &args.dstart_write));
    return LH_RUN_W(lh_tape_pool(tape), decay_scan_backward, &args);
}

lh_tensor *lh_decay_scan(lh_tape *tape, lh_tensor *q, lh_tensor *k, lh_tensor *v,
                         lh_tensor *log_decay, lh_tensor *start, lh_tensor **end) {
    start = lh_convert(tape, start, LH_REAL);
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
        .spec = spec, .y = values_in(&spec, lh_tensor_activation(y)), .end = lh_tensor_real(*end)};
    /* Of the recurrence, k^T v and q S: the same for every chunk. */
    lh_tape_count_flops(tape, 4.0 * (double)lh_tensor_count(v) * (double)spec.key_width);
    const lh_record record = {.op = "decay_scan",
                              .backward = decay_scan_backward,
                              .at_once = true,
                              .input = t,
                              .input_count = INPUTS,
                              LH_OUTPUTS(y, *end),
                              .saved = t,
                              .saved_count = INPUTS};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), decay_scan_forward, &args), y, &record);
}

/* ---- The delta rule ---- */

static lh_status delta_rule_backward(lh_tape *tape, lh_node *node) {
    lh_tensor *const *saved = node->saved;
    const lh_decay_scan_spec scan = spec_of(saved);
    lh_delta_rule_backward_args args = {.spec = {.scan = scan, .beta = lh_tensor_real(saved[BETA])},
                                        .u = values_in(&scan, lh_tensor_activation(saved[WRITTEN])),
                                        .du = values_in(&scan, lh_gradient_read(node->output[0]))};
    LH_TRY(gradient_heads(node, KEY, scan.key_width, &args.dk, &args.dk_write));
    LH_TRY(gradient_heads(node, VALUE, scan.value_width, &args.dv, &args.dv_write));
    LH_TRY(lh_gradient_write_real(node->input[BETA], &args.dbeta, &args.dbeta_write));
    LH_TRY(
        lh_gradient_write_real(node->input[LOG_DECAY], &args.dlog_decay, &args.dlog_decay_write));
    LH_TRY(lh_gradient_write_real(node->input[START], &args.dstart, &args.dstart_write));
    return LH_RUN_W(lh_tape_pool(tape), delta_rule_backward, &args);
}

lh_tensor *lh_delta_rule(lh_tape *tape, lh_tensor *k, lh_tensor *v, lh_tensor *beta,
                         lh_tensor *log_decay, lh_tensor *start) {
    start = lh_convert(tape, start, LH_REAL);
    lh_tensor *t[SAVED] = {[KEY] = readable(tape, k),
                           [VALUE] = readable(tape, v),
                           [LOG_DECAY] =
                               log_decay != NULL ? lh_convert(tape, log_decay, LH_REAL) : NULL,
                           [START] = start,
                           [BETA] = lh_convert(tape, beta, LH_REAL)};
    if (t[KEY] == NULL || t[VALUE] == NULL || t[BETA] == NULL || start == NULL ||
        (log_decay != NULL && t[LOG_DECAY] == NULL))
        return NULL;
    if (!fits(t))
        return LH_OP_FAIL("delta_rule: k %s, v %s, beta %s, start %s", lh_shape_text(k),
                          lh_shape_text(v), lh_shape_text(beta), lh_shape_text(start));
    const lh_decay_scan_spec scan = spec_of(t);
    lh_tensor *u = lh_tape_new(tape, LH_REAL, 3, v->shape);
    if (u == NULL) return NULL;
    t[WRITTEN] = u;
    const lh_delta_rule_forward_args args = {
        .spec = {.scan = scan, .beta = lh_tensor_real(t[BETA])},
        .u = values_in(&scan, lh_tensor_activation(u))};
    /* Of the recurrence, k S; the scan of u counts what is written. */
    lh_tape_count_flops(tape, 2.0 * (double)lh_tensor_count(v) * (double)scan.key_width);
    const lh_record record = {.op = "delta_rule",
                              .backward = delta_rule_backward,
                              .at_once = true,
                              .input = t,
                              .input_count = INPUTS,
                              LH_OUTPUTS(u),
                              .saved = t,
                              .saved_count = SAVED};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), delta_rule_forward, &args), u, &record);
}
