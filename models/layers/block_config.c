#include "models/layers/block_config.h"

#include "models/layers/common.h"

static const char *const divisors[] = {"sqrt_vocabulary", "sqrt_width", "one", NULL};

const lh_option lh_block_config_options[] = {
    LH_INTEGER("layers", lh_block_config, layers, 12, 1, LH_BLOCK_LAYERS, "number of layers"),
    LH_INTEGER("width", lh_block_config, width, 1024, 1, 65536, "embedding size D"),
    LH_INTEGER("heads", lh_block_config, heads, 8, 1, 1024, "attention heads H"),
    LH_INTEGER("head_width", lh_block_config, head_width, 0, 0, 4096,
               "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", lh_block_config, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_INTEGER("window", lh_block_config, window, 512, 1, 1048576, "window W in tokens"),
    LH_REAL("dropout", lh_block_config, dropout, 0.05, 0, 0.99, "dropout rate in training"),
    LH_FLAG("normalize", lh_block_config, normalize, true,
            "unit-length queries and keys with a learned scale per head"),
    LH_FLAG("position_bias", lh_block_config, position_bias, true, "T5 relative position bias"),
    LH_FLAG("see_self", lh_block_config, see_self, false,
            "let a token attend to itself (the released code does not)"),
    LH_CHOICE("logit_divisor", lh_block_config, divisor, LH_DIVISOR_SQRT_VOCABULARY, divisors,
              "what the tied head's logits are divided by"),
    {0}};

lh_status lh_block_config_settle(lh_block_config *config, const lh_model_setup *setup) {
    config->vocabulary = setup->vocabulary;
    config->memory_layer = -1;
    if (config->hidden == 0) config->hidden = 4 * config->width;
    LH_TRY(lh_require_tokens(setup));
    LH_TRY(lh_recurrence_config_settle(&config->recurrence_encoding, config->heads));
    return lh_settle_head_width(config->width, config->heads, &config->head_width);
}
