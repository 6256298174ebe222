/* A block-recurrent layer in a Transformer-XL (Hutchins et al. 2022, as the third-party code that
 * Huang et al. 2023 took has it): tokens and a set of states attend to themselves and to each other
 * in two dimensions. It differs from the paper's cell (models/brt/block_stack.h): keys and
 * values are not shared between the directions, positions are rotary, tokens see their own block
 * only. */
#ifndef LH_DAI_RECURRENT_BLOCK_H
#define LH_DAI_RECURRENT_BLOCK_H

#include "models/layers/dense.h"

/* One pre-norm attention: RMS gain, q and joined k, v without biases, output with one. */
typedef struct lh_block_attention {
    int gain, query, key_value;
    lh_dense out;
    int64_t heads, head_width;
} lh_block_attention;

/* z = tanh, i = sigmoid(. - 1), f = sigmoid(. + 1) of the update: state f + z i. */
typedef struct lh_update_gate {
    lh_dense update, input, forget;
} lh_update_gate;

/* Sizes of the layer. The attentions whose queries are states may have heads of another width. The
 * states step once per `block` tokens, which then see what the blocks before left; 0: the segment
 * is the block. Gradients flow from block to block, not from segment to segment. */
typedef struct lh_recurrent_block_config {
    int64_t width, heads, head_width, state_head_width, hidden, states, block;
} lh_recurrent_block_config;

typedef struct lh_recurrent_block {
    lh_recurrent_block_config config;
    lh_block_attention token_self, state_self, token_cross, state_cross;
    int token_projection, state_projection; /* [2 width][width] */
    lh_dense token_in, token_out, state_in, state_out;
    lh_update_gate attention_gate, feed_forward_gate;
    int initial; /* [states][width] */
    int carried; /* state slot */
} lh_recurrent_block;

/* Declares its parameters, whose names begin with `prefix`, and its state slot. */
void lh_recurrent_block_declare(lh_recurrent_block *block, const lh_recurrent_block_config *config,
                                lh_init init, lh_declare *declaration, const char *prefix);

/* x [batch][length][width] -> the same shape; hands the next states over. */
lh_tensor *lh_recurrent_block_apply(const lh_recurrent_block *block, lh_pass *pass, lh_tensor *x);

/* Forward FLOPs of one segment, per batch row. */
double lh_recurrent_block_flops(const lh_recurrent_block_config *config, int64_t length);

#endif
