/* Recurrence encodings (Huang et al. 2023): the matrices' weighted sums of values, per head. */
#include <string.h>

#include "harness/ops/op.h"

/* Order of the tensors that a recurrence encoding saves and differentiates. */
enum {
    ATTENDED,
    ETA,
    NU,
    THETA,
    MU,
    FIRST_VALUE, /* of each source */
    INPUTS = FIRST_VALUE + LH_KEY_SOURCES,
    FIRST_FILLED = INPUTS, /* of each source */
    SAVED = FIRST_FILLED + LH_KEY_SOURCES
};

static const real *read_list(const lh_tensor *list, int32_t *count) {
    if (list == NULL) return NULL;
    *count = (int32_t)lh_tensor_count(list);
    return lh_tensor_real(list);
}

/* The kernel's description; `sources` brings counts and positions. */
static lh_rem_spec spec_of(const lh_rem_spec *sources, lh_tensor *const *t) {
    lh_rem_spec spec = *sources;
    spec.eta = read_list(t[ETA], &spec.eta_count);
    spec.nu = read_list(t[NU], &spec.nu_count);
    spec.theta = read_list(t[THETA], &spec.theta_count);
    spec.mu = lh_tensor_real(t[MU]);
    for (int i = 0; i < spec.source_count; ++i) {
        lh_tensor *v = t[FIRST_VALUE + i], *filled = t[FIRST_FILLED + i];
        spec.source[i].v = lh_heads_of(v);
        if (filled != NULL) spec.source[i].filled = lh_tensor_integer(filled);
    }
    return spec;
}

static lh_status encode_backward(lh_tape *tape, lh_node *node) {
    lh_tensor *const *t = node->saved;
    const lh_tensor *attended = t[ATTENDED];
    lh_rem_backward_args args = {
        .spec = spec_of(node->args, t),
        .attention = lh_heads_of(attended),
        .dout = lh_heads_at(attended, lh_gradient_read(node->output[0])),
    };
    LH_TRY(lh_gradient_write_heads(node->input[ATTENDED], attended, &args.dattention,
                                   &args.dattention_write));
    LH_TRY(lh_gradient_write_real(node->input[ETA], &args.deta, &args.deta_write));
    LH_TRY(lh_gradient_write_real(node->input[NU], &args.dnu, &args.dnu_write));
    LH_TRY(lh_gradient_write_real(node->input[THETA], &args.dtheta, &args.dtheta_write));
    LH_TRY(lh_gradient_write_real(node->input[MU], &args.dmu, &args.dmu_write));
    for (int i = 0; i < args.spec.source_count; ++i) {
        lh_key_source *source = &args.spec.source[i];
        LH_TRY(lh_gradient_write_heads(node->input[FIRST_VALUE + i], t[FIRST_VALUE + i],
                                       &source->dv, &source->write));
    }
    return LH_RUN_W(lh_tape_pool(tape), rem_backward, &args);
}

static int64_t count_of(const lh_tensor *list) {
    return list != NULL ? lh_tensor_count(list) : 0;
}

/* Whether every head finds its parameters. */
static bool heads_fit(const lh_recurrence *recurrence, int64_t heads) {
    if (recurrence->encoded < 0 || recurrence->encoded > LH_REM_HEADS ||
        recurrence->encoded > heads || count_of(recurrence->mu) != 1)
        return false;
    for (int i = 0; i < recurrence->encoded; ++i) {
        const lh_rem_head *head = &recurrence->head[i];
        const bool regular = head->kind == LH_REM_REGULAR;
        const lh_tensor *decays = regular ? recurrence->eta : recurrence->nu;
        if (head->decay < 0 || head->decay >= count_of(decays) || head->dilation < 1 ||
            head->cutoff < 0)
            return false;
        if (!regular && head->angle >= count_of(recurrence->theta)) return false;
    }
    return true;
}

/* Takes in the sources that have positions; false after a message. */
static bool collect_values(lh_tape *tape, const lh_keys *keys, int count, const lh_tensor *attended,
                           lh_rem_spec *spec, lh_tensor **t) {
    for (int i = 0; i < count; ++i) {
        if (keys[i].everywhere) continue;
        lh_tensor *v = keys[i].v;
        if (v == NULL || v->rank != 4 || v->shape[0] != attended->shape[0] ||
            v->shape[2] != attended->shape[2] || v->shape[3] != attended->shape[3]) {
            (void)lh_fail(LH_ESHAPE, "recurrence: attention %s, values %s", lh_shape_text(attended),
                          v != NULL ? lh_shape_text(v) : "none");
            return false;
        }
        if (!lh_integers_suit("recurrence", keys[i].filled)) return false;
        const int at = spec->source_count++;
        spec->source[at] = (lh_key_source){.count = v->shape[1], .first = keys[i].first};
        t[FIRST_VALUE + at] = v->dtype == LH_REAL && (v->stride[3] == 1 || v->shape[3] == 1)
                                  ? v
                                  : lh_convert(tape, v, LH_REAL);
        t[FIRST_FILLED + at] = keys[i].filled;
        if (t[FIRST_VALUE + at] == NULL) return false;
    }
    return true;
}

static bool overlap(const lh_rem_spec *spec) {
    for (int a = 0; a < spec->source_count; ++a) {
        for (int b = 0; b < a; ++b) {
            const lh_key_source *x = &spec->source[a], *y = &spec->source[b];
            if (x->first < y->first + y->count && y->first < x->first + x->count) return true;
        }
    }
    return false;
}

lh_tensor *lh_encode_recurrence(lh_tape *tape, const lh_recurrence *recurrence, const lh_keys *keys,
                                int key_count, lh_tensor *attended) {
    lh_tensor *t[SAVED] = {NULL};
    t[ATTENDED] = attended = lh_convert(tape, attended, LH_REAL);
    if (attended == NULL) return NULL;
    if (attended->rank != 4 || key_count > LH_KEY_SOURCES ||
        !heads_fit(recurrence, attended->shape[2])) {
        return LH_OP_FAIL("recurrence: attention %s, %d encoded heads, %d key sources",
                          lh_shape_text(attended), recurrence->encoded, key_count);
    }
    lh_rem_spec spec = {.batch = attended->shape[0],
                        .heads = attended->shape[2],
                        .queries = attended->shape[1],
                        .head_width = attended->shape[3],
                        .both_ways = recurrence->both_ways,
                        .encoded = recurrence->encoded};
    memcpy(spec.head, recurrence->head, sizeof spec.head);
    if (!collect_values(tape, keys, key_count, attended, &spec, t)) return NULL;
    if (overlap(&spec)) return LH_OP_FAIL("recurrence: keys of two sources share a position");
    t[ETA] = lh_convert(tape, recurrence->eta, LH_REAL);
    t[NU] = lh_convert(tape, recurrence->nu, LH_REAL);
    t[THETA] = lh_convert(tape, recurrence->theta, LH_REAL);
    t[MU] = lh_convert(tape, recurrence->mu, LH_REAL);
    if (t[MU] == NULL) return NULL;
    lh_tensor *y = lh_tape_new_like(tape, attended);
    if (y == NULL) return NULL;
    const lh_rem_forward_args args = {
        .spec = spec_of(&spec, t), .attention = lh_heads_of(attended), .out = lh_heads_of(y)};
    const lh_record record = {.op = "recurrence",
                              .backward = encode_backward,
                              .at_once = true,
                              .input = t,
                              .input_count = INPUTS,
                              LH_OUTPUTS(y),
                              .saved = t,
                              .saved_count = SAVED,
                              .args = &spec,
                              .args_bytes = sizeof spec};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), rem_forward, &args), y, &record);
}
