/* The third-party block-recurrent layer (after Hutchins et al. 2022, sections 3.2 and 3.4; of Huang
 * et al. 2023, section 4.3): parameters, rotary attention, gates, the walk over the blocks of a
 * segment, and what that costs. */
#include "models/dai/recurrent_block.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/layers/common.h"

static const double epsilon = 1e-8;

/* Channels of a head that are turned by their position. */
enum { ROTARY = 32, NAME = 96 };

/* ---- parameters ---- */

static lh_dense declare_dense(lh_declare *declaration, lh_init init, int64_t in, int64_t out,
                              const char *prefix, const char *name) {
    const int64_t shape[] = {in, out};
    lh_dense dense;
    dense.weight = lh_declare_param(declaration, init, 2, shape, "%s.%s.weight", prefix, name);
    dense.bias =
        lh_declare_param(declaration, lh_init_zeros(), 1, &out, "%s.%s.bias", prefix, name);
    return dense;
}

static lh_block_attention declare_attention(const lh_recurrent_block_config *config,
                                            int64_t head_width, lh_init init,
                                            lh_declare *declaration, const char *prefix,
                                            const char *name) {
    const int64_t inner = config->heads * head_width, query[] = {config->width, inner},
                  key_value[] = {config->width, 2 * inner};
    char path[NAME];
    (void)snprintf(path, sizeof path, "%s.%s", prefix, name);
    lh_block_attention made = {.heads = config->heads, .head_width = head_width};
    made.gain =
        lh_declare_param(declaration, lh_init_ones(), 1, &config->width, "%s.norm.gain", path);
    made.query = lh_declare_param(declaration, init, 2, query, "%s.query", path);
    made.key_value = lh_declare_param(declaration, init, 2, key_value, "%s.key_value", path);
    made.out = declare_dense(declaration, init, inner, config->width, path, "out");
    return made;
}

static lh_update_gate declare_gate(int64_t width, lh_init init, lh_declare *declaration,
                                   const char *prefix, const char *name) {
    char path[NAME];
    (void)snprintf(path, sizeof path, "%s.%s", prefix, name);
    return (lh_update_gate){
        .update = declare_dense(declaration, init, width, width, path, "update"),
        .input = declare_dense(declaration, init, width, width, path, "input"),
        .forget = declare_dense(declaration, init, width, width, path, "forget")};
}

void lh_recurrent_block_declare(lh_recurrent_block *block, const lh_recurrent_block_config *config,
                                lh_init init, lh_declare *declaration, const char *prefix) {
    const int64_t width = config->width, projection[] = {2 * width, width},
                  states[] = {config->states, width};
    block->config = *config;
    block->token_self =
        declare_attention(config, config->head_width, init, declaration, prefix, "token_self");
    block->token_cross =
        declare_attention(config, config->head_width, init, declaration, prefix, "token_cross");
    block->state_self = declare_attention(config, config->state_head_width, init, declaration,
                                          prefix, "state_self");
    block->state_cross = declare_attention(config, config->state_head_width, init, declaration,
                                           prefix, "state_cross");
    block->token_projection =
        lh_declare_param(declaration, init, 2, projection, "%s.token_projection", prefix);
    block->state_projection =
        lh_declare_param(declaration, init, 2, projection, "%s.state_projection", prefix);
    block->token_in = declare_dense(declaration, init, width, config->hidden, prefix, "token_in");
    block->token_out = declare_dense(declaration, init, config->hidden, width, prefix, "token_out");
    block->state_in = declare_dense(declaration, init, width, config->hidden, prefix, "state_in");
    block->state_out = declare_dense(declaration, init, config->hidden, width, prefix, "state_out");
    block->attention_gate = declare_gate(width, init, declaration, prefix, "attention_gate");
    block->feed_forward_gate = declare_gate(width, init, declaration, prefix, "feed_forward_gate");
    block->initial =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, states, "%s.states", prefix);
    block->carried =
        lh_declare_state(declaration, LH_STATE_REPLACE, 2, states, "%s.states.carried", prefix);
}

/* ---- forward ---- */

/* Cosines and sines of position * 10000^(-i / half) for channel i of each head, [length * heads *
 * half], the same for all heads. */
typedef struct rotation {
    int64_t half;
    lh_tensor *cosine, *sine;
} rotation;

static lh_tensor *wave(lh_tape *tape, int64_t length, int64_t heads, int64_t half,
                       double (*function)(double)) {
    const int64_t count = length * heads * half;
    real *values = lh_allocate((size_t)count * sizeof *values);
    if (values == NULL) return NULL;
    for (int64_t i = 0; i < count; ++i) {
        const double rate = pow(10000.0, -(double)(i % half) / (double)half);
        values[i] = (real)function((double)(i / half / heads) * rate);
    }
    lh_tensor *y = lh_reals(tape, 1, &count, values);
    free(values);
    return y;
}

static rotation rotation_of(lh_tape *tape, const lh_block_attention *attention, int64_t length) {
    const int64_t turned = attention->head_width < ROTARY ? attention->head_width : ROTARY;
    const int64_t half = turned / 2;
    return (rotation){.half = half,
                      .cosine = wave(tape, length, attention->heads, half, cos),
                      .sine = wave(tape, length, attention->heads, half, sin)};
}

/* x [batch][length * heads * half] times a wave. */
static lh_tensor *by_wave(lh_tape *tape, lh_tensor *x, lh_tensor *by) {
    x = lh_contiguous(tape, x);
    if (x == NULL || by == NULL) return NULL;
    const int64_t flat[] = {x->shape[0], by->shape[0]};
    lh_tensor *y = lh_multiply_row(tape, lh_reshape(tape, x, 2, flat), by);
    return y != NULL ? lh_reshape(tape, y, 4, x->shape) : NULL;
}

/* Turns the pairs (i, half + i) of the first channels of every head. */
static lh_tensor *rotate(lh_tape *tape, const rotation *r, lh_tensor *x) {
    if (x == NULL) return NULL;
    lh_tensor *a = lh_slice(tape, x, 3, 0, r->half);
    lh_tensor *b = lh_slice(tape, x, 3, r->half, r->half);
    lh_tensor *const parts[] = {
        lh_subtract(tape, by_wave(tape, a, r->cosine), by_wave(tape, b, r->sine)),
        lh_add(tape, by_wave(tape, b, r->cosine), by_wave(tape, a, r->sine)),
        lh_slice(tape, x, 3, 2 * r->half, x->shape[3] - 2 * r->half)};
    return lh_concat(tape, 3, parts, x->shape[3] > 2 * r->half ? 3 : 2);
}

static lh_tensor *project(const lh_block_attention *attention, const lh_pass *pass, lh_tensor *x,
                          int weight) {
    return lh_project_heads(lh_pass_tape(pass), x, lh_pass_param(pass, weight),
                            attention->head_width);
}

/* Attention of x to `context`, or to itself (context NULL) with rotary positions. */
static lh_tensor *attend(const lh_block_attention *a, const lh_pass *pass, lh_tensor *x,
                         lh_tensor *context, bool causal) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *normed = lh_rms_norm(tape, x, lh_pass_param(pass, a->gain), epsilon);
    lh_tensor *q = project(a, pass, normed, a->query);
    lh_tensor *joined = project(a, pass, context != NULL ? context : normed, a->key_value);
    if (q == NULL || joined == NULL) return NULL;
    lh_tensor *k = lh_slice(tape, joined, 2, 0, a->heads);
    if (context == NULL) {
        const rotation r = rotation_of(tape, a, x->shape[1]);
        q = rotate(tape, &r, q);
        k = rotate(tape, &r, k);
    }
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)a->head_width);
    if (causal) attention.min_distance = 0;
    attention.keys[0] = (lh_keys){.k = k, .v = lh_slice(tape, joined, 2, a->heads, a->heads)};
    attention.keys[0].everywhere = context != NULL;
    attention.key_count = 1;
    lh_tensor *y = lh_attend(tape, &attention, q);
    return lh_dense_apply(a->out, pass, lh_join_heads(tape, y), LH_UNARY_IDENTITY);
}

/* [cross; self] W. */
static lh_tensor *join(const lh_pass *pass, lh_tensor *cross, lh_tensor *self, int projection) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *const parts[] = {cross, self};
    return lh_linear(tape, lh_concat(tape, 2, parts, 2), lh_pass_param(pass, projection), NULL,
                     LH_UNARY_IDENTITY);
}

static lh_tensor *feed_forward(const lh_pass *pass, lh_dense in, lh_dense out, lh_tensor *x) {
    lh_tensor *hidden = lh_dense_apply(in, pass, x, LH_UNARY_GELU_EXACT);
    return lh_dense_apply(out, pass, hidden, LH_UNARY_IDENTITY);
}

/* The gate's offsets are those of lh_lstm_gate. */
static lh_tensor *update(const lh_update_gate *gate, const lh_pass *pass, lh_tensor *x,
                         lh_tensor *state) {
    lh_tensor *z = lh_dense_apply(gate->update, pass, x, LH_UNARY_TANH);
    lh_tensor *i = lh_dense_apply(gate->input, pass, x, LH_UNARY_IDENTITY);
    lh_tensor *f = lh_dense_apply(gate->forget, pass, x, LH_UNARY_IDENTITY);
    return lh_lstm_gate(lh_pass_tape(pass), state, z, f, i, 1.0, -1.0);
}

static lh_tensor *next_states(const lh_recurrent_block *block, const lh_pass *pass,
                              lh_tensor *states, lh_tensor *x) {
    lh_tensor *self = attend(&block->state_self, pass, states, NULL, false);
    lh_tensor *cross = attend(&block->state_cross, pass, states, x, false);
    lh_tensor *joined = join(pass, cross, self, block->state_projection);
    states = update(&block->attention_gate, pass, joined, states);
    lh_tensor *y = feed_forward(pass, block->state_in, block->state_out, states);
    return update(&block->feed_forward_gate, pass, y, states);
}

/* One block of tokens, which sees the states of before. */
static lh_tensor *read_block(const lh_recurrent_block *block, const lh_pass *pass,
                             lh_tensor *states, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *self = attend(&block->token_self, pass, x, NULL, true);
    lh_tensor *cross = attend(&block->token_cross, pass, x, states, false);
    lh_tensor *h = lh_add(tape, x, join(pass, cross, self, block->token_projection));
    return lh_add(tape, h, feed_forward(pass, block->token_in, block->token_out, h));
}

lh_tensor *lh_recurrent_block_apply(const lh_recurrent_block *block, lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const int64_t length = x->shape[1];
    const int64_t size = block->config.block > 0 ? block->config.block : length;
    const int64_t blocks = length / size;
    lh_tensor **out = lh_tape_scratch(tape, (size_t)blocks * sizeof(lh_tensor *));
    if (out == NULL) return NULL;
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *states =
        lh_select_rows(tape, lh_pass_batch(pass)->starts, lh_pass_param(pass, block->initial),
                       lh_pass_state(pass, block->carried));
    for (int64_t b = 0; b < blocks; ++b) {
        lh_tensor *now = lh_contiguous(tape, lh_slice(tape, x, 1, b * size, size));
        out[b] = read_block(block, pass, states, now);
        states = next_states(block, pass, states, now);
        if (out[b] == NULL || states == NULL) return NULL;
    }
    if (lh_pass_carry(pass, block->carried, states) != LH_OK) return NULL;
    return lh_scope_close(tape, scope, lh_concat(tape, 1, out, (int)blocks));
}

/* ---- accounting ---- */

static double attention_flops(double width, double inner, double queries, double keys,
                              double pairs) {
    return 4.0 * width * inner * (queries + keys) + 4.0 * inner * pairs;
}

double lh_recurrent_block_flops(const lh_recurrent_block_config *config, int64_t length) {
    const int64_t size = config->block > 0 ? config->block : length;
    const double width = (double)config->width, tokens = (double)size;
    const double states = (double)config->states, hidden = (double)config->hidden;
    const double inner = (double)(config->heads * config->head_width);
    const double state_inner = (double)(config->heads * config->state_head_width);
    const double attention =
        attention_flops(width, inner, tokens, tokens, 0.5 * tokens * (tokens + 1)) +
        attention_flops(width, inner, tokens, states, tokens * states) +
        attention_flops(width, state_inner, states, states, states * states) +
        attention_flops(width, state_inner, states, tokens, states * tokens);
    const double joined = 4.0 * width * width * (tokens + states);
    const double feed_forward = 4.0 * width * hidden * (tokens + states);
    const double gates = 12.0 * width * width * states;
    return (double)(length / size) * (attention + joined + feed_forward + gates);
}
