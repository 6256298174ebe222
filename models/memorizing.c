/* Memorizing Transformer (Wu et al. 2022, arXiv:2203.08913) as the Block-Recurrent Transformer
 * compares itself to it (Hutchins et al. 2022, section 4.6): the xl model with one layer that also
 * attends to the nearest of the last `memory` keys. */
#include "models/brt/block_stack.h"
#include "models/layers/common.h"

typedef struct memorizing {
    lh_block_stack stack; /* first: the stack's functions take a memorizing */
    int64_t layer;        /* with the memory, as the option counts it */
} memorizing;

static const lh_option memorizing_options[] = {
    LH_INTEGER("memory", memorizing, stack.config.memory, 32768, 1, 16777216,
               "tokens that the memory holds per row"),
    LH_INTEGER("top", memorizing, stack.config.top, 128, 1, 65536,
               "nearest keys that a query attends to"),
    LH_INTEGER("memory_layer", memorizing, layer, -4, -LH_BLOCK_LAYERS, LH_BLOCK_LAYERS,
               "layer with the memory, from 1; negative counts from the top"),
    {0}};

static const lh_option_table options[] = {
    LH_TABLE(memorizing, stack.config, lh_block_config),
    LH_TABLE(memorizing, stack.config.recurrence_encoding, lh_recurrence_config),
    LH_OWN_TABLE(memorizing),
    {0}};

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    memorizing *model = self;
    lh_block_config *config = &model->stack.config;
    LH_TRY(lh_block_config_settle(config, setup));
    LH_TRY(lh_settle_layer("memory_layer", model->layer, config->layers, &config->memory_layer));
    if (config->top > config->memory) {
        return lh_fail(LH_EOPTION, "option 'top' (%lld) exceeds 'memory' (%lld)",
                       (long long)config->top, (long long)config->memory);
    }
    return lh_block_stack_declare(&model->stack, declaration);
}

const lh_model_class lh_model_memorizing = {
    .name = "memorizing",
    .summary = "Transformer-XL whose one layer attends to nearest neighbours in a long memory",
    .paper = "Wu et al. 2022, arXiv:2203.08913",
    .layout = "RMS norms add 1e-6 to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE_TRUNCATED,
    .options = options,
    .instance_size = sizeof(memorizing),
    .declare = declare,
    .forward = lh_block_stack_forward,
    .flops_per_token = lh_block_stack_flops,
    .destroy = lh_block_stack_clear,
    .probe = lh_block_stack_probe,
};
