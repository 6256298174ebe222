#include "models/layers/block_config.h"

const char *const lh_logit_divisors[] = {"sqrt_vocabulary", "sqrt_width", "one", NULL};

lh_status lh_block_config_read(const lh_options *options, const lh_model_setup *setup,
                               lh_block_config *config) {
    *config = (lh_block_config){
        .vocabulary = setup->vocabulary,
        .layers = lh_options_integer(options, "layers"),
        .width = lh_options_integer(options, "width"),
        .heads = lh_options_integer(options, "heads"),
        .head_width = lh_options_integer(options, "head_width"),
        .hidden = lh_options_integer(options, "hidden"),
        .window = lh_options_integer(options, "window"),
        .dropout = lh_options_real(options, "dropout"),
        .normalize = lh_options_flag(options, "normalize"),
        .position_bias = lh_options_flag(options, "position_bias"),
        .see_self = lh_options_flag(options, "see_self"),
        .divisor = (lh_logit_divisor)lh_options_choice(options, "logit_divisor"),
        .memory_layer = -1,
    };
    if (config->vocabulary < 1) {
        return lh_fail(LH_EOPTION, "needs a task over tokens (vocabulary %lld)",
                       (long long)config->vocabulary);
    }
    if (config->hidden == 0) config->hidden = 4 * config->width;
    if (config->head_width == 0 && config->width % config->heads != 0) {
        return lh_fail(LH_EOPTION,
                       "option 'heads' (%lld) does not divide 'width' (%lld); set "
                       "'head_width'",
                       (long long)config->heads, (long long)config->width);
    }
    if (config->head_width == 0) config->head_width = config->width / config->heads;
    return LH_OK;
}
