/* What layers have in common whose mixing over time is a short convolution and a state that decays:
 * first values of the decay, as the release of Mamba-2 has them, the convolution with its carried
 * tokens, and the way from tokens through all layers. */
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

/* Parameters of a model ahead of its layers and behind them. */
typedef struct lh_stack_ends {
    int embedding, norm, head; /* head: -1 when it is the embedding */
} lh_stack_ends;

/* What layer i of a model makes of x; NULL on failure. */
typedef lh_tensor *lh_stack_layer(const void *model, lh_pass *pass, int64_t i, lh_tensor *x);

/* The tokens' embeddings through `layers` layers, each in a scope of its own, and an RMS norm with
 * epsilon. Fails with what a layer fails with. */
lh_status lh_stack_forward(const lh_stack_ends *ends, int64_t layers, lh_stack_layer *layer,
                           double epsilon, const void *model, lh_pass *pass, lh_output *out);

#endif
