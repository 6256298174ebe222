/* Transformer-XL as Dai et al. 2019 (arXiv:1901.02860) published and released it: relative
 * positions from sinusoids with biases that all layers share, post-norm layers, a memory of every
 * layer's inputs, embeddings scaled by sqrt(width) and tied to the softmax, whose tail may be cut
 * into clusters (Grave et al. 2017). The language models of Huang et al. 2023, section 4.3: RSA-XL
 * with rsa_kinds, FL-XL with rsa_matrix, BRT and RSA-BRT with a recurrent layer. */
#include "models/dai/dai_core.h"
#include "models/dai/learned_matrix.h"
#include "models/dai/recurrent_block.h"
#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"

/* What a layer has beside those of the core. */
typedef struct layer {
    lh_recurrence_encoding recurrence;
    lh_learned_matrix matrix;
    int memory; /* state slot */
} layer;

typedef enum matrix_kind { LAGS, LEARNED, TOEPLITZ } matrix_kind;
static const char *const matrices[] = {"lags", "learned", "toeplitz", NULL};

typedef struct instance {
    lh_dai_core core;
    int64_t memory, longest_distance, segment, recurrent; /* recurrent: from 0; -1: none */
    bool same_length;
    matrix_kind matrix;
    lh_recurrence_config recurrence;
    layer layer[LH_DAI_LAYERS];
    lh_recurrent_block block;
} instance;

static const lh_option memory_options[] = {
    LH_INTEGER("memory", instance, memory, 512, 0, 1048576,
               "tokens of the segments before that every layer attends to (M)"),
    LH_FLAG("same_length", instance, same_length, false,
            "every token sees as many tokens as there is memory"),
    LH_INTEGER("longest_distance", instance, longest_distance, 0, 0, 1e9,
               "larger distances count as this one; 0: none do"),
    {0}};

static const lh_option instance_options[] = {
    LH_INTEGER(
        "recurrent_layer", instance, recurrent, 0, -LH_DAI_LAYERS, LH_DAI_LAYERS,
        "the layer that is block-recurrent, from 1; negative counts from the top; 0: none. Its "
        "networks are 4 * width wide whatever 'hidden' is, and nothing in it is dropped"),
    LH_INTEGER("states", instance, block.config.states, 128, 1, 1048576,
               "state vectors of that layer"),
    LH_INTEGER("state_head_width", instance, block.config.state_head_width, 0, 0, 4096,
               "size of that layer's heads whose queries are states; 0: head_width"),
    LH_INTEGER("block", instance, block.config.block, 0, 0, 1048576,
               "tokens per step of the states; 0: the segment, whose states are then never learnt"),
    LH_CHOICE("rsa_matrix", instance, matrix, LAGS, matrices,
              "what the heads of rsa_kinds mix in: REMs, learned matrices (FL-XL), or a learned "
              "number a lag"),
    LH_INTEGER("segment", instance, segment, 0, 0, 1048576,
               "learned matrices: the longest segment, which is their number of rows"),
    {0}};

/* In the order that runs are known by. */
static const lh_option_table options[] = {
    {lh_dai_size_options, LH_FIELD(instance, core.config, lh_dai_config)},
    {memory_options, 0},
    {lh_dai_training_options, LH_FIELD(instance, core.config, lh_dai_config)},
    LH_OWN_TABLE(instance),
    LH_TABLE(instance, recurrence, lh_recurrence_config),
    {lh_dai_release_options, LH_FIELD(instance, core.config, lh_dai_config)},
    {0}};

static const char *const later_options[] = {"cluster_divisor", "share_biases", NULL};

/* ---- options ---- */

static lh_status settle_recurrent(instance *model) {
    const int64_t chosen = model->recurrent;
    model->recurrent = -1;
    if (chosen == 0) return LH_OK;
    return lh_settle_layer("recurrent_layer", chosen, model->core.config.layers, &model->recurrent);
}

/* Of one lag at least: entries of a matrix stand before the diagonal. */
static lh_status settle_matrix(const instance *model) {
    const lh_part_option idle[] = {{"segment", model->segment != 0}, {0}};
    const char *name = matrices[model->matrix];
    if (model->matrix == LAGS)
        return lh_refuse_idle(idle, "rsa_matrix=learned or rsa_matrix=toeplitz");
    if (model->recurrence.heads == 0)
        return lh_fail(LH_EOPTION, "rsa_matrix=%s needs rsa_kinds, the heads that have one", name);
    if (model->segment == 0)
        return lh_fail(LH_EOPTION, "rsa_matrix=%s needs option 'segment', the rows of a matrix",
                       name);
    if (model->segment + model->memory > 1) return LH_OK;
    return lh_fail(LH_EOPTION, "rsa_matrix=%s needs a memory, or a segment of 2 or more", name);
}

static lh_status settle_options(instance *model, const lh_model_setup *setup) {
    lh_dai_config *config = &model->core.config;
    if (model->same_length && model->memory == 0)
        return lh_fail(LH_EOPTION, "option 'same_length' needs a memory");
    LH_TRY(lh_dai_config_settle(config, setup));
    LH_TRY(settle_recurrent(model));
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, config->heads));
    return settle_matrix(model);
}

/* ---- parameters ---- */

/* The first layer that has relative positions; the others share its biases. */
static int64_t first_plain(const instance *model) {
    return model->recurrent == 0 ? 1 : 0;
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    const lh_recurrence_config *recurrence = &model->recurrence;
    const int64_t memory[] = {model->memory, model->core.config.width};
    layer *l = &model->layer[i];
    char name[LH_LAYER_NAME];
    lh_dai_declare_attention(&model->core, i, first_plain(model), declaration);
    if (model->memory > 0)
        l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 2, memory,
                                     "layers.%lld.attention.memory", (long long)i);
    lh_layer_name(name, i, "recurrence");
    if (model->matrix == LAGS) {
        lh_recurrence_encoding_declare(&l->recurrence, recurrence, declaration, name);
    } else {
        l->matrix = (lh_learned_matrix){.encoded = recurrence->heads,
                                        .segment = model->segment,
                                        .memory = model->memory,
                                        .toeplitz = model->matrix == TOEPLITZ};
        lh_learned_matrix_declare(&l->matrix, recurrence->gate, declaration, name);
    }
    lh_dai_declare_network(&model->core, i, declaration);
}

static void declare_block(instance *model, lh_declare *declaration) {
    const lh_dai_config *core = &model->core.config;
    char name[LH_LAYER_NAME];
    lh_recurrent_block_config config = model->block.config;
    config.width = core->width;
    config.heads = core->heads;
    config.head_width = core->head_width;
    config.hidden = 4 * core->width;
    if (config.state_head_width == 0) config.state_head_width = core->head_width;
    lh_recurrent_block_declare(&model->block, &config, lh_init_normal(core->deviation), declaration,
                               lh_layer_name(name, model->recurrent, "recurrent"));
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(settle_options(model, setup));
    lh_dai_declare_head(&model->core, declaration);
    for (int64_t i = 0; i < model->core.config.layers; ++i) {
        if (i == model->recurrent) {
            declare_block(model, declaration);
        } else {
            declare_layer(model, i, declaration);
        }
    }
    return LH_OK;
}

static lh_status check(const void *self, int64_t length) {
    const instance *model = self;
    const int64_t block = model->block.config.block;
    if (model->recurrent >= 0 && block > 0) LH_TRY(lh_require_whole_chunks("block", block, length));
    if (model->segment == 0 || length <= model->segment) return LH_OK;
    return lh_fail(LH_ESHAPE, "segment %lld is longer than the matrices, which have %lld rows",
                   (long long)length, (long long)model->segment);
}

/* ---- forward ---- */

/* The layer's inputs before this segment, and hands over those that the next one has; NULL: none.
 */
static lh_status remember(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *x,
                          lh_tensor **memory) {
    *memory = NULL;
    if (model->memory == 0) return LH_OK;
    *memory = lh_pass_state(p->pass, model->layer[i].memory);
    return lh_pass_carry(p->pass, model->layer[i].memory,
                         lh_last_tokens(p->tape, model->memory, *memory, x));
}

/* Values of memory and segment as one tensor. */
static lh_tensor *all_values(const lh_dai_pass *p, const lh_attention *attention) {
    lh_tensor *const parts[] = {attention->keys[0].v, attention->keys[1].v};
    return attention->key_count == 1 ? parts[0] : lh_concat(p->tape, 1, parts, 2);
}

/* Each token sees the memory and the segment up to itself. */
static lh_tensor *attend(const instance *model, const lh_dai_pass *p, int64_t i, lh_tensor *x,
                         lh_tensor *memory) {
    const layer *l = &model->layer[i];
    lh_attention attention;
    lh_tensor *before = memory != NULL ? lh_dai_keys(p, i, memory) : NULL;
    lh_tensor *keys = lh_dai_keys(p, i, x), *q = lh_dai_queries(p, i, x, &attention);
    if (model->same_length) attention.max_distance = model->memory - 1;
    if (before != NULL) lh_dai_add_keys(p, &attention, before, -model->memory);
    lh_dai_add_keys(p, &attention, keys, 0);
    lh_tensor *y = lh_attend(p->tape, &attention, q);
    y = lh_recurrence_encoding_mix(&l->recurrence, p->pass, &attention, y);
    if (l->matrix.encoded > 0)
        y = lh_learned_matrix_mix(&l->matrix, p->pass, all_values(p, &attention), y);
    return y;
}

static lh_tensor *apply_layer(const instance *model, const lh_dai_pass *p, int64_t i,
                              lh_tensor *x) {
    const lh_scope scope = lh_scope_open(p->tape);
    lh_tensor *memory = NULL;
    if (remember(model, p, i, x, &memory) != LH_OK) return NULL;
    lh_tensor *y = attend(model, p, i, x, memory);
    return lh_scope_close(p->tape, scope, lh_dai_finish_layer(p, i, x, y));
}

/* How many distances queries of a segment of this length can have that do not count as one. */
static int64_t distances(const instance *model, int64_t length) {
    const int64_t reach = length + model->memory, most = model->longest_distance + 1;
    return model->longest_distance > 0 && most < reach ? most : reach;
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    lh_tensor *x = NULL;
    const lh_dai_pass p =
        lh_dai_begin(&model->core, pass, distances(model, lh_pass_batch(pass)->length), &x);
    for (int64_t i = 0; i < model->core.config.layers && x != NULL; ++i) {
        x = i == model->recurrent ? lh_recurrent_block_apply(&model->block, pass, x)
                                  : apply_layer(model, &p, i, x);
    }
    return lh_dai_finish(&p, x, out);
}

/* ---- accounting ---- */

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const lh_dai_config *config = &model->core.config;
    const double memory = (double)model->memory, tokens = (double)length;
    const double seen = model->same_length ? memory : memory + 0.5 * (tokens + 1);
    const double plain =
        lh_dai_layer_flops(config, tokens, tokens + memory, tokens * seen) / tokens;
    double flops = lh_dai_head_flops(config);
    for (int64_t i = 0; i < config->layers; ++i) {
        const double encoded = (double)(model->layer[i].matrix.encoded * config->head_width);
        flops += i == model->recurrent
                     ? lh_recurrent_block_flops(&model->block.config, length) / tokens
                     : plain + 2.0 * encoded * (memory + tokens);
    }
    return flops;
}

static lh_status probe(const void *self, const lh_params *params, const lh_report *report) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(&model->layer->recurrence, sizeof *model->layer,
                                         model->core.config.layers, params, report);
}

/* The layout of Hugging Face's TransfoXLLMHeadModel. The clusters' softmaxes have the embeddings
 * and all projections but the frequent words'. */
static const lh_tensor_name published_names[] = {
    {"transformer.word_emb.emb_layers.0.weight", "embedding.weight", LH_ALIKE},
    {"transformer.word_emb.emb_layers.#.weight", "embedding.#.weight", LH_ALIKE},
    {"transformer.word_emb.emb_projs.0", "embedding.projection", LH_TRANSPOSED},
    {"transformer.word_emb.emb_projs.#", "embedding.#.projection", LH_TRANSPOSED},
    {"crit.out_layers.0.bias", "head.bias", LH_ALIKE},
    {"crit.out_layers.#.bias", "head.#.bias", LH_ALIKE},
    {"crit.out_projs.0", "head.projection", LH_TRANSPOSED},
    {"crit.cluster_weight", "clusters.weight", LH_REVERSED},
    {"crit.cluster_bias", "clusters.bias", LH_REVERSED},
    {"transformer.layers.#.dec_attn.qkv_net.weight", "layers.#.attention.query", LH_TRANSPOSED},
    {"transformer.layers.#.dec_attn.qkv_net.weight", "layers.#.attention.key_value", LH_TRANSPOSED},
    {"transformer.layers.#.dec_attn.o_net.weight", "layers.#.attention.out", LH_TRANSPOSED},
    {"transformer.layers.#.dec_attn.r_net.weight", "layers.#.attention.relative.projection",
     LH_SINES_FIRST},
    {"transformer.layers.#.dec_attn.r_w_bias", "layers.#.attention.relative.content", LH_IN_ROWS},
    {"transformer.layers.#.dec_attn.r_r_bias", "layers.#.attention.relative.position", LH_IN_ROWS},
    {"transformer.layers.#.dec_attn.layer_norm.weight", "layers.#.attention.norm.gain", LH_ALIKE},
    {"transformer.layers.#.dec_attn.layer_norm.bias", "layers.#.attention.norm.bias", LH_ALIKE},
    {"transformer.layers.#.pos_ff.CoreNet.0.weight", "layers.#.feed_forward.in.weight",
     LH_TRANSPOSED},
    {"transformer.layers.#.pos_ff.CoreNet.0.bias", "layers.#.feed_forward.in.bias", LH_ALIKE},
    {"transformer.layers.#.pos_ff.CoreNet.3.weight", "layers.#.feed_forward.out.weight",
     LH_TRANSPOSED},
    {"transformer.layers.#.pos_ff.CoreNet.3.bias", "layers.#.feed_forward.out.bias", LH_ALIKE},
    {"transformer.layers.#.pos_ff.layer_norm.weight", "layers.#.feed_forward.norm.gain", LH_ALIKE},
    {"transformer.layers.#.pos_ff.layer_norm.bias", "layers.#.feed_forward.norm.bias", LH_ALIKE},
    {"transformer.pos_emb.inv_freq", NULL, LH_ALIKE},
    {"transformer.r_w_bias", "=layers.0.attention.relative.content", LH_IN_ROWS},
    {"transformer.r_r_bias", "=layers.0.attention.relative.position", LH_IN_ROWS},
    {"crit.out_layers.0.weight", "=embedding.weight", LH_ALIKE},
    {"crit.out_layers.#.weight", "=embedding.#.weight", LH_ALIKE},
    {"crit.out_projs.#", "=embedding.#.projection", LH_TRANSPOSED},
    {NULL, NULL, LH_ALIKE},
};

const lh_model_class lh_model_dai_xl = {
    .name = "dai_xl",
    .summary = "Transformer-XL as published; with REM, learned matrices or a block-recurrent layer",
    .paper = "Dai et al. 2019, arXiv:1901.02860; Huang et al. 2023, sections 4.3 and 4.4",
    .layout =
        "layer norms add 1e-5 to the variance; relative.content and .position: r_w_bias, r_r_bias",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE_TRUNCATED,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
    .later_options = later_options,
    .published_names = published_names,
};
