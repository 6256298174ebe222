/* The recurrent states of a layer and their gates: Hutchins et al. 2022, sections 3.2 to 3.6,
 * eqs. 1 to 7. */
#include "models/brt/block_stack.h"

#include <stdio.h>

#include "models/layers/common.h"

static const double epsilon = 1e-6;
static const double initial_deviation = 0.1; /* of C0 */

/* ---- gates ---- */

/* Section 3.5: biases small but not zero, because Adafactor scales updates by the size of the
 * parameter. */
static const double bias_deviation = 0.1;
static const double gate_variance = 0.1;

static void declare_gate(lh_gate *gate, const lh_block_config *config, int64_t fan_in,
                         lh_declare *declaration, const char *prefix) {
    const int64_t matrix[] = {fan_in, config->width}, vector[] = {config->width};
    const lh_init weight = lh_init_fan_in(gate_variance, fan_in);
    const lh_init bias = lh_init_normal(bias_deviation);
    gate->z = lh_declare_param(declaration, lh_init_fan_in(1.0, fan_in), 2, matrix, "%s.z", prefix);
    if (config->z_bias) {
        gate->z_bias = lh_declare_param(declaration, bias, 1, vector, "%s.z_bias", prefix);
    }
    if (config->gate == LH_GATE_FIXED) {
        gate->bias = lh_declare_param(declaration, bias, 1, vector, "%s.bias", prefix);
        return;
    }
    gate->forget = lh_declare_param(declaration, weight, 2, matrix, "%s.forget", prefix);
    gate->forget_bias = lh_declare_param(declaration, bias, 1, vector, "%s.forget_bias", prefix);
    gate->input = lh_declare_param(declaration, weight, 2, matrix, "%s.input", prefix);
    gate->input_bias = lh_declare_param(declaration, bias, 1, vector, "%s.input_bias", prefix);
}

static lh_unary_op activation_of(const lh_block_config *config) {
    const bool code = config->tanh_rule == LH_TANH_CODE && config->layout == LH_LAYOUT_SINGLE;
    const bool paper = config->tanh_rule == LH_TANH_PAPER && config->gate == LH_GATE_LSTM;
    return code || paper ? LH_UNARY_TANH : LH_UNARY_IDENTITY;
}

static lh_tensor *apply_gate(const lh_gate *gate, const lh_block_config *config,
                             const lh_pass *pass, lh_tensor *c, lh_tensor *h) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *z_bias = config->z_bias ? lh_pass_param(pass, gate->z_bias) : NULL;
    lh_tensor *z = lh_linear(tape, h, lh_pass_param(pass, gate->z), z_bias, activation_of(config));
    if (config->gate == LH_GATE_FIXED) {
        return lh_fixed_gate(tape, c, z, lh_pass_param(pass, gate->bias));
    }
    lh_tensor *forget = lh_linear(tape, h, lh_pass_param(pass, gate->forget),
                                  lh_pass_param(pass, gate->forget_bias), LH_UNARY_IDENTITY);
    lh_tensor *input = lh_linear(tape, h, lh_pass_param(pass, gate->input),
                                 lh_pass_param(pass, gate->input_bias), LH_UNARY_IDENTITY);
    return lh_lstm_gate(tape, c, z, forget, input, 1.0, -1.0);
}

/* ---- parameters ---- */

static void declare_layout(lh_recurrent_state *state, const lh_block_config *config,
                           lh_declare *declaration, const char *prefix) {
    char name[64];
    const int64_t attended = 2 * lh_block_inner(config);
    if (config->layout != LH_LAYOUT_SINGLE) {
        (void)snprintf(name, sizeof name, "%s.attention_gate", prefix);
        declare_gate(&state->attention_gate, config, attended, declaration, name);
    }
    if (config->layout == LH_LAYOUT_SKIP) return;
    const int64_t fan_in = config->layout == LH_LAYOUT_DUAL ? config->width : attended;
    const int64_t gain[] = {config->width}, in[] = {fan_in, config->hidden};
    if (config->layout == LH_LAYOUT_DUAL) {
        state->feed_forward_gain = lh_declare_param(declaration, lh_init_ones(), 1, gain,
                                                    "%s.feed_forward.norm.gain", prefix);
    }
    state->feed_forward_in = lh_declare_param(declaration, lh_init_fan_in(1.0, fan_in), 2, in,
                                              "%s.feed_forward.in", prefix);
    (void)snprintf(name, sizeof name, "%s.feed_forward_gate", prefix);
    declare_gate(&state->feed_forward_gate, config, config->hidden, declaration, name);
}

void lh_recurrent_state_declare(lh_recurrent_state *state, const lh_block_config *config,
                                lh_declare *declaration, const char *prefix) {
    const int64_t width = config->width;
    const int64_t vector[] = {width}, states[] = {config->states, width},
                  matrix[] = {width, lh_block_inner(config)}, heads[] = {config->heads};
    const lh_init weight = lh_init_fan_in(1.0, width);
    state->gain = lh_declare_param(declaration, lh_init_ones(), 1, vector, "%s.norm.gain", prefix);
    state->ids = lh_declare_param(declaration, lh_init_normal(1.0), 2, states, "%s.ids", prefix);
    state->initial = lh_declare_param(declaration, lh_init_normal(initial_deviation), 2, states,
                                      "%s.initial", prefix);
    state->key = lh_declare_param(declaration, weight, 2, matrix, "%s.key", prefix);
    state->value = lh_declare_param(declaration, weight, 2, matrix, "%s.value", prefix);
    state->query_self = lh_declare_param(declaration, weight, 2, matrix, "%s.query_self", prefix);
    state->query_token = lh_declare_param(declaration, weight, 2, matrix, "%s.query_token", prefix);
    if (config->normalize) {
        state->scale_self =
            lh_declare_param(declaration, lh_init_ones(), 1, heads, "%s.scale_self", prefix);
        state->scale_token =
            lh_declare_param(declaration, lh_init_ones(), 1, heads, "%s.scale_token", prefix);
    }
    declare_layout(state, config, declaration, prefix);
    state->carried = lh_declare_state(declaration, LH_STATE_REPLACE, 2, states, "%s", prefix);
}

/* ---- forward ---- */

lh_tensor *lh_recurrent_state_begin(const lh_recurrent_state *state, const lh_pass *pass) {
    return lh_select_rows(lh_pass_tape(pass), lh_pass_batch(pass)->starts,
                          lh_pass_param(pass, state->initial), lh_pass_state(pass, state->carried));
}

lh_state_keys lh_recurrent_state_keys(const lh_recurrent_state *state,
                                      const lh_block_config *config, const lh_pass *pass,
                                      lh_tensor *c) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_state_keys keys = {0};
    keys.normed = lh_rms_norm(tape, c, lh_pass_param(pass, state->gain), epsilon);
    keys.normed = lh_add_batch(tape, keys.normed, lh_pass_param(pass, state->ids));
    keys.k = lh_project_unit(config, pass, keys.normed, state->key);
    keys.v = lh_project(config, pass, keys.normed, state->value);
    return keys;
}

/* Self-attention over the states and cross-attention to the tokens, in parallel: [batch][states][2
 * inner]. */
static lh_tensor *attend(const lh_recurrent_state *state, const lh_block_config *config,
                         const lh_pass *pass, const lh_state_keys *own, const lh_keys *tokens,
                         int token_sources) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_attention to_states = lh_plain_attention(config, pass, state->scale_self);
    to_states.keys[0] = (lh_keys){.k = own->k, .v = own->v, .everywhere = true};
    to_states.key_count = 1;
    lh_attention to_tokens = lh_plain_attention(config, pass, state->scale_token);
    for (int i = 0; i < token_sources; ++i)
        to_tokens.keys[i] = tokens[i];
    to_tokens.key_count = token_sources;
    lh_tensor *q_self = lh_project_unit(config, pass, own->normed, state->query_self);
    lh_tensor *q_token = lh_project_unit(config, pass, own->normed, state->query_token);
    lh_tensor *const both[] = {lh_attend(tape, &to_states, q_self),
                               lh_attend(tape, &to_tokens, q_token)};
    return lh_join_heads(tape, lh_concat(tape, 2, both, 2));
}

lh_tensor *lh_recurrent_state_step(const lh_recurrent_state *state, const lh_block_config *config,
                                   const lh_pass *pass, lh_tensor *c, const lh_state_keys *own,
                                   const lh_keys *tokens, int token_sources) {
    lh_tape *tape = lh_pass_tape(pass);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *h = attend(state, config, pass, own, tokens, token_sources);
    if (config->layout != LH_LAYOUT_SINGLE) {
        c = apply_gate(&state->attention_gate, config, pass, c, h);
    }
    if (config->layout == LH_LAYOUT_SKIP) return lh_scope_close(tape, scope, c);
    lh_tensor *in = h;
    if (config->layout == LH_LAYOUT_DUAL) {
        in = lh_rms_norm(tape, c, lh_pass_param(pass, state->feed_forward_gain), epsilon);
    }
    lh_tensor *hidden =
        lh_linear(tape, in, lh_pass_param(pass, state->feed_forward_in), NULL, LH_UNARY_RELU);
    c = apply_gate(&state->feed_forward_gate, config, pass, c, hidden);
    return lh_scope_close(tape, scope, c);
}

/* ---- accounting ---- */

double lh_recurrent_state_flops(const lh_block_config *config) {
    const double states = (double)config->states, width = (double)config->width;
    const double inner = (double)lh_block_inner(config), hidden = (double)config->hidden;
    const double gates = config->gate == LH_GATE_LSTM ? 3.0 : 1.0; /* products per gate */
    double macs = 4.0 * width * inner;                             /* K, V, both queries */
    macs += 2.0 * inner * (states + 2.0 * (double)config->window); /* scores and mixing */
    if (config->layout != LH_LAYOUT_SINGLE) macs += gates * 2.0 * inner * width;
    if (config->layout == LH_LAYOUT_DUAL) macs += width * hidden;
    if (config->layout == LH_LAYOUT_SINGLE) macs += 2.0 * inner * hidden;
    if (config->layout != LH_LAYOUT_SKIP) macs += gates * hidden * width;
    return 2.0 * states * macs;
}
