/* Block-Recurrent Transformer (Hutchins et al. 2022, arXiv:2203.07852). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/layers/block_stack.h"
#include "models/layers/common.h"
#include "models/models.h"

static const char *const recurrences[] = {"none",      "fixed:dual",  "fixed:single", "fixed:skip",
                                          "lstm:dual", "lstm:single", "lstm:skip",    NULL};
static const char *const tanh_rules[] = {"code", "paper", NULL};

static const lh_option options[] = {
    LH_BLOCK_OPTIONS,
    {"recurrence", LH_OPTION_CHOICE, "fixed:skip", 0, 0, recurrences,
     "gate and gate configuration, sections 3.4 and 3.6"},
    {"recurrent_layers", LH_OPTION_LIST, "-3", 0, 0, NULL,
     "recurrent layers, from 1; negative counts from the top (-3 of 12 is the paper's layer 10)"},
    {"states", LH_OPTION_INTEGER, "0", 0, 1048576, NULL, "state vectors S; 0: as many as window"},
    {"feedback", LH_OPTION_FLAG, "false", 0, 0, NULL,
     "all layers read the states, block by block, section 3.7"},
    {"gate_tanh", LH_OPTION_CHOICE, "code", 0, 0, tanh_rules,
     "tanh on z: in the single configuration (code) or in every LSTM gate (paper, eq. 4)"},
    {"gate_bias", LH_OPTION_FLAG, "false", 0, 0, NULL,
     "b^(z) of eqs. 1 and 4, which the released code lacks"},
    LH_BLOCK_OPTIONS_END};

static lh_status mark_recurrent_layers(const lh_options *values, lh_block_config *config) {
    int64_t chosen[LH_BLOCK_LAYERS];
    const int count = lh_options_list(values, "recurrent_layers", chosen, LH_BLOCK_LAYERS);
    for (int i = 0; i < count && i < LH_BLOCK_LAYERS; ++i) {
        const int64_t layer = chosen[i] < 0 ? config->layers + chosen[i] : chosen[i] - 1;
        if (layer < 0 || layer >= config->layers) {
            return lh_fail(LH_EOPTION,
                           "option 'recurrent_layers' names layer %lld, but there are %lld",
                           (long long)chosen[i], (long long)config->layers);
        }
        config->recurrent[layer] = true;
        config->any_recurrent = true;
    }
    return LH_OK;
}

static lh_status read_recurrence(const lh_options *values, lh_block_config *config) {
    static const lh_gate_layout layouts[] = {LH_LAYOUT_DUAL, LH_LAYOUT_SINGLE, LH_LAYOUT_SKIP};
    const int recurrence = lh_options_choice(values, "recurrence");
    if (recurrence == 0) return LH_OK;
    config->gate = recurrence <= 3 ? LH_GATE_FIXED : LH_GATE_LSTM;
    config->layout = layouts[(recurrence - 1) % 3];
    config->tanh_rule = (lh_gate_tanh)lh_options_choice(values, "gate_tanh");
    config->z_bias = lh_options_flag(values, "gate_bias");
    config->states = lh_options_integer(values, "states");
    if (config->states == 0) config->states = config->window;
    return mark_recurrent_layers(values, config);
}

static lh_status declare(void *instance, const lh_options *values, const lh_model_setup *setup,
                         lh_declare *declaration) {
    lh_block_stack *stack = instance;
    LH_TRY(lh_block_config_read(values, setup, &stack->config));
    LH_TRY(read_recurrence(values, &stack->config));
    stack->config.feedback = lh_options_flag(values, "feedback");
    if (stack->config.feedback && !stack->config.any_recurrent) {
        return lh_fail(LH_EOPTION, "option 'feedback' needs a recurrent layer");
    }
    return lh_block_stack_declare(stack, declaration);
}

static lh_status check(const void *instance, int64_t rows, int64_t length) {
    (void)rows;
    const lh_block_config *config = &((const lh_block_stack *)instance)->config;
    if (!config->any_recurrent) return LH_OK;
    return lh_require_whole_chunks("window", config->window, length);
}

/* Mean of sigmoid(b^(g)): how much of the state a fixed gate keeps per block. */
static lh_status report_gate(const lh_params *params, int64_t layer, const char *gate,
                             void (*report)(void *, const char *, double), void *context) {
    char name[96];
    (void)snprintf(name, sizeof name, "layers.%lld.state.%s.bias", (long long)layer, gate);
    const int index = lh_params_find(params, name);
    if (index < 0) return LH_OK;
    const lh_tensor *bias = lh_params_get(params, index);
    const int64_t width = lh_tensor_count(bias);
    real *host = lh_allocate((size_t)width * sizeof *host);
    if (host == NULL) return LH_EMEMORY;
    const lh_status status = lh_tensor_read(bias, host, width);
    double sum = 0;
    for (int64_t i = 0; i < width && status == LH_OK; ++i) {
        sum += 1.0 / (1.0 + exp(-(double)host[i]));
    }
    free(host);
    LH_TRY(status);
    (void)snprintf(name, sizeof name, "layer_%lld_%s_keep", (long long)layer + 1, gate);
    report(context, name, sum / (double)width);
    return LH_OK;
}

static lh_status probe(const void *instance, const lh_params *params,
                       void (*report)(void *context, const char *name, double value),
                       void *context) {
    const lh_block_config *config = &((const lh_block_stack *)instance)->config;
    LH_TRY(lh_block_stack_probe(instance, params, report, context));
    for (int64_t i = 0; i < config->layers; ++i) {
        if (!config->recurrent[i] || config->gate != LH_GATE_FIXED) continue;
        LH_TRY(report_gate(params, i, "attention_gate", report, context));
        LH_TRY(report_gate(params, i, "feed_forward_gate", report, context));
    }
    return LH_OK;
}

const lh_model_class lh_model_brt = {
    .name = "brt",
    .summary = "Block-Recurrent Transformer: sliding window plus recurrent state vectors",
    .paper = "Hutchins et al. 2022, arXiv:2203.07852",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(lh_block_stack),
    .declare = declare,
    .forward = lh_block_stack_forward,
    .flops_per_token = lh_block_stack_flops,
    .check = check,
    .destroy = lh_block_stack_clear,
    .probe = probe,
};
