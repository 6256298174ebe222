/* The halves of a post-norm layer (Vaswani et al. 2017, sections 3.1 and 5.4): what a sub-layer
 * makes of x is dropped out, added to x, and normed. */
#ifndef LH_LAYERS_POST_NORM_H
#define LH_LAYERS_POST_NORM_H

#include "models/layers/dense.h"

/* norm(x + dropout(y)); `dropout` is the rate in training. */
lh_tensor *lh_post_norm_join(lh_norm norm, const lh_pass *pass, double dropout, lh_tensor *x,
                             lh_tensor *y);

/* The feed-forward half. The model declares its parts, in the order and by the names it has. */
typedef struct lh_post_norm_network {
    lh_dense in, back;
    lh_norm norm;
} lh_post_norm_network;

/* norm(x + dropout(back(dropout(activation(in(x)))))), x [...][width]. */
lh_tensor *lh_post_norm_network_apply(const lh_post_norm_network *network, const lh_pass *pass,
                                      double dropout, lh_unary_op activation, lh_tensor *x);

#endif
