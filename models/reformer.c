/* Reformer (Kitaev et al. 2020): attention by locality-sensitive hashing (section 2), reversible
 * layers and chunked feed-forward networks (section 3), axial positions; and what the paper
 * compares it with, by the options: full attention, shared queries and keys, plain residual
 * connections. A language model; a segment knows nothing of the one before. */
#include <stdio.h>

#include "models/reformer/axial_position.h"
#include "models/reformer/reformer_core.h"

typedef struct layer {
    lh_reformer_attention attention;
    lh_reformer_feed_forward feed_forward;
} layer;

typedef struct instance {
    lh_reformer_config config;
    lh_axial_positions positions;
    int embedding, head, head_bias;
    lh_norm norm;
    layer layer[LH_REFORMER_LAYERS];
} instance;

static const lh_option_table options[] = {
    LH_TABLE(instance, config, lh_reformer_config),
    {lh_reformer_attention_options, LH_FIELD(instance, config, lh_reformer_config)},
    LH_TABLE(instance, positions, lh_axial_positions),
    {0}};

/* Of the hidden states: both streams side by side, or the one there is. */
static int64_t hidden_width(const lh_reformer_config *config) {
    return config->width * (config->residual == LH_RESIDUAL_PLAIN ? 1 : 2);
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    const lh_reformer_config *config = &model->config;
    char prefix[64];
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.attention.", (long long)i);
    lh_reformer_attention_declare(&model->layer[i].attention, config,
                                  lh_reformer_shares(config->kind[i]), declaration, prefix);
    (void)snprintf(prefix, sizeof prefix, "layers.%lld.feed_forward.", (long long)i);
    lh_reformer_feed_forward_declare(&model->layer[i].feed_forward, config, declaration, prefix);
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    lh_reformer_config *config = &model->config;
    LH_TRY(lh_reformer_config_settle(config, setup));
    LH_TRY(lh_reformer_attention_settle(config));
    LH_TRY(lh_axial_positions_settle(&model->positions, config->width));
    const int64_t table[] = {config->vocabulary, config->width},
                  head[] = {config->vocabulary, hidden_width(config)};
    model->embedding = lh_declare_param(declaration, lh_reformer_weight(table[0], table[1]), 2,
                                        table, "embedding.weight");
    lh_declare_embedding(declaration);
    lh_axial_positions_declare(&model->positions, declaration);
    for (int64_t i = 0; i < config->layers; ++i)
        declare_layer(model, i, declaration);
    model->norm = lh_norm_declare(declaration, head[1], "norm");
    model->head =
        lh_declare_param(declaration, lh_reformer_weight(head[0], head[1]), 2, head, "head.weight");
    model->head_bias = lh_declare_param(declaration, lh_reformer_bias(), 1, head, "head.bias");
    return LH_OK;
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    return lh_axial_positions_check(&model->positions, length);
}

/* ---- forward ---- */

/* One layer of a pass, for the halves of its block. */
typedef struct half_context {
    const lh_reformer_run *run;
    const layer *layer;
    lh_reformer_kind kind;
} half_context;

static lh_tensor *attention_half(lh_tape *tape, void *context, lh_tensor *x) {
    (void)tape;
    const half_context *half = context;
    return lh_reformer_attend(half->run, &half->layer->attention, half->kind, x);
}

static lh_tensor *feed_forward_half(lh_tape *tape, void *context, lh_tensor *x) {
    (void)tape;
    const half_context *half = context;
    return lh_reformer_feed_forward_apply(half->run, &half->layer->feed_forward, x);
}

/* Embeddings and positions. */
static lh_tensor *embed(const instance *model, const lh_reformer_run *run, lh_tensor *tokens) {
    lh_tensor *x = lh_gather(run->tape, run->param[model->embedding], tokens);
    return lh_axial_positions_add(&model->positions, run->tape, run->param,
                                  lh_reformer_dropout(run, x));
}

static lh_tensor *run_layers(const instance *model, const lh_reformer_run *run, lh_tensor *x) {
    const int count = (int)model->config.layers;
    lh_reversible_block blocks[LH_REFORMER_LAYERS];
    half_context *contexts = lh_tape_scratch(run->tape, (size_t)count * sizeof *contexts);
    if (contexts == NULL) return NULL;
    for (int i = 0; i < count; ++i) {
        contexts[i] = (half_context){run, &model->layer[i], model->config.kind[i]};
        blocks[i] =
            (lh_reversible_block){attention_half, feed_forward_half, &contexts[i], &contexts[i]};
    }
    lh_tensor *y[2];
    if (lh_reformer_blocks(run, blocks, count, x, &y[0], &y[1]) != LH_OK) return NULL;
    return y[1] == NULL ? y[0] : lh_concat(run->tape, 2, y, 2);
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    const lh_reformer_run *run = lh_reformer_begin(&model->config, pass);
    if (run == NULL) return LH_EMEMORY;
    lh_tensor *x = run_layers(model, run, embed(model, run, lh_pass_batch(pass)->tokens));
    out->hidden = lh_reformer_dropout(run, lh_reformer_norm(run, x, model->norm));
    out->head_weight = run->param[model->head];
    out->head_bias = run->param[model->head_bias];
    return out->hidden != NULL ? LH_OK : lh_failed();
}

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_reformer_config *config = &model->config;
    double flops = 2.0 * (double)(config->vocabulary * hidden_width(config));
    for (int64_t i = 0; i < config->layers; ++i)
        flops += lh_reformer_attention_flops(config, config->kind[i], length) +
                 lh_reformer_feed_forward_flops(config);
    return flops;
}

/* The layout of transformers' ReformerModelWithLMHead, two axes of positions. */
#define LAYER "reformer.encoder.layers.#."
static const lh_tensor_name published_names[] = {
    {"reformer.embeddings.word_embeddings.weight", "embedding.weight", LH_ALIKE},
    {"reformer.embeddings.position_embeddings.weights.0", "positions.0.weight", LH_ALONG_FIRST},
    {"reformer.embeddings.position_embeddings.weights.1", "positions.1.weight", LH_ALONG_SECOND},
    {LAYER "attention.layer_norm.weight", "layers.#.attention.norm.gain", LH_ALIKE},
    {LAYER "attention.layer_norm.bias", "layers.#.attention.norm.bias", LH_ALIKE},
    {LAYER "attention.self_attention.query_key.weight", "layers.#.attention.query_key",
     LH_TRANSPOSED},
    {LAYER "attention.self_attention.query.weight", "layers.#.attention.query", LH_TRANSPOSED},
    {LAYER "attention.self_attention.key.weight", "layers.#.attention.key", LH_TRANSPOSED},
    {LAYER "attention.self_attention.value.weight", "layers.#.attention.value", LH_TRANSPOSED},
    {LAYER "attention.output.dense.weight", "layers.#.attention.out", LH_TRANSPOSED},
    {LAYER "feed_forward.layer_norm.weight", "layers.#.feed_forward.norm.gain", LH_ALIKE},
    {LAYER "feed_forward.layer_norm.bias", "layers.#.feed_forward.norm.bias", LH_ALIKE},
    {LAYER "feed_forward.dense.dense.weight", "layers.#.feed_forward.in", LH_TRANSPOSED},
    {LAYER "feed_forward.dense.dense.bias", "layers.#.feed_forward.in_bias", LH_ALIKE},
    {LAYER "feed_forward.output.dense.weight", "layers.#.feed_forward.out", LH_TRANSPOSED},
    {LAYER "feed_forward.output.dense.bias", "layers.#.feed_forward.out_bias", LH_ALIKE},
    {"reformer.encoder.layer_norm.weight", "norm.gain", LH_ALIKE},
    {"reformer.encoder.layer_norm.bias", "norm.bias", LH_ALIKE},
    {"lm_head.decoder.weight", "head.weight", LH_ALIKE},
    {"lm_head.bias", "head.bias", LH_ALIKE},
    /* what the library makes from its configuration and older versions saved */
    {"lm_head.decoder.bias", "=head.bias", LH_ALIKE},
    {LAYER "attention.self_attention.self_mask_value_float16", NULL, LH_ALIKE},
    {LAYER "attention.self_attention.self_mask_value_float32", NULL, LH_ALIKE},
    {LAYER "attention.self_attention.mask_value_float16", NULL, LH_ALIKE},
    {LAYER "attention.self_attention.mask_value_float32", NULL, LH_ALIKE},
    {NULL, NULL, LH_ALIKE},
};

const lh_model_class lh_model_reformer = {
    .name = "reformer",
    .summary = "LSH attention, reversible layers, chunked feed-forward networks",
    .paper = "Kitaev et al. 2020, arXiv:2001.04451",
    .layout =
        "layer norms add 1e-6 to the variance (transformers: 1e-12), unit keys 1e-6 to the mean "
        "square; [n][m] along one of two axes has one of size 1 in the place of the other",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL_BY_MASK | LH_ABLE_TOKENS,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .published_names = published_names,
};
