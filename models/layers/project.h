/* Linear maps into heads, with the query and key normalisation of Henry et al. 2020. */
#ifndef LH_LAYERS_PROJECT_H
#define LH_LAYERS_PROJECT_H

#include "models/layers/block_config.h"

/* x [batch][length][width] -> [batch][length][heads][head_width] by parameter `weight`. */
lh_tensor *lh_project(const lh_block_config *config, const lh_pass *pass, lh_tensor *x, int weight);

/* The same, each head vector of unit length when the config normalises. */
lh_tensor *lh_project_unit(const lh_block_config *config, const lh_pass *pass, lh_tensor *x,
                           int weight);

/* Everything visible, no bias: scaled by parameter `scale` per head when the config normalises,
 * else by 1 / sqrt(head_width). Keys are the caller's to set. */
lh_attention lh_plain_attention(const lh_block_config *config, const lh_pass *pass, int scale);

#endif
