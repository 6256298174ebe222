/* What layers have in common whose mixing over time is a short convolution and a state that decays:
 * first values of the decay, as the release of Mamba-2 has them, and the convolution with its
 * carried tokens. */
#ifndef LH_LAYERS_STATE_SPACE_H
#define LH_LAYERS_STATE_SPACE_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

enum { LH_STATE_SPACE_HEADS = 1024 };

/* A head's decay is exp(-softplus(x + step_bias) exp(rate)). */
typedef struct lh_first_decays {
    double step_bias[LH_STATE_SPACE_HEADS], rate[LH_STATE_SPACE_HEADS];
} lh_first_decays;

/* Releases draw softplus(step_bias) log-uniformly within `step` and exp(rate) uniformly within
 * `rate`; here heads spread over both intervals evenly and independently. */
void lh_spread_decays(int64_t heads, const double step[2], const double rate[2],
                      lh_first_decays *decays);

/* silu(convolution(x)) behind the tokens *before [batch][kernel - 1][width], which becomes the last
 * of these and x; weight and bias (optional) as for lh_short_convolution. NULL on failure. */
lh_tensor *lh_convolve_on(lh_tape *tape, lh_tensor *x, lh_tensor **before, lh_tensor *weight,
                          lh_tensor *bias);

/* The same with the tokens before in a carried state. */
lh_tensor *lh_carried_convolution(lh_pass *pass, int before, lh_tensor *x, lh_tensor *weight,
                                  lh_tensor *bias);

#endif
