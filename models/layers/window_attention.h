/* The attention half of a sliding-window layer (Hutchins et al. 2022, sections 3.1-3.2):
 * self-attention over the W tokens before each token, with a cache across segments; optionally read
 * access to recurrent states, and a memory of nearest neighbours (Wu et al. 2022). */
#ifndef LH_LAYERS_WINDOW_ATTENTION_H
#define LH_LAYERS_WINDOW_ATTENTION_H

#include "models/layers/recurrent_state.h"

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

void lh_window_attention_declare(lh_window_attention *layer, const lh_block_config *config,
                                 lh_declare *declare, const char *prefix);

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

#endif
