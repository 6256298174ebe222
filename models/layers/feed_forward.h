/* The feed-forward network of a pre-norm layer: x + dropout(relu(norm(x) W1) W2), no biases. */
#ifndef LH_LAYERS_FEED_FORWARD_H
#define LH_LAYERS_FEED_FORWARD_H

#include "models/layers/block_config.h"

typedef struct lh_feed_forward {
    int gain, in, out;
} lh_feed_forward;

void lh_feed_forward_declare(lh_feed_forward *layer, const lh_block_config *config,
                             lh_declare *declare, const char *prefix);

/* x [batch][length][width] -> the same. */
lh_tensor *lh_feed_forward_apply(const lh_feed_forward *layer, const lh_block_config *config,
                                 const lh_pass *pass, lh_tensor *x);

/* The "tiled" dropout of the released code: one mask for all batch rows, repeated every 128
 * positions (halved until it divides the length). Off outside of training. */
lh_tensor *lh_tiled_dropout(const lh_block_config *config, const lh_pass *pass, lh_tensor *x);

#endif
