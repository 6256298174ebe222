/* Sliding-window transformer and Transformer-XL cache: the five baselines of the Block-Recurrent
 * Transformer (Hutchins et al. 2022, sections 3.1 and 4.1). The two differ only in how a segment
 * relates to the window. */
#include "models/brt/block_stack.h"

static const lh_option_table options[] = {
    LH_TABLE(lh_block_stack, config, lh_block_config),
    LH_TABLE(lh_block_stack, config.recurrence_encoding, lh_recurrence_config),
    {0}};

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    lh_block_stack *stack = self;
    LH_TRY(lh_block_config_settle(&stack->config, setup));
    return lh_block_stack_declare(stack, declaration);
}

/* Transformer-XL processes one block per step: its segment is its window (section 3.1). */
static lh_status check_one_block(const void *self, int64_t length) {
    const lh_block_stack *stack = self;
    if (length == stack->config.window) return LH_OK;
    return lh_fail(LH_ESHAPE,
                   "xl: segment %lld must equal window %lld (model slide takes longer "
                   "segments)",
                   (long long)length, (long long)stack->config.window);
}

const lh_model_class lh_model_slide = {
    .name = "slide",
    .summary = "Transformer with sliding-window attention over long segments and a cache",
    .paper = "Hutchins et al. 2022, arXiv:2203.07852, section 3.1",
    .layout = "RMS norms add 1e-6 to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(lh_block_stack),
    .declare = declare,
    .forward = lh_block_stack_forward,
    .flops_per_token = lh_block_stack_flops,
    .destroy = lh_block_stack_clear,
    .probe = lh_block_stack_probe,
};

const lh_model_class lh_model_xl = {
    .name = "xl",
    .summary = "Transformer with a Transformer-XL cache: the segment is the window",
    .paper = "Hutchins et al. 2022, arXiv:2203.07852, section 4.1",
    .layout = "RMS norms add 1e-6 to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE | LH_NEEDS_ONE_LENGTH,
    .options = options,
    .instance_size = sizeof(lh_block_stack),
    .declare = declare,
    .forward = lh_block_stack_forward,
    .flops_per_token = lh_block_stack_flops,
    .check = check_one_block,
    .destroy = lh_block_stack_clear,
    .probe = lh_block_stack_probe,
};
