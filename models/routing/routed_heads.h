/* Heads that attend within clusters of content (Roy et al. 2020, section 4 and algorithm 1).
 * Queries, which are the keys too, are normed to unit length; every centroid takes the tokens that
 * lie nearest to it, and these attend among themselves in their order:
 *
 *   u_i = LayerNorm(q_i) / sqrt(head_width)                     (no gain, no bias)
 *   C_c = the `top` tokens of the largest mu_c . u_i, rising
 *   y_i = sum over c with i in C_c of
 *         sum_{j in C_c, j <= i} softmax_j(scale u_i . (u_j + p_(places between))) v_j
 *
 * Centroids are moving averages of the tokens that lie nearest to them, by online k-means over all
 * tokens of a segment in training: mu_c <- decay mu_c + (1 - decay) mean{u_i : c = argmax mu .
 * u_i}, and one that is nearest to none stays. */
#ifndef LH_ROUTING_ROUTED_HEADS_H
#define LH_ROUTING_ROUTED_HEADS_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

/* What a token of several clusters gets: the sum, or as released that over their number + 0.01. */
typedef enum lh_routing_overlap { LH_ROUTING_SUM, LH_ROUTING_MEAN } lh_routing_overlap;

typedef struct lh_routing_config {
    int64_t clusters, window, longest_distance;
    lh_routing_overlap overlap;
    double scale, decay;
} lh_routing_config;

extern const lh_option lh_routing_config_options[];

typedef struct lh_routed_heads {
    int64_t heads, head_width;
    int centroids; /* [heads][clusters][head_width], a statistic */
    int positions; /* [longest_distance + 1][head_width], for keys by places between */
} lh_routed_heads;

/* Names are "<prefix>.centroids" and "<prefix>.routing_positions"; the latter begin as
 * `positions` says. */
void lh_routed_heads_declare(lh_routed_heads *routed, const lh_routing_config *config,
                             lh_init positions, lh_declare *declaration, const char *prefix);

/* q, v [batch][length][heads][head_width], slices allowed -> the same shape; zeros for a token that
 * no centroid takes. Hands over the next centroids in training. */
lh_tensor *lh_routed_heads_attend(const lh_routed_heads *routed, const lh_routing_config *config,
                                  lh_pass *pass, lh_tensor *q, lh_tensor *v);

/* Forward FLOPs of one batch row and head: scores with the centroids, and attention. */
double lh_routed_head_flops(const lh_routing_config *config, int64_t length, int64_t head_width);

#endif
