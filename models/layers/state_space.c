/* First values of decays, the short convolution with its carried tokens, and a stack of layers. */
#include "models/layers/state_space.h"

#include <math.h>

#include "models/layers/common.h"

static double fraction(double x) {
    return x - floor(x);
}

/* By Roberts' sequence. A bias is what softplus turns into the step. */
void lh_spread_decays(int64_t heads, const double step[2], const double rate[2],
                      lh_first_decays *decays) {
    const double least = log(step[0]), most = log(step[1]);
    for (int64_t h = 0; h < heads; ++h) {
        const double at = fraction(0.5 + 0.7548776662466927 * (double)h);
        const double dt = exp(least + (most - least) * at);
        const double a =
            rate[0] + (rate[1] - rate[0]) * fraction(0.5 + 0.5698402909980532 * (double)h);
        decays->step_bias[h] = dt + log(-expm1(-dt));
        decays->rate[h] = log(a);
    }
}

lh_tensor *lh_convolve_on(lh_tape *tape, lh_tensor *x, lh_tensor **before, lh_tensor *weight,
                          lh_tensor *bias) {
    if (x == NULL || *before == NULL || weight == NULL) return NULL;
    lh_tensor *ahead = *before;
    *before = lh_last_tokens(tape, weight->shape[weight->rank - 1] - 1, ahead, x);
    return lh_unary(tape, LH_UNARY_SILU, lh_short_convolution(tape, x, ahead, weight, bias));
}

lh_tensor *lh_carried_convolution(lh_pass *pass, int before, lh_tensor *x, lh_tensor *weight,
                                  lh_tensor *bias) {
    lh_tensor *tokens = lh_pass_state(pass, before);
    lh_tensor *y = lh_convolve_on(lh_pass_tape(pass), x, &tokens, weight, bias);
    if (y == NULL || tokens == NULL || lh_pass_carry(pass, before, tokens) != LH_OK) return NULL;
    return y;
}

lh_status lh_stack_forward(const lh_stack_ends *ends, int64_t layers, lh_stack_layer *layer,
                           double epsilon, const void *model, lh_pass *pass, lh_output *out) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *embedding = lh_pass_param(pass, ends->embedding);
    lh_tensor *x = lh_gather(tape, embedding, lh_pass_batch(pass)->tokens);
    for (int64_t i = 0; i < layers && x != NULL; ++i) {
        const lh_scope scope = lh_scope_open(tape);
        x = lh_scope_close(tape, scope, layer(model, pass, i, x));
    }
    out->hidden = lh_rms_norm(tape, x, lh_pass_param(pass, ends->norm), epsilon);
    out->head_weight = ends->head >= 0 ? lh_pass_param(pass, ends->head) : embedding;
    return out->hidden != NULL ? LH_OK : lh_failed();
}
