/* The recurrence module of Yoshida et al. 2020 (section 3.1): what a window's hidden states become
 * for the next window. */
#ifndef LH_GPT2_WINDOW_SUMMARY_H
#define LH_GPT2_WINDOW_SUMMARY_H

#include "models/gpt2/gpt2_core.h"

enum { LH_SUMMARY_HIDDEN_LAYERS = 8 };

typedef enum lh_pooling { LH_POOL_MEAN, LH_POOL_MAX, LH_POOL_ATTENTION } lh_pooling;

typedef struct lh_window_summary {
    lh_pooling pooling;
    int64_t embeddings; /* vectors that the next window gets */
    int64_t layers;     /* of the transformer: L of eq. 1 */
    int64_t width, hidden, hidden_layers;
    int layer_weights; /* parameter [L]: alpha */
    int query;         /* parameter [width], with LH_POOL_ATTENTION */
    int weight[LH_SUMMARY_HIDDEN_LAYERS + 1], bias[LH_SUMMARY_HIDDEN_LAYERS + 1];
} lh_window_summary;

/* Declares everything but the first six fields, which are set. */
void lh_window_summary_declare(lh_window_summary *summary, lh_declare *declaration);

/* sum_l w_l h^l with w = softmax(alpha) (eq. 1). layers [L][...] -> [...]. */
lh_tensor *lh_window_summary_mix(const lh_window_summary *summary, const lh_gpt2_run *run,
                                 lh_tensor *layers);

/* Pools one tensor of hidden states [rows][count][width] over its tokens: [rows][width]. */
lh_tensor *lh_window_summary_pool(const lh_window_summary *summary, const lh_gpt2_run *run,
                                  lh_tensor *x);

/* The feed-forward network: z [rows][width] -> h_prev [rows][embeddings][width]. */
lh_tensor *lh_window_summary_project(const lh_window_summary *summary, const lh_gpt2_run *run,
                                     lh_tensor *z);

/* Forward FLOPs for a window of `tokens` tokens, of one row. */
double lh_window_summary_flops(const lh_window_summary *summary, int64_t tokens);

#endif
