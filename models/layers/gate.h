/* Gates that stand where a layer would have its residual connections (Hutchins et al. 2022,
 * section 3.4). */
#ifndef LH_LAYERS_GATE_H
#define LH_LAYERS_GATE_H

#include "models/layers/block_config.h"

typedef struct lh_gate {
    int z, z_bias;                              /* W^(z), b^(z) */
    int bias;                                   /* fixed: b^(g) */
    int forget, forget_bias, input, input_bias; /* LSTM */
} lh_gate;

/* `fan_in` is the width of h_t. Names: <prefix>.z, <prefix>.bias, <prefix>.forget ... */
void lh_gate_declare(lh_gate *gate, const lh_block_config *config, int64_t fan_in,
                     lh_declare *declare, const char *prefix);

/* c [batch][states][width], h [batch][states][fan_in] -> next c: eqs. 1-3 or 4-7. */
lh_tensor *lh_gate_apply(const lh_gate *gate, const lh_block_config *config, const lh_pass *pass,
                         lh_tensor *c, lh_tensor *h);

#endif
