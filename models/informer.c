/* Informer (Zhou et al. 2021, section 3), unless asked for without distilling, as Huang et al. 2023
 * (RSA, section 4.1) compare with it, and LogSparse (Li et al. 2019, section 4), which they build
 * as an Informer that attends to other cells. */
#include "models/series/forecaster.h"

typedef struct instance {
    lh_forecaster forecaster;
    lh_series_attention attention; /* what self-attentions are like */
    bool mixes;                    /* in the decoder */
} instance;

static const char *const attentions[] = {"full", "prob", NULL};

static const lh_option informer_rows[] = {
    LH_CHOICE("attention", instance, attention.kind, LH_SERIES_PROB, attentions,
              "self-attention: ProbSparse or dense"),
    LH_INTEGER("factor", instance, attention.factor, 5, 1, 1e6,
               "ProbSparse: factor * ceil(ln length) queries attend, as many keys are sampled (c)"),
    LH_FLAG(
        "mix", instance, mixes, true,
        "leave heads and steps of the decoder's self-attention swapped, as the released code does"),
    LH_FLAG("rsa_lazy", instance, attention.all_encoded, true,
            "ProbSparse: recurrence encoding joins the queries that do not attend, too"),
    LH_FLAG("distil", instance, forecaster.distils, false,
            "halve the sequence between layers of the encoder (section 3.2), which RSA leaves out"),
    {0}};

static const lh_option_table options[] = {
    LH_TABLE(instance, forecaster, lh_forecaster),
    LH_TABLE(instance, forecaster.recurrence, lh_recurrence_config),
    {informer_rows, 0},
    {0}};

static const lh_option logsparse_rows[] = {
    LH_INTEGER("kernel", instance, attention.taps, 3, 1, 16,
               "steps that queries and keys of self-attention are convolved over (k)"),
    LH_INTEGER("local", instance, attention.local, 0, 0, 1e6,
               "distances up to this are visible beside the powers of two"),
    LH_INTEGER("restart", instance, attention.restart, 0, 0, 1e6,
               "the pattern of distances begins again after so many steps; 0: never"),
    {0}};

static const lh_option_table logsparse_options[] = {
    LH_TABLE(instance, forecaster, lh_forecaster),
    LH_TABLE(instance, forecaster.recurrence, lh_recurrence_config),
    {logsparse_rows, 0},
    {0}};

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    model->attention.taps = 1;
    return lh_forecaster_declare(&model->forecaster, setup, model->attention, model->mixes,
                                 declaration);
}

static lh_status declare_logsparse(void *self, const lh_model_setup *setup,
                                   lh_declare *declaration) {
    instance *model = self;
    model->attention.kind = LH_SERIES_LOG;
    return lh_forecaster_declare(&model->forecaster, setup, model->attention, false, declaration);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    return lh_forecaster_forward(&model->forecaster, pass, out);
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    return lh_require_window(&model->forecaster.setup, length);
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    return lh_forecaster_flops(&model->forecaster, length);
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_forecaster_probe(&model->forecaster, params, report);
}

const lh_model_class lh_model_informer = {
    .name = "informer",
    .summary = "Encoder and decoder with ProbSparse attention for time series",
    .paper = "Zhou et al. 2021, arXiv:2012.07436; Huang et al. 2023 (RSA), section 4.1",
    .layout = "norms add 1e-5 to the variance; a convolution is [3 width][width], tap by tap",
    .version = 1,
    .abilities = LH_ABLE_VECTORS | LH_ABLE_WINDOWS,
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
    .layout = "norms add 1e-5 to the variance; a convolution is [3 width][width], tap by tap",
    .version = 1,
    .abilities = LH_ABLE_VECTORS | LH_ABLE_WINDOWS,
    .options = logsparse_options,
    .instance_size = sizeof(instance),
    .declare = declare_logsparse,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
};
