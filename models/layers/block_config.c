#include "models/layers/block_config.h"

#include "models/layers/common.h"

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
    if (config->hidden == 0) config->hidden = 4 * config->width;
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(lh_recurrence_config_read(options, config->heads, &config->recurrence_encoding));
    return lh_settle_head_width(config->width, config->heads, &config->head_width);
}
