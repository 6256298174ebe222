/* Memorizing Transformer (Wu et al. 2022, arXiv:2203.08913) as the Block-Recurrent Transformer
 * compares itself to it: the xl model with one layer that also attends to the nearest of the last
 * `memory` keys. */
#include "models/layers/block_stack.h"
#include "models/models.h"

static const lh_option options[] = {
    LH_BLOCK_OPTIONS,
    {"memory", LH_OPTION_INTEGER, "32768", 1, 16777216, NULL,
     "tokens that the memory holds per row"},
    {"top", LH_OPTION_INTEGER, "128", 1, 65536, NULL, "nearest keys that a query attends to"},
    {"memory_layer", LH_OPTION_INTEGER, "-4", -LH_BLOCK_LAYERS, LH_BLOCK_LAYERS, NULL,
     "layer with the memory, from 1; negative counts from the top"},
    LH_BLOCK_OPTIONS_END};

static lh_status declare(void *instance, const lh_options *values, const lh_model_setup *setup,
                         lh_declare *declaration) {
    lh_block_stack *stack = instance;
    lh_block_config *config = &stack->config;
    LH_TRY(lh_block_config_read(values, setup, config));
    config->memory = lh_options_integer(values, "memory");
    config->top = lh_options_integer(values, "top");
    const int64_t layer = lh_options_integer(values, "memory_layer");
    config->memory_layer = layer < 0 ? config->layers + layer : layer - 1;
    if (config->memory_layer < 0 || config->memory_layer >= config->layers) {
        return lh_fail(LH_EOPTION, "option 'memory_layer' is %lld, but there are %lld layers",
                       (long long)layer, (long long)config->layers);
    }
    if (config->top > config->memory) {
        return lh_fail(LH_EOPTION, "option 'top' (%lld) exceeds 'memory' (%lld)",
                       (long long)config->top, (long long)config->memory);
    }
    return lh_block_stack_declare(stack, declaration);
}

const lh_model_class lh_model_memorizing = {
    .name = "memorizing",
    .summary = "Transformer-XL whose one layer attends to nearest neighbours in a long memory",
    .paper = "Wu et al. 2022, arXiv:2203.08913",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE_TRUNCATED,
    .options = options,
    .instance_size = sizeof(lh_block_stack),
    .declare = declare,
    .forward = lh_block_stack_forward,
    .flops_per_token = lh_block_stack_flops,
    .destroy = lh_block_stack_clear,
    .probe = lh_block_stack_probe,
};
