/* Informer (Zhou et al. 2021), unless asked for without distilling, as Huang et al. 2023 (RSA)
 * compare with it, and LogSparse (Li et al. 2019), which they build as an Informer that attends to
 * other cells. */
#include "models/layers/common.h"
#include "models/layers/forecaster.h"
#include "models/models.h"

typedef struct instance {
    lh_forecaster forecaster;
} instance;

static const char *const attentions[] = {"full", "prob", NULL};

static const lh_option options[] = {
    LH_FORECASTER_OPTIONS,
    {"attention", LH_OPTION_CHOICE, "prob", 0, 0, attentions,
     "self-attention: ProbSparse or dense"},
    {"factor", LH_OPTION_INTEGER, "5", 1, 1e6, NULL,
     "ProbSparse: factor * ceil(ln length) queries attend, as many keys are sampled (c)"},
    {"mix", LH_OPTION_FLAG, "true", 0, 0, NULL,
     "leave heads and steps of the decoder's self-attention swapped, as the released code does"},
    {"rsa_lazy", LH_OPTION_FLAG | LH_OPTION_LATE, "true", 0, 0, NULL,
     "ProbSparse: recurrence encoding joins the queries that do not attend, too"},
    {"distil", LH_OPTION_FLAG | LH_OPTION_LATE, "false", 0, 0, NULL,
     "halve the sequence between layers of the encoder (section 3.2), which RSA leaves out"},
    {NULL, LH_OPTION_TEXT, NULL, 0, 0, NULL, NULL}};

static const lh_option logsparse_options[] = {
    LH_FORECASTER_OPTIONS,
    {"kernel", LH_OPTION_INTEGER, "3", 1, 16, NULL,
     "steps that queries and keys of self-attention are convolved over (k)"},
    {"local", LH_OPTION_INTEGER, "0", 0, 1e6, NULL,
     "distances up to this are visible beside the powers of two"},
    {"restart", LH_OPTION_INTEGER | LH_OPTION_LATE, "0", 0, 1e6, NULL,
     "the pattern of distances begins again after so many steps; 0: never"},
    {NULL, LH_OPTION_TEXT, NULL, 0, 0, NULL, NULL}};

static lh_status declare(void *self, const lh_options *values, const lh_model_setup *setup,
                         lh_declare *declaration) {
    instance *model = self;
    const lh_series_attention attention = {
        .kind = (lh_series_attention_kind)lh_options_choice(values, "attention"),
        .factor = lh_options_integer(values, "factor"),
        .all_encoded = lh_options_flag(values, "rsa_lazy"),
        .taps = 1};
    model->forecaster.distils = lh_options_flag(values, "distil");
    return lh_forecaster_declare(&model->forecaster, values, setup, attention,
                                 lh_options_flag(values, "mix"), declaration);
}

static lh_status declare_logsparse(void *self, const lh_options *values,
                                   const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    const lh_series_attention attention = {.kind = LH_SERIES_LOG,
                                           .taps = lh_options_integer(values, "kernel"),
                                           .local = lh_options_integer(values, "local"),
                                           .restart = lh_options_integer(values, "restart")};
    return lh_forecaster_declare(&model->forecaster, values, setup, attention, false, declaration);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    return lh_forecaster_forward(&model->forecaster, pass, out);
}

static lh_status check(const void *self, int64_t rows, int64_t length) {
    const instance *model = self;
    (void)rows;
    return lh_require_window(&model->forecaster.setup, length);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    (void)length;
    return lh_forecaster_flops(&model->forecaster);
}

static lh_status probe(const void *self, const lh_params *params,
                       void (*report)(void *context, const char *name, double value),
                       void *context) {
    const instance *model = self;
    return lh_forecaster_probe(&model->forecaster, params, report, context);
}

const lh_model_class lh_model_informer = {
    .name = "informer",
    .summary = "Encoder and decoder with ProbSparse attention for time series",
    .paper = "Zhou et al. 2021, arXiv:2012.07436; Huang et al. 2023 (RSA), section 4.1",
    .version = 1,
    .abilities = LH_ABLE_VECTORS,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
};

const lh_model_class lh_model_logsparse = {
    .name = "logsparse",
    .summary = "Encoder and decoder with log-sparse, convolved attention for time series",
    .paper = "Li et al. 2019, arXiv:1907.00235; Huang et al. 2023 (RSA), section 4.1",
    .version = 1,
    .abilities = LH_ABLE_VECTORS,
    .options = logsparse_options,
    .instance_size = sizeof(instance),
    .declare = declare_logsparse,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
};
