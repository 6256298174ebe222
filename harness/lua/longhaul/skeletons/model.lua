-- A model of the tree: an embedding and a norm, which train.
return {
  says = "an architecture in models/, and its line in the list",
  files = { { "models/NAME.c", [==[
/* NAME: one sentence, and the paper with its equations. */
#include "harness/engine/model.h"
#include "harness/ops/ops.h"

/* What options set, and what declare keeps for forward. */
typedef struct NAME_model {
    int64_t width;
    int embedding, gain;
} NAME_model;

static const lh_option NAME_options[] = {
    LH_INTEGER("width", NAME_model, width, 128, 1, 65536, "embedding size"),
    {0},
};

static const lh_option_table NAME_tables[] = {{NAME_options, 0}, {0}};

static lh_status NAME_declare(void *instance, const lh_model_setup *setup, lh_declare *declare) {
    NAME_model *m = instance;
    const int64_t embedding[] = {setup->vocabulary, m->width};
    const lh_init normal = {.kind = LH_INIT_NORMAL, .mean = 0.0, .deviation = 1.0};
    const lh_init one = {.kind = LH_INIT_CONSTANT, .mean = 1.0};
    m->embedding = lh_declare_param(declare, normal, 2, embedding, "embedding.weight");
    lh_declare_embedding(declare);
    m->gain = lh_declare_param(declare, one, 1, &m->width, "norm.gain");
    return LH_OK;
}

/* hidden[r][t] = rms_norm(embedding[token[r][t]]): replace this by the architecture. */
static lh_status NAME_forward(const void *instance, lh_pass *pass, lh_output *out) {
    const NAME_model *m = instance;
    lh_tape *tape = lh_pass_tape(pass);
    lh_tensor *weight = lh_pass_param(pass, m->embedding);
    lh_tensor *x = lh_gather(tape, weight, lh_pass_batch(pass)->tokens);
    out->hidden = lh_rms_norm(tape, x, lh_pass_param(pass, m->gain), 1e-6);
    out->head_weight = weight;
    out->logit_scale = 1.0 / (double)m->width;
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static double NAME_flops_per_token(const void *instance, int64_t length) {
    (void)instance;
    (void)length;
    return 0.0; /* matrix products and attention; the harness adds the head */
}

const lh_model_class lh_model_NAME = {
    .name = "NAME",
    .summary = "one line",
    .paper = "Author et al. year, arXiv:number",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS,
    .options = NAME_tables,
    .instance_size = sizeof(NAME_model),
    .declare = NAME_declare,
    .forward = NAME_forward,
    .flops_per_token = NAME_flops_per_token,
};
]==] } },
  lines = { { "models/models.def", "LH_MODEL(NAME)" } },
  next = "a row in tests/models/model_bench.h, make; docs/adding.md",
}
