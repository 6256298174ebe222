/* Attention within hash buckets (Kitaev et al. 2020, section 2): hash, sort, attend by chunks. */
#include <math.h>

#include "harness/ops/op.h"
#include "kernels/cost/cost.h"

enum { QUERY, KEYS, VALUES, INPUTS, OUT = INPUTS, LSE, ORDER, SLOT, FIRST, SAVED };

enum { MOST_PLAIN_BUCKETS = 128 };

bool lh_lsh_factors_sound(const lh_lsh *lsh) {
    return lsh->factors == 0 || lh_lsh_factors_fit(lsh->factors, lsh->factor);
}

/* Two buckets a chunk, as in the published configurations; many are split into two factors, the
 * first of them a power of two (the released code's rule). */
lh_lsh lh_lsh_settle(const lh_lsh *lsh, int64_t length) {
    lh_lsh settled = *lsh;
    if (settled.factors > 0) return settled;
    const int64_t buckets = 2 * lh_max(1, length / settled.chunk);
    settled.factors = 1;
    settled.factor[0] = buckets;
    if (buckets <= MOST_PLAIN_BUCKETS) return settled;
    settled.factors = 2;
    settled.factor[0] = (int64_t)1 << (int)ceil(log2(sqrt((double)buckets)));
    settled.factor[1] = buckets / (2 * settled.factor[0]) * 2;
    return settled;
}

double lh_lsh_flops(const lh_lsh *lsh, int64_t length, int64_t head_width) {
    const lh_lsh settled = lh_lsh_settle(lsh, length);
    const int64_t columns = lh_lsh_columns(settled.factors, settled.factor);
    const double hash = 2.0 * (double)(lsh->rounds * length * head_width) * (double)columns;
    return hash + lh_lsh_products(lsh->rounds, length, lsh->chunk, head_width);
}

static bool fits(const lh_lsh *lsh, const lh_tensor *q, const lh_tensor *k, const lh_tensor *v) {
    return lh_lsh_factors_fit(lsh->factors, lsh->factor) && lsh->rounds >= 1 && lsh->chunk >= 1 &&
           q->rank == 4 && lh_tensor_same_shape(q, k) && lh_tensor_same_shape(q, v);
}

/* i32 [batch][heads][rounds][length] */
static lh_tensor *tokens_of_rounds(lh_tape *tape, const lh_lsh *lsh, const lh_tensor *q) {
    const int64_t shape[] = {q->shape[0], q->shape[2], lsh->rounds, q->shape[1]};
    return lh_tape_new(tape, LH_I32, 4, shape);
}

/* New rotations for every batch row, head and round; no gradient flows through a hash. */
static lh_tensor *hash(lh_tape *tape, const lh_lsh *lsh, lh_tensor *q) {
    lh_pool *pool = lh_tape_pool(tape);
    const int64_t rotations[] = {q->shape[0], q->shape[2], q->shape[3], lsh->rounds,
                                 lh_lsh_columns(lsh->factors, lsh->factor)};
    lh_tensor *key = lh_tape_random_key(tape), *bucket = tokens_of_rounds(tape, lsh, q);
    lh_tensor *rotation = lh_tape_new(tape, LH_REAL, 5, rotations);
    if (key == NULL || bucket == NULL || rotation == NULL) return NULL;
    const int64_t count = lh_tensor_count(rotation);
    const lh_normal_args normal = {.count = count,
                                   .first = lh_tape_parts_before(tape, count),
                                   .key = lh_tensor_random_key(key),
                                   .x = lh_tensor_real(rotation)};
    if (LH_RUN(pool, normal, &normal) != LH_OK) return NULL;
    lh_lsh_hash_args args = {.batch = q->shape[0],
                             .heads = q->shape[2],
                             .length = q->shape[1],
                             .head_width = q->shape[3],
                             .rounds = lsh->rounds,
                             .factors = lsh->factors,
                             .x = lh_heads_of(q),
                             .rotation = lh_tensor_real(rotation),
                             .bucket = lh_tensor_integer(bucket)};
    for (int64_t f = 0; f < lsh->factors; ++f)
        args.factor[f] = lsh->factor[f];
    return LH_RUN_W(pool, lsh_hash, &args) == LH_OK ? bucket : NULL;
}

/* Buckets that the first run of a region chose stand when it is run again: its inputs may then
 * differ in their last bits. */
static lh_tensor *buckets_for(lh_tape *tape, const lh_lsh *lsh, lh_tensor *q) {
    const uint32_t position = lh_tape_random_position(tape);
    lh_tensor *bucket = lh_tape_recall(tape, position);
    if (bucket != NULL) {
        lh_tape_set_random_position(tape, position + 1);
        return bucket;
    }
    const lh_scope scope = lh_scope_open(tape);
    bucket = lh_scope_close(tape, scope, hash(tape, lsh, q));
    if (bucket == NULL || lh_tape_remember(tape, position, bucket) != LH_OK) return NULL;
    return bucket;
}

static lh_status sort(lh_tape *tape, const lh_lsh *lsh, const lh_tensor *bucket, lh_tensor **t) {
    for (int i = ORDER; i <= FIRST; ++i) {
        t[i] = lh_tape_new_like(tape, bucket);
        if (t[i] == NULL) return LH_EMEMORY;
    }
    const int64_t length = bucket->shape[3];
    const lh_lsh_sort_args args = {.rows = bucket->shape[0] * bucket->shape[1] * bucket->shape[2],
                                   .length = length,
                                   .buckets = lh_lsh_buckets(lsh->factors, lsh->factor),
                                   .chunk = lsh->chunk,
                                   .bucket = lh_tensor_integer(bucket),
                                   .order = lh_tensor_integer(t[ORDER]),
                                   .slot = lh_tensor_integer(t[SLOT]),
                                   .first = lh_tensor_integer(t[FIRST])};
    return LH_RUN_W(lh_tape_pool(tape), lsh_sort, &args);
}

/* Where the gradient of an input goes: rounds add to it, so that of one in bf16 is summed in reals,
 * `wide`, and rounded once. */
static lh_status open_gradient(lh_tape *tape, lh_gradient *gradient, const lh_tensor *x,
                               lh_heads *to, lh_write *write, lh_tensor **wide) {
    if (x->dtype == LH_REAL) return lh_gradient_write_heads(gradient, x, to, write);
    *wide = lh_tape_new(tape, LH_REAL, x->rank, x->shape);
    if (*wide == NULL) return lh_failed();
    *to = lh_heads_at(x, lh_tensor_activation(*wide));
    *write = LH_SET;
    return LH_OK;
}

/* What both kernels are told. */
static lh_lsh_attention_spec spec_of(const lh_lsh *lsh, lh_tensor *const *t) {
    const lh_tensor *q = t[QUERY];
    return (lh_lsh_attention_spec){.batch = q->shape[0],
                                   .heads = q->shape[2],
                                   .length = q->shape[1],
                                   .head_width = q->shape[3],
                                   .rounds = lsh->rounds,
                                   .chunk = lsh->chunk,
                                   .any_bucket = lsh->any_bucket,
                                   .precision = lh_pool_precision(q->pool),
                                   .order = lh_tensor_integer(t[ORDER]),
                                   .slot = lh_tensor_integer(t[SLOT]),
                                   .first = lh_tensor_integer(t[FIRST])};
}

static lh_status lsh_backward(lh_tape *tape, lh_node *node) {
    lh_tensor *const *t = node->saved;
    const lh_tensor *out = t[OUT];
    lh_lsh_attention_backward_args args = {.spec = spec_of(node->args, t),
                                           .q = lh_heads_of(t[QUERY]),
                                           .k = lh_heads_of(t[KEYS]),
                                           .v = lh_heads_of(t[VALUES]),
                                           .out = lh_heads_of(out),
                                           .dout =
                                               lh_heads_at(out, lh_gradient_read(node->output[0])),
                                           .lse = lh_tensor_real(t[LSE])};
    lh_heads *const gradient[] = {&args.dq, &args.dk, &args.dv};
    lh_write *const write[] = {&args.dq_write, &args.dk_write, &args.dv_write};
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *wide[INPUTS] = {NULL};
    LH_TRY(lh_gradient_settle_shared(node->input, INPUTS));
    for (int i = 0; i < INPUTS; ++i) {
        if (node->input[i] == NULL) continue;
        LH_TRY(open_gradient(tape, node->input[i], t[i], gradient[i], write[i], &wide[i]));
    }
    LH_TRY(LH_RUN_W(lh_tape_pool(tape), lsh_attention_backward, &args));
    for (int i = 0; i < INPUTS; ++i)
        if (wide[i] != NULL) LH_TRY(lh_gradient_give(node->input[i], wide[i]));
    lh_scope_close_many(tape, scope, NULL, 0);
    return LH_OK;
}

/* Attention over sorted tokens: t holds the inputs, the order and the outputs' tensors. */
static lh_tensor *attend(lh_tape *tape, const lh_lsh *lsh, lh_tensor **t) {
    const lh_lsh_attention_spec spec = spec_of(lsh, t);
    const lh_lsh_attention_forward_args args = {.spec = spec,
                                                .q = lh_heads_of(t[QUERY]),
                                                .k = lh_heads_of(t[KEYS]),
                                                .v = lh_heads_of(t[VALUES]),
                                                .out = lh_heads_of(t[OUT]),
                                                .lse = lh_tensor_real(t[LSE])};
    lh_tape_count_flops(tape, (double)(spec.batch * spec.heads) *
                                  lh_lsh_flops(lsh, spec.length, spec.head_width));
    const lh_record record = {.op = "attend_lsh",
                              .backward = lsh_backward,
                              .input = t,
                              .input_count = INPUTS,
                              .output = &t[OUT],
                              .output_count = 1,
                              .saved = t,
                              .saved_count = SAVED,
                              .args = lsh,
                              .args_bytes = sizeof *lsh};
    return lh_op_done(tape, LH_RUN_W(lh_tape_pool(tape), lsh_attention_forward, &args), t[OUT],
                      &record);
}

lh_tensor *lh_attend_lsh(lh_tape *tape, const lh_lsh *lsh, lh_tensor *q, lh_tensor *k,
                         lh_tensor *v) {
    if (q == NULL || k == NULL || v == NULL) return NULL;
    const lh_lsh settled = lh_lsh_settle(lsh, q->rank > 1 ? q->shape[1] : 0);
    if (!fits(&settled, q, k, v)) {
        return LH_OP_FAIL("attend_lsh: queries %s, keys %s, %lld rounds, chunks of %lld, even "
                          "factors of the number of buckets",
                          lh_shape_text(q), lh_shape_text(k), (long long)lsh->rounds,
                          (long long)lsh->chunk);
    }
    if (!lh_heads_suit_device(tape, "attend_lsh", q)) return NULL;
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *t[SAVED] = {[QUERY] = lh_contiguous(tape, q),
                           [KEYS] = lh_convert(tape, k, q->dtype),
                           [VALUES] = lh_convert(tape, v, q->dtype)};
    const int64_t lse_shape[] = {q->shape[0], q->shape[2], q->shape[1]};
    lh_tensor *bucket = t[QUERY] != NULL ? buckets_for(tape, &settled, t[QUERY]) : NULL;
    if (bucket == NULL || t[KEYS] == NULL || t[VALUES] == NULL) return NULL;
    if (sort(tape, &settled, bucket, t) != LH_OK) return NULL;
    t[OUT] = lh_tape_new(tape, LH_REAL, q->rank, q->shape);
    t[LSE] = lh_tape_new(tape, LH_REAL, 3, lse_shape);
    if (t[OUT] == NULL || t[LSE] == NULL) return NULL;
    return lh_scope_close(tape, scope, attend(tape, &settled, t));
}
