-- A model of the tree: an embedding and a norm, which train.
return {
  says = "an architecture in models/, and its line in the list",
  files = { { "models/NAME.c", [==[
/* NAME: one sentence, and the paper with its equations. */
#include "models/layers/common.h"

/* What options set, and what declare keeps for forward. */
typedef struct instance {
    int64_t width, vocabulary;
    int embedding, gain;
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("width", instance, width, 128, 1, 65536, "embedding size"), {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(instance), {0}};

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    model->vocabulary = setup->vocabulary;
    const int64_t table[] = {setup->vocabulary, model->width};
    model->embedding =
        lh_declare_param(declaration, lh_init_normal(1.0), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    model->gain = lh_declare_param(declaration, lh_init_ones(), 1, &model->width, "norm.gain");
    return LH_OK;
}

/* hidden[r][t] = rms_norm(embedding[token[r][t]]): replace this by the architecture. */
static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *weight = lh_pass_param(pass, model->embedding);
    lh_tensor *x = lh_gather(tape, weight, lh_pass_batch(pass)->tokens);
    out->hidden = lh_rms_norm(tape, x, lh_pass_param(pass, model->gain), 1e-6);
    out->head_weight = weight;
    out->logit_scale = 1.0 / (double)model->width;
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    (void)length;
    /* two for each weight of a matrix product, and attention's products; so far the head alone */
    return 2.0 * (double)(model->width * model->vocabulary);
}

const lh_model_class lh_model_NAME = {
    .name = "NAME",
    .summary = "one line",
    .paper = "Author et al. year, arXiv:number",
    /* raised when the model computes something else: runs of before are stale then */
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
};
]==] } },
  lines = { { "models/models.def", "LH_MODEL(NAME)" } },
  next = "a row in tests/models/model_bench.h, make; docs/adding.md",
}
