/* Attention over up to LH_KEY_SOURCES sources of keys, with bias, positions and mask. */
#include <string.h>

#include "harness/ops/op.h"
#include "kernels/cost/cost.h"

/* Order of the tensors that an attention saves and differentiates. */
enum {
    QUERY,
    HEAD_SCALE,
    BIAS,
    POSITIONS,
    FIRST_KEY, /* k, v of each source */
    INPUTS = FIRST_KEY + 2 * LH_KEY_SOURCES,
    OUT = INPUTS,
    LSE,
    BUCKET_OF,
    RANDOM_KEY,
    FIRST_FILLED, /* of each source */
    SAVED = FIRST_FILLED + LH_KEY_SOURCES
};

/* A view that the kernel can read: [batch][tokens][heads][head_width], the last axis dense. */
static lh_tensor *readable(lh_tape *tape, lh_tensor *x, lh_dtype dtype) {
    if (x == NULL || x->rank != 4) return NULL;
    return x->dtype == dtype && (x->stride[3] == 1 || x->shape[3] == 1)
               ? x
               : lh_convert(tape, x, dtype);
}

static bool keys_fit(const lh_tensor *q, const lh_keys *keys) {
    const lh_tensor *k = keys->k, *v = keys->v;
    return k != NULL && v != NULL && k->rank == 4 && lh_tensor_same_shape(k, v) &&
           k->shape[0] == q->shape[0] && k->shape[2] == q->shape[2] && k->shape[3] == q->shape[3] &&
           (keys->filled == NULL || lh_tensor_count(keys->filled) == q->shape[0]);
}

/* The kernel's description without what only one direction uses. */
static lh_attention_spec spec_of(const lh_tape *tape, const lh_attention *attention,
                                 lh_tensor *const *t) {
    const lh_tensor *q = t[QUERY];
    lh_attention_spec spec = {.batch = q->shape[0],
                              .heads = q->shape[2],
                              .queries = q->shape[1],
                              .head_width = q->shape[3],
                              .scale = (real)attention->scale,
                              .min_distance = attention->min_distance,
                              .max_distance = attention->max_distance,
                              .chunk = attention->chunk,
                              .chunks_back = attention->chunks_back,
                              .bucket_first = attention->bucket_first,
                              .dropout = attention->dropout,
                              .dropout_period = attention->dropout_period,
                              .first_batch = lh_tape_parts_before(tape, q->shape[0]),
                              .precision = lh_pool_precision(q->pool),
                              .source_count = attention->key_count};
    if (t[HEAD_SCALE] != NULL) spec.head_scale = lh_tensor_real(t[HEAD_SCALE]);
    if (t[BIAS] != NULL) {
        spec.bias = lh_tensor_real(t[BIAS]);
        spec.buckets = t[BIAS]->shape[1];
        spec.bucket_of = lh_tensor_integer(t[BUCKET_OF]);
        spec.bucket_span = lh_tensor_count(t[BUCKET_OF]);
    }
    if (t[POSITIONS] != NULL) {
        const lh_tensor *positions = t[POSITIONS];
        spec.positions = lh_tensor_real(positions);
        spec.position_heads = positions->rank == 3 ? positions->shape[0] : 1;
        spec.position_count = positions->shape[positions->rank - 2];
        spec.position_first = attention->position_first;
    }
    if (t[RANDOM_KEY] != NULL) {
        spec.key = lh_tensor_random_key(t[RANDOM_KEY]);
    }
    for (int i = 0; i < attention->key_count; ++i) {
        const lh_keys *keys = &attention->keys[i];
        spec.source[i] = (lh_key_source){.count = t[FIRST_KEY + 2 * i]->shape[1],
                                         .first = keys->first,
                                         .everywhere = keys->everywhere,
                                         .k = lh_heads_of(t[FIRST_KEY + 2 * i]),
                                         .v = lh_heads_of(t[FIRST_KEY + 2 * i + 1])};
        if (t[FIRST_FILLED + i] != NULL)
            spec.source[i].filled = lh_tensor_integer(t[FIRST_FILLED + i]);
    }
    return spec;
}

/* Where dk and dv of source i go. A source whose k needs a gradient and whose v does not (or the
 * reverse) still shares one write mode, so the missing one gets no buffer. */
static lh_status key_gradients(lh_node *node, int i, lh_key_source *source) {
    lh_gradient *dk = node->input[FIRST_KEY + 2 * i], *dv = node->input[FIRST_KEY + 2 * i + 1];
    lh_write k_write = LH_SET, v_write = LH_SET;
    lh_tensor *const *key = &node->saved[FIRST_KEY + 2 * i];
    LH_TRY(lh_gradient_write_heads(dk, key[0], &source->dk, &k_write));
    LH_TRY(lh_gradient_write_heads(dv, key[1], &source->dv, &v_write));
    source->write = dk != NULL ? k_write : v_write;
    return LH_OK;
}

/* dk and dv with different write modes: the one that would set is cleared first, so that both add.
 */
static lh_status equalise_writes(lh_node *node, int i) {
    lh_gradient *pair[] = {node->input[FIRST_KEY + 2 * i], node->input[FIRST_KEY + 2 * i + 1]};
    if (pair[0] == NULL || pair[1] == NULL) return LH_OK;
    const bool present[] = {lh_gradient_is_present(pair[0]), lh_gradient_is_present(pair[1])};
    if (present[0] == present[1] && pair[0]->root == NULL && pair[1]->root == NULL) return LH_OK;
    for (int p = 0; p < 2; ++p) {
        if (pair[p]->root == NULL) LH_TRY(lh_gradient_settle(pair[p]));
    }
    return LH_OK;
}

static lh_status attend_backward(lh_tape *tape, lh_node *node) {
    lh_tensor *const *t = node->saved;
    const lh_tensor *out = t[OUT];
    lh_attention_backward_args args = {.spec = spec_of(tape, node->args, t),
                                       .q = lh_heads_of(t[QUERY]),
                                       .out = lh_heads_of(out),
                                       .dout = lh_heads_at(out, lh_gradient_read(node->output[0])),
                                       .lse = lh_tensor_real(t[LSE])};
    LH_TRY(lh_gradient_settle_shared(node->input, INPUTS));
    LH_TRY(lh_gradient_write_heads(node->input[QUERY], t[QUERY], &args.dq, &args.dq_write));
    LH_TRY(lh_gradient_write_real(node->input[HEAD_SCALE], &args.dhead_scale,
                                  &args.dhead_scale_write));
    LH_TRY(lh_gradient_write_real(node->input[BIAS], &args.dbias, &args.dbias_write));
    LH_TRY(
        lh_gradient_write_real(node->input[POSITIONS], &args.dpositions, &args.dpositions_write));
    for (int i = 0; i < args.spec.source_count; ++i) {
        LH_TRY(equalise_writes(node, i));
        LH_TRY(key_gradients(node, i, &args.spec.source[i]));
    }
    return LH_RUN_W(lh_tape_pool(tape), attention_backward, &args);
}

static bool positions_fit(const lh_tensor *q, const lh_tensor *positions) {
    if (positions == NULL) return true;
    const int rank = positions->rank;
    return (rank == 2 || (rank == 3 && positions->shape[0] == q->shape[2])) &&
           positions->shape[rank - 1] == q->shape[3] && positions->shape[rank - 2] > 0;
}

/* Collects and checks the tensors; false after a message. */
static bool collect(lh_tape *tape, const lh_attention *attention, lh_tensor *q, lh_tensor **t) {
    t[QUERY] = readable(tape, q, q->dtype);
    if (t[QUERY] == NULL || attention->key_count < 1 || attention->key_count > LH_KEY_SOURCES) {
        (void)lh_fail(LH_ESHAPE, "attention: queries %s, %d key sources (1 to %d)",
                      q != NULL ? lh_shape_text(q) : "none", attention->key_count, LH_KEY_SOURCES);
        return false;
    }
    if (!lh_heads_suit_device(tape, "attention", q)) return false;
    for (int i = 0; i < attention->key_count; ++i) {
        const lh_keys *keys = &attention->keys[i];
        if (!keys_fit(q, keys)) {
            (void)lh_fail(LH_ESHAPE, "attention: queries %s, keys %s, values %s", lh_shape_text(q),
                          keys->k != NULL ? lh_shape_text(keys->k) : "none",
                          keys->v != NULL ? lh_shape_text(keys->v) : "none");
            return false;
        }
        if (!lh_integers_suit("attention", keys->filled)) return false;
        t[FIRST_KEY + 2 * i] = readable(tape, keys->k, q->dtype);
        t[FIRST_KEY + 2 * i + 1] = readable(tape, keys->v, q->dtype);
        t[FIRST_FILLED + i] = keys->filled;
        if (t[FIRST_KEY + 2 * i] == NULL || t[FIRST_KEY + 2 * i + 1] == NULL) return false;
    }
    t[HEAD_SCALE] = lh_convert(tape, attention->head_scale, LH_REAL);
    t[BIAS] = lh_convert(tape, attention->bias, LH_REAL);
    t[BUCKET_OF] = attention->bucket_of;
    t[POSITIONS] = lh_convert(tape, attention->positions, LH_REAL);
    if (!positions_fit(q, t[POSITIONS])) {
        (void)lh_fail(LH_ESHAPE, "attention: queries %s, positions %s", lh_shape_text(q),
                      lh_shape_text(t[POSITIONS]));
        return false;
    }
    const bool scale_fits = t[HEAD_SCALE] == NULL || lh_tensor_count(t[HEAD_SCALE]) == q->shape[2];
    const bool bias_fits =
        t[BIAS] == NULL ||
        (t[BIAS]->rank == 2 && t[BIAS]->shape[0] == q->shape[2] && t[BUCKET_OF] != NULL);
    if (!scale_fits || !bias_fits) {
        (void)lh_fail(LH_ESHAPE, "attention: %lld heads, head scale %s, bias %s",
                      (long long)q->shape[2],
                      t[HEAD_SCALE] != NULL ? lh_shape_text(t[HEAD_SCALE]) : "none",
                      t[BIAS] != NULL ? lh_shape_text(t[BIAS]) : "none");
    }
    return scale_fits && bias_fits && lh_integers_suit("attention", t[BUCKET_OF]);
}

lh_tensor *lh_attend(lh_tape *tape, const lh_attention *attention, lh_tensor *q) {
    lh_tensor *t[SAVED] = {NULL};
    if (q == NULL || !collect(tape, attention, q, t)) return NULL;
    if (attention->dropout > 0) {
        t[RANDOM_KEY] = lh_tape_random_key(tape);
        if (t[RANDOM_KEY] == NULL) return NULL;
    }
    const int64_t lse_shape[] = {q->shape[0], q->shape[2], q->shape[1]};
    t[OUT] = lh_tape_new_like(tape, q);
    t[LSE] = lh_tape_new(tape, LH_REAL, 3, lse_shape);
    if (t[OUT] == NULL || t[LSE] == NULL) return NULL;
    const lh_attention_forward_args args = {.spec = spec_of(tape, attention, t),
                                            .q = lh_heads_of(t[QUERY]),
                                            .out = lh_heads_of(t[OUT]),
                                            .lse = lh_tensor_real(t[LSE])};
    lh_tape_count_flops(tape, lh_attention_products(&args.spec));
    const lh_record record = {.op = "attention",
                              .backward = attend_backward,
                              .input = t,
                              .input_count = INPUTS,
                              .output = &t[OUT],
                              .output_count = 1,
                              .saved = t,
                              .saved_count = SAVED,
                              .args = attention,
                              .args_bytes = sizeof *attention};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), attention_forward, &args), t[OUT],
                      &record);
}
