/* A model outside of the tree: each token's vector predicts the next one. What a plug-in author
 * writes. */
#include "harness/engine/model.h"
#include "harness/ops/ops.h"

typedef struct bigram {
    int64_t width;
    int embedding;
} bigram;

static const lh_option bigram_options[] = {
    LH_INTEGER("width", bigram, width, 16, 1, 4096, "size of a token's vector"), {0}};

static const lh_option_table options[] = {LH_OWN_TABLE(bigram), {0}};

static lh_status declare(void *instance, const lh_model_setup *setup, lh_declare *declaration) {
    bigram *model = instance;
    const int64_t shape[] = {setup->vocabulary, model->width};
    const lh_init init = {LH_INIT_NORMAL, 0.0, 1.0};
    model->embedding = lh_declare_param(declaration, init, 2, shape, "embedding.weight");
    lh_declare_embedding(declaration);
    return LH_OK;
}

static lh_status forward(const void *instance, lh_pass *pass, lh_output *out) {
    lh_tensor *table = lh_pass_param(pass, ((const bigram *)instance)->embedding);
    out->hidden = lh_gather(lh_pass_tape(pass), table, lh_pass_batch(pass)->tokens);
    out->head_weight = table;
    return out->hidden != NULL ? LH_OK : lh_error_get()->status;
}

static double flops_per_token(const void *instance, int64_t length) {
    (void)instance;
    (void)length;
    return 0;
}

static const lh_model_class class = {.name = "bigram",
                                     .summary = "Predicts a token from the one before",
                                     .paper = "Shannon 1948",
                                     .version = 1,
                                     .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS,
                                     .options = options,
                                     .instance_size = sizeof(bigram),
                                     .declare = declare,
                                     .forward = forward,
                                     .flops_per_token = flops_per_token};

static const lh_model_class *const classes[] = {&class, NULL};

static const lh_plugin plugin = {.magic = LH_PLUGIN_MAGIC,
                                 .abi_major = LH_MODEL_ABI_MAJOR,
                                 .abi_minor = LH_MODEL_ABI_MINOR,
                                 .class_size = sizeof(lh_model_class),
                                 .classes = classes};

const lh_plugin *lh_plugin_get(void);
const lh_plugin *lh_plugin_get(void) {
    return &plugin;
}
