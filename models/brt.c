/* Block-Recurrent Transformer (Hutchins et al. 2022, arXiv:2203.07852, section 3): sliding-window
 * layers, one of which carries recurrent states from block to block (section 3.2). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/brt/block_stack.h"
#include "models/layers/common.h"

typedef enum recurrence {
    NO_RECURRENCE,
    FIXED_DUAL,
    FIXED_SINGLE,
    FIXED_SKIP,
    LSTM_DUAL,
    LSTM_SINGLE,
    LSTM_SKIP
} recurrence;
static const char *const recurrences[] = {"none",      "fixed:dual",  "fixed:single", "fixed:skip",
                                          "lstm:dual", "lstm:single", "lstm:skip",    NULL};
static const char *const tanh_rules[] = {"code", "paper", NULL};

/* An lh_block_stack, and what the options say of its recurrence. */
typedef struct brt {
    lh_block_stack stack; /* first: the stack's functions take a brt */
    recurrence recurrence;
    lh_list recurrent_layers;
} brt;

static const lh_option brt_options[] = {
    LH_CHOICE("recurrence", brt, recurrence, FIXED_SKIP, recurrences,
              "gate and gate configuration, sections 3.4 and 3.6"),
    LH_LIST("recurrent_layers", brt, recurrent_layers, LH_INTEGERS(-3), -LH_BLOCK_LAYERS,
            LH_BLOCK_LAYERS,
            "recurrent layers, from 1; negative counts from the top (-3 of 12 is the paper's layer "
            "10)"),
    LH_INTEGER("states", brt, stack.config.states, 0, 0, 1048576,
               "state vectors S; 0: as many as window"),
    LH_FLAG("feedback", brt, stack.config.feedback, false,
            "all layers read the states, block by block, section 3.7"),
    LH_CHOICE("gate_tanh", brt, stack.config.tanh_rule, LH_TANH_CODE, tanh_rules,
              "tanh on z: in the single configuration (code) or in every LSTM gate (paper, eq. 4)"),
    LH_FLAG("gate_bias", brt, stack.config.z_bias, false,
            "b^(z) of eqs. 1 and 4, which the released code lacks"),
    {0}};

static const lh_option_table options[] = {
    LH_TABLE(brt, stack.config, lh_block_config),
    LH_TABLE(brt, stack.config.recurrence_encoding, lh_recurrence_config),
    LH_OWN_TABLE(brt),
    {0}};

static lh_status mark_recurrent_layers(const lh_list *chosen, lh_block_config *config) {
    for (int i = 0; i < chosen->count; ++i) {
        int64_t layer = 0;
        LH_TRY(lh_settle_layer("recurrent_layers", chosen->value[i], config->layers, &layer));
        config->recurrent[layer] = true;
        config->any_recurrent = true;
    }
    return LH_OK;
}

static lh_status settle_recurrence(brt *model) {
    static const lh_gate_layout layouts[] = {LH_LAYOUT_DUAL, LH_LAYOUT_SINGLE, LH_LAYOUT_SKIP};
    lh_block_config *config = &model->stack.config;
    if (model->recurrence == NO_RECURRENCE) return LH_OK;
    config->gate = model->recurrence <= FIXED_SKIP ? LH_GATE_FIXED : LH_GATE_LSTM;
    config->layout = layouts[(model->recurrence - FIXED_DUAL) % 3];
    if (config->states == 0) config->states = config->window;
    if (model->recurrent_layers.count == 0)
        return lh_fail(LH_EOPTION, "option 'recurrent_layers' names none: set recurrence=none");
    return mark_recurrent_layers(&model->recurrent_layers, config);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    brt *model = self;
    const lh_block_config *config = &model->stack.config;
    LH_TRY(lh_block_config_settle(&model->stack.config, setup));
    LH_TRY(settle_recurrence(model));
    if (config->feedback && !config->any_recurrent)
        return lh_fail(LH_EOPTION, "option 'feedback' needs a recurrent layer");
    return lh_block_stack_declare(&model->stack, declaration);
}

static lh_status check(const void *self, int64_t length) {
    const lh_block_config *config = &((const lh_block_stack *)self)->config;
    if (!config->any_recurrent) return LH_OK;
    return lh_require_whole_chunks("window", config->window, length);
}

/* Mean of sigmoid(b^(g)): how much of the state a fixed gate keeps per block. */
static lh_status report_gate(const lh_params *params, int64_t layer, const char *gate,
                             const lh_report *report) {
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
    report->tell(report->context, name, sum / (double)width);
    return LH_OK;
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const lh_block_config *config = &((const lh_block_stack *)self)->config;
    LH_TRY(lh_block_stack_probe(self, params, report));
    for (int64_t i = 0; i < config->layers; ++i) {
        if (!config->recurrent[i] || config->gate != LH_GATE_FIXED) continue;
        LH_TRY(report_gate(params, i, "attention_gate", report));
        LH_TRY(report_gate(params, i, "feed_forward_gate", report));
    }
    return LH_OK;
}

const lh_model_class lh_model_brt = {
    .name = "brt",
    .summary = "Block-Recurrent Transformer: sliding window plus recurrent state vectors",
    .paper = "Hutchins et al. 2022, arXiv:2203.07852",
    .layout = "RMS norms add 1e-6 to the mean square",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(brt),
    .declare = declare,
    .forward = lh_block_stack_forward,
    .flops_per_token = lh_block_stack_flops,
    .check = check,
    .destroy = lh_block_stack_clear,
    .probe = probe,
};
