#include "models/layers/project.h"

#include <math.h>

static const double epsilon = 1e-6;

lh_tensor *lh_project(const lh_block_config *config, const lh_pass *pass, lh_tensor *x,
                      int weight) {
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *y = lh_linear(tape, x, lh_pass_param(pass, weight), NULL, LH_UNARY_IDENTITY);
    if (y == NULL) return NULL;
    const int64_t shape[] = {y->shape[0], y->shape[1], config->heads, config->head_width};
    return lh_reshape(tape, y, 4, shape);
}

lh_tensor *lh_project_unit(const lh_block_config *config, const lh_pass *pass, lh_tensor *x,
                           int weight) {
    lh_tensor *y = lh_project(config, pass, x, weight);
    return config->normalize ? lh_unit_norm(lh_pass_tape(pass), y, epsilon) : y;
}

lh_attention lh_plain_attention(const lh_block_config *config, const lh_pass *pass, int scale) {
    lh_attention attention = LH_ATTENTION;
    if (config->normalize) {
        attention.head_scale = lh_pass_param(pass, scale);
    } else {
        attention.scale = 1.0 / sqrt((double)config->head_width);
    }
    return attention;
}
