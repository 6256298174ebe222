/* The Block-Recurrent Transformer's layers, and their stack: the body of brt and of the models that
 * it is compared with, slide, xl and memorizing, which differ only in the numbers of
 * lh_block_config. Section and equation numbers are those of Hutchins et al. 2022
 * (arXiv:2203.07852).
 *
 * window_attention.c has the vertical direction of a layer, recurrent_state.c the horizontal one,
 * block_stack.c the options, the feed-forward network, and the walk through layers and blocks. */
#ifndef LH_BRT_BLOCK_STACK_H
#define LH_BRT_BLOCK_STACK_H

#include "models/layers/recurrence_encoding.h"

enum { LH_BLOCK_LAYERS = 64 };

/* Section 3.4. */
typedef enum lh_gate_kind { LH_GATE_FIXED, LH_GATE_LSTM } lh_gate_kind;

/* Section 3.6. */
typedef enum lh_gate_layout { LH_LAYOUT_DUAL, LH_LAYOUT_SINGLE, LH_LAYOUT_SKIP } lh_gate_layout;

/* Where tanh is applied to z: as the released code does (single layout only, both gates), or as
 * eqs. 1 and 4 are printed (LSTM gate always, fixed gate never). */
typedef enum lh_gate_tanh { LH_TANH_CODE, LH_TANH_PAPER } lh_gate_tanh;

typedef enum lh_logit_divisor {
    LH_DIVISOR_SQRT_VOCABULARY,
    LH_DIVISOR_SQRT_WIDTH,
    LH_DIVISOR_ONE
} lh_logit_divisor;

typedef struct lh_block_config {
    int64_t vocabulary, layers, width, heads, head_width, hidden, window;
    double dropout;
    bool normalize; /* unit-length queries and keys with a learned scale per head, section 3.3 */
    bool position_bias; /* T5 buckets */
    bool see_self;      /* a token attends to itself; the released code: no */
    lh_logit_divisor divisor;
    /* recurrence */
    bool recurrent[LH_BLOCK_LAYERS]; /* which layers */
    bool any_recurrent, feedback;
    int64_t states;
    lh_gate_kind gate;
    lh_gate_layout layout;
    lh_gate_tanh tanh_rule;
    bool z_bias; /* b^(z) of eqs. 1 and 4; the released code: none */
    /* nearest-neighbour memory */
    int64_t memory_layer; /* 0-based; -1: none */
    int64_t memory, top;
    lh_recurrence_config recurrence_encoding; /* of the layers without recurrent states */
} lh_block_config;

/* layers, width, heads, head_width, hidden, window, dropout, normalize, position_bias, see_self,
 * logit_divisor. */
extern const lh_option lh_block_config_options[];

/* Completes what the options leave open; no recurrent layer, no memory. Fails: LH_EOPTION when
 * heads do not divide width and head_width is not given, or the task has no tokens. */
lh_status lh_block_config_settle(lh_block_config *config, const lh_model_setup *setup);

static inline int64_t lh_block_inner(const lh_block_config *config) {
    return config->heads * config->head_width;
}

/* Truncated normal of variance `variance` / fan_in, which all products begin with. */
lh_init lh_init_fan_in(double variance, int64_t fan_in);

/* The "tiled" dropout of the released code: one mask for all batch rows, repeated every 128
 * positions (halved until it divides the length). Off outside of training. */
lh_tensor *lh_tiled_dropout(const lh_block_config *config, const lh_pass *pass, lh_tensor *x);

/* ---- linear maps into heads, with the query and key normalisation of section 3.3 ---- */

/* x [batch][length][width] -> [batch][length][heads][head_width] by parameter `weight`. */
lh_tensor *lh_project(const lh_block_config *config, const lh_pass *pass, lh_tensor *x, int weight);

/* The same, each head vector of unit length when the config normalises. */
lh_tensor *lh_project_unit(const lh_block_config *config, const lh_pass *pass, lh_tensor *x,
                           int weight);

/* Everything visible, no bias: scaled by parameter `scale` per head when the config normalises,
 * else by 1 / sqrt(head_width). Keys are the caller's to set. */
lh_attention lh_plain_attention(const lh_block_config *config, const lh_pass *pass, int scale);

/* ---- recurrent state: the horizontal direction of the cell (section 3.2) ----
 *
 * A set of state vectors that attends to itself and to the tokens of two blocks, and is carried on
 * through gates, which stand where a layer would have its residual connections (section 3.4). */

typedef struct lh_gate {
    int z, z_bias;                              /* W^(z), b^(z) */
    int bias;                                   /* fixed: b^(g) */
    int forget, forget_bias, input, input_bias; /* LSTM */
} lh_gate;

typedef struct lh_recurrent_state {
    int gain, ids, initial;                  /* norm, state IDs (section 3.3), C0 */
    int key, value, query_self, query_token; /* K_s, V_s, Q_s^h, Q_e^h */
    int scale_self, scale_token;
    int feed_forward_gain, feed_forward_in;
    lh_gate attention_gate, feed_forward_gate;
    int carried; /* state slot */
} lh_recurrent_state;

/* Keys and values of the states, for reading them: [batch][states][heads][head_width]. */
typedef struct lh_state_keys {
    lh_tensor *k, *v;
    lh_tensor *normed; /* norm(c) + ids, what the queries are made from */
} lh_state_keys;

/* Declares its parameters, called `prefix`.norm.gain and so on, and its state slot. */
void lh_recurrent_state_declare(lh_recurrent_state *state, const lh_block_config *config,
                                lh_declare *declaration, const char *prefix);

/* The state that a segment begins with: C0 where a document starts, else the carried one. */
lh_tensor *lh_recurrent_state_begin(const lh_recurrent_state *state, const lh_pass *pass);

/* Of states c [batch][states][width]. Its tensors are NULL on failure. */
lh_state_keys lh_recurrent_state_keys(const lh_recurrent_state *state,
                                      const lh_block_config *config, const lh_pass *pass,
                                      lh_tensor *c);

/* One step: absorbs the tokens whose keys and values stand in `tokens` (all visible to every
 * state). */
lh_tensor *lh_recurrent_state_step(const lh_recurrent_state *state, const lh_block_config *config,
                                   const lh_pass *pass, lh_tensor *c, const lh_state_keys *own,
                                   const lh_keys *tokens, int token_sources);

/* Forward FLOPs of one step, and of making the keys. */
double lh_recurrent_state_flops(const lh_block_config *config);

/* ---- window attention: the vertical direction (sections 3.1 and 3.2) ----
 *
 * Self-attention over the W tokens before each token, with a cache across segments; optionally read
 * access to recurrent states, and a memory of nearest neighbours (Wu et al. 2022). */

typedef struct lh_window_attention {
    int gain, key, value, query, scale, bias, out;
    bool reads_states;
    int query_state, scale_state;
    bool reads_memory;
    int memory_gate;                /* b_h: memory weighs sigmoid(b_h) */
    int memory_keys, memory_values; /* state slots */
    int cache_keys, cache_values;   /* state slots */
    lh_recurrence_encoding recurrence;
} lh_window_attention;

/* Keys and values of the W tokens before a span: [batch][window][heads][head_width]. */
typedef struct lh_window_cache {
    lh_tensor *k, *v;
} lh_window_cache;

/* What a span's projections came to: [batch][length][heads][head_width] each. */
typedef struct lh_window_keys {
    lh_tensor *normed, *q, *k, *v;
} lh_window_keys;

/* Declares its parameters, called `prefix`.norm.gain and so on, and its state slots. */
void lh_window_attention_declare(lh_window_attention *layer, const lh_block_config *config,
                                 lh_declare *declaration, const char *prefix);

/* The cache that a segment begins with. */
lh_window_cache lh_window_attention_begin(const lh_window_attention *layer, const lh_pass *pass);

/* norm, dropout, K, V, Q. x [batch][length][width]. */
lh_window_keys lh_window_attention_keys(const lh_window_attention *layer,
                                        const lh_block_config *config, const lh_pass *pass,
                                        lh_tensor *x);

/* The banded self-attention, mixed with the memory where there is one:
 * [batch][length][heads][head_width]. */
lh_tensor *lh_window_attention_self(const lh_window_attention *layer, const lh_block_config *config,
                                    const lh_pass *pass, const lh_window_keys *keys,
                                    lh_window_cache cache, lh_tensor *bucket_of);

/* Cross-attention of tokens to states; `query` is a slice of lh_window_attention_state_queries. */
lh_tensor *lh_window_attention_state_queries(const lh_window_attention *layer,
                                             const lh_block_config *config, const lh_pass *pass,
                                             const lh_window_keys *keys);
lh_tensor *lh_window_attention_read(const lh_window_attention *layer, const lh_block_config *config,
                                    const lh_pass *pass, lh_tensor *query,
                                    const lh_state_keys *states);

/* x + concat[self; read] W_o; `read` NULL without states. */
lh_tensor *lh_window_attention_output(const lh_window_attention *layer,
                                      const lh_block_config *config, const lh_pass *pass,
                                      lh_tensor *x, lh_tensor *self, lh_tensor *read);

/* The last W keys and values of [cache; span]. */
lh_window_cache lh_window_attention_advance(const lh_block_config *config, const lh_pass *pass,
                                            lh_window_cache cache, const lh_window_keys *keys);

/* Hands the cache (and what the memory takes in) over to the next segment. */
lh_status lh_window_attention_carry(const lh_window_attention *layer, lh_pass *pass,
                                    lh_window_cache cache, const lh_window_keys *keys);

/* Forward FLOPs per token. */
double lh_window_attention_flops(const lh_window_attention *layer, const lh_block_config *config);

/* ---- the stack, with tied embedding and head ---- */

/* x + dropout(relu(norm(x) W1) W2), no biases. */
typedef struct lh_feed_forward {
    int gain, in, out;
} lh_feed_forward;

typedef struct lh_block_layer {
    lh_window_attention attention;
    lh_feed_forward feed_forward;
    lh_recurrent_state state; /* when config.recurrent[layer] */
} lh_block_layer;

typedef struct lh_block_stack {
    lh_block_config config;
    int embedding, gain;
    int32_t *bucket_of; /* owned: T5 bucket of each distance 0..window */
    lh_block_layer layer[LH_BLOCK_LAYERS];
} lh_block_stack;

/* stack->config must be complete. Parameters: embedding.weight, layers.<i>.attention.*,
 * layers.<i>.state.*, layers.<i>.feed_forward.*, norm.gain. */
lh_status lh_block_stack_declare(lh_block_stack *stack, lh_declare *declaration);
/* The entries of a class whose instance is an lh_block_stack: lh_model_class. */
void lh_block_stack_clear(void *self);
lh_status lh_block_stack_forward(const void *self, lh_pass *pass, lh_output *out);

/* The gates of the recurrence encodings: layer_<i>_rsa_gate. */
lh_status lh_block_stack_probe(const void *self, const lh_params *params, const lh_report *report);

/* Forward FLOPs per token, head included; the segment's length does not matter. */
double lh_block_stack_flops(const void *self, int64_t length);

#endif
