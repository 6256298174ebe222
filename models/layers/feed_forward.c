#include "models/layers/feed_forward.h"

#include "models/layers/initial.h"

enum { TILE = 128, SMALLEST_TILE = 8 };

static const double epsilon = 1e-6;

void lh_feed_forward_declare(lh_feed_forward *layer, const lh_block_config *config,
                             lh_declare *declare, const char *prefix) {
    const int64_t gain[] = {config->width}, in[] = {config->width, config->hidden},
                  out[] = {config->hidden, config->width};
    layer->gain = lh_declare_param(declare, lh_init_ones(), 1, gain, "%s.norm.gain", prefix);
    layer->in =
        lh_declare_param(declare, lh_init_fan_in(1.0, config->width), 2, in, "%s.in", prefix);
    layer->out =
        lh_declare_param(declare, lh_init_fan_in(1.0, config->hidden), 2, out, "%s.out", prefix);
}

lh_tensor *lh_tiled_dropout(const lh_block_config *config, const lh_pass *pass, lh_tensor *x) {
    if (x == NULL || !lh_pass_is_training(pass) || config->dropout == 0) return x;
    const int64_t length = x->shape[1];
    int64_t tile = TILE;
    while (tile > SMALLEST_TILE && length % tile != 0)
        tile /= 2;
    return lh_dropout(lh_pass_tape(pass), x, config->dropout, tile < length ? tile : length);
}

lh_tensor *lh_feed_forward_apply(const lh_feed_forward *layer, const lh_block_config *config,
                                 const lh_pass *pass, lh_tensor *x) {
    lh_tape *tape = lh_pass_tape(pass);
    const lh_scope scope = lh_scope_open(tape);
    lh_tensor *normed = lh_rms_norm(tape, x, lh_pass_param(pass, layer->gain), epsilon);
    lh_tensor *hidden =
        lh_linear(tape, normed, lh_pass_param(pass, layer->in), NULL, LH_UNARY_RELU);
    lh_tensor *out = lh_pass_param(pass, layer->out);
    if (!lh_pass_is_training(pass) || config->dropout == 0) {
        return lh_scope_close(tape, scope, lh_linear_add(tape, x, hidden, out));
    }
    lh_tensor *y = lh_linear(tape, hidden, out, NULL, LH_UNARY_IDENTITY);
    y = lh_add(tape, x, lh_tiled_dropout(config, pass, y));
    return lh_scope_close(tape, scope, y);
}
