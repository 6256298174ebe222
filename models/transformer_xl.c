/* Transformer-XL as the Staircase paper trains it, on the family's shared core (Ju et al. 2022,
 * section 4.2), and the Universal Transformer: the same with one layer applied again and again.
 * Each token attends to the `span` tokens before it; a memory of every application's inputs crosses
 * segments. */
#include "models/layers/common.h"
#include "models/staircase/staircase_core.h"

/* Layer applications: each layer once, or all of them `steps` times over. */
typedef struct instance {
    lh_staircase_core core;
    int64_t span, applications;
    int memory[LH_STAIRCASE_LAYERS]; /* state slots, by application */
} instance;

static const lh_option span_options[] = {
    LH_INTEGER("span", instance, span, 512, 1, 1048576, "attention span S in tokens"), {0}};

static const lh_option_table options[] = {
    {lh_staircase_layers_options, LH_FIELD(instance, core.config, lh_staircase_config)},
    LH_TABLE(instance, core.config, lh_staircase_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    {span_options, 0},
    {0}};

static const lh_option steps_options[] = {
    LH_INTEGER("steps", instance, applications, 8, 1, LH_STAIRCASE_LAYERS,
               "recurrent steps: applications of the one layer (N)"),
    {0}};

static const lh_option_table universal_options[] = {
    LH_TABLE(instance, core.config, lh_staircase_config),
    LH_TABLE(instance, core.config.recurrence_encoding, lh_recurrence_config),
    {span_options, 0},
    {steps_options, 0},
    {0}};

static lh_status declare_stack(instance *model, const lh_model_setup *setup,
                               lh_declare *declaration) {
    lh_staircase_config *config = &model->core.config;
    LH_TRY(lh_staircase_config_settle(config, setup));
    config->positions = model->span;
    config->first_distance = 1;
    lh_staircase_declare(&model->core, declaration);
    const int64_t shape[] = {model->span, config->width};
    for (int64_t i = 0; i < model->applications; ++i) {
        model->memory[i] = lh_declare_state(declaration, LH_STATE_REPLACE, 2, shape,
                                            "application.%lld.memory", (long long)i);
    }
    return LH_OK;
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    model->applications = model->core.config.layers;
    return declare_stack(model, setup, declaration);
}

static lh_status declare_universal(void *self, const lh_model_setup *setup,
                                   lh_declare *declaration) {
    instance *model = self;
    model->core.config.layers = 1;
    return declare_stack(model, setup, declaration);
}

static lh_staircase_view view_of(const instance *model, lh_tensor *before) {
    return (lh_staircase_view){
        .before = before, .among = true, .min_distance = 1, .max_distance = model->span};
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_staircase_pass core = lh_staircase_begin(&model->core, pass);
    const lh_scope scope = lh_scope_open(core.tape);
    lh_tensor *x = lh_staircase_embed(&core);
    for (int64_t i = 0; i < model->applications; ++i) {
        const int64_t layer = i % model->core.config.layers;
        lh_tensor *memory = lh_pass_state(pass, model->memory[i]);
        const lh_staircase_view view = view_of(model, lh_staircase_keys(&core, layer, memory));
        LH_TRY(lh_pass_carry(pass, model->memory[i],
                             lh_last_tokens(core.tape, model->span, memory, x)));
        x = lh_scope_close(core.tape, scope, lh_staircase_apply(&core, layer, x, &view));
    }
    return lh_staircase_finish(&core, x, out);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_staircase_config *config = &model->core.config;
    const lh_staircase_view view = view_of(model, NULL);
    const double pairs = (double)length * (double)model->span,
                 application = lh_staircase_apply_flops(config, &view, length, pairs) +
                               lh_staircase_keys_flops(config, model->span);
    return (double)model->applications * application / (double)length +
           lh_staircase_head_flops(config);
}

const lh_model_class lh_model_transformer_xl = {
    .name = "transformer_xl",
    .summary = "Transformer with learned relative positions and a memory per layer",
    .paper = "Ju et al. 2022, arXiv:2106.04279, section 4; Dai et al. 2019, arXiv:1901.02860",
    .layout =
        "layer norms add 1e-5 to the variance; row d of positions is row limit - 1 - d of key_pe",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .later_options = lh_staircase_later_options,
};

const lh_model_class lh_model_universal = {
    .name = "universal",
    .summary = "Universal Transformer: the same layer applied several times",
    .paper = "Dehghani et al. 2019, arXiv:1807.03819; Ju et al. 2022, section 4",
    .layout =
        "layer norms add 1e-5 to the variance; row d of positions is row limit - 1 - d of key_pe",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE,
    .options = universal_options,
    .instance_size = sizeof(instance),
    .declare = declare_universal,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .later_options = lh_staircase_later_options,
};
