/* The horizontal direction of the recurrent cell (Hutchins et al. 2022, section 3.2): a set of
 * state vectors that attends to itself and to the tokens of two blocks, and is carried on through
 * gates. */
#ifndef LH_LAYERS_RECURRENT_STATE_H
#define LH_LAYERS_RECURRENT_STATE_H

#include "models/layers/gate.h"

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

void lh_recurrent_state_declare(lh_recurrent_state *state, const lh_block_config *config,
                                lh_declare *declare, const char *prefix);

/* The state that a segment begins with: C0 where a document starts, else the carried one. */
lh_tensor *lh_recurrent_state_begin(const lh_recurrent_state *state, const lh_pass *pass);

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

#endif
