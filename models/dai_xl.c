/* Transformer-XL as Dai et al. 2019 (arXiv:1901.02860) published and released it: relative
 * positions from sinusoids with biases that all layers share, post-norm layers, a memory of every
 * layer's inputs, embeddings scaled by sqrt(width) and tied to the softmax, whose tail may be cut
 * into clusters (Grave et al. 2017). The language models of Huang et al. 2023, section 4.3: RSA-XL
 * with rsa_kinds, FL-XL with rsa_matrix, BRT and RSA-BRT with a recurrent layer. */
#include <math.h>
#include <stdio.h>

#include "models/dai/learned_matrix.h"
#include "models/dai/recurrent_block.h"
#include "models/layers/common.h"
#include "models/layers/dense.h"
#include "models/layers/recurrence_encoding.h"
#include "models/layers/relative_position.h"

enum { LAYERS = 64, NAME = 64 };

typedef struct layer {
    int query, key_value, out; /* [width][inner], [width][2 inner], [inner][width] */
    lh_relative_position relative;
    lh_norm attention_norm;
    lh_post_norm_network network;
    lh_recurrence_encoding recurrence;
    lh_learned_matrix matrix;
    int memory; /* state slot */
} layer;

typedef enum matrix_kind { LAGS, LEARNED, TOEPLITZ } matrix_kind;
static const char *const matrices[] = {"lags", "learned", "toeplitz", NULL};

typedef struct instance {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    int64_t memory, longest_distance, segment, recurrent; /* recurrent: from 0; -1: none */
    bool same_length;
    double dropout, attention_dropout, deviation;
    int embedding, head_bias, cluster_weight, cluster_bias;
    lh_list cutoffs; /* as the option says them */
    int clusters;
    int64_t cutoff[LH_CLUSTERS];
    matrix_kind matrix;
    lh_recurrence_config recurrence;
    layer layer[LAYERS];
    lh_recurrent_block block;
} instance;

static const lh_option instance_options[] = {
    LH_INTEGER("layers", instance, layers, 12, 1, LAYERS, "layers (N)"),
    LH_INTEGER("width", instance, width, 512, 1, 65536, "embedding size d"),
    LH_INTEGER("heads", instance, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", instance, head_width, 0, 0, 4096, "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", instance, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    LH_INTEGER("memory", instance, memory, 512, 0, 1048576,
               "tokens of the segments before that every layer attends to (M)"),
    LH_FLAG("same_length", instance, same_length, false,
            "every token sees as many tokens as there is memory"),
    LH_INTEGER("longest_distance", instance, longest_distance, 0, 0, 1e9,
               "larger distances count as this one; 0: none do"),
    LH_REAL("dropout", instance, dropout, 0.1, 0, 0.99,
            "dropout rate of embeddings, positions, layers and the last hidden states in training"),
    LH_REAL("attention_dropout", instance, attention_dropout, 0, 0, 0.99,
            "dropout rate of the attention weights in training"),
    LH_REAL("initial_deviation", instance, deviation, 0.02, 1e-6, 10,
            "of the initial weights, which narrow models want larger"),
    LH_LIST("cutoffs", instance, cutoffs, LH_NO_INTEGERS,
            "adaptive softmax: where the vocabulary, frequent words first, is cut into clusters"),
    LH_INTEGER("recurrent_layer", instance, recurrent, 0, -LAYERS, LAYERS,
               "the layer that is block-recurrent, from 1; negative counts from the top; 0: none"),
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

static const lh_option_table options[] = {
    LH_OWN_TABLE(instance), LH_TABLE(instance, recurrence, lh_recurrence_config), {0}};

static int64_t inner_of(const instance *model) {
    return model->heads * model->head_width;
}

/* ---- options ---- */

/* The option counts the layer from 1, or from the top. */
static lh_status settle_recurrent(instance *model) {
    const int64_t chosen = model->recurrent;
    model->recurrent = chosen < 0 ? model->layers + chosen : chosen - 1;
    if (model->recurrent >= -1 && model->recurrent < model->layers) return LH_OK;
    return lh_fail(LH_EOPTION, "option 'recurrent_layer' is %lld, but there are %lld layers",
                   (long long)chosen, (long long)model->layers);
}

static lh_status settle_cutoffs(instance *model) {
    model->clusters = lh_list_copy(&model->cutoffs, model->cutoff, LH_CLUSTERS);
    if (model->clusters > LH_CLUSTERS)
        return lh_fail(LH_EOPTION, "option 'cutoffs' has %d numbers, at most %d", model->clusters,
                       LH_CLUSTERS);
    for (int i = 0; i < model->clusters; ++i) {
        const int64_t before = i > 0 ? model->cutoff[i - 1] : 0;
        if (model->cutoff[i] <= before || model->cutoff[i] >= model->vocabulary)
            return lh_fail(LH_EOPTION,
                           "option 'cutoffs': %lld does not lie between %lld and the %lld entries "
                           "of the vocabulary",
                           (long long)model->cutoff[i], (long long)before,
                           (long long)model->vocabulary);
    }
    return LH_OK;
}

static lh_status settle_options(instance *model, const lh_model_setup *setup) {
    LH_TRY(lh_require_tokens(setup));
    model->vocabulary = setup->vocabulary;
    if (model->hidden == 0) model->hidden = 4 * model->width;
    if (model->same_length && model->memory == 0)
        return lh_fail(LH_EOPTION, "option 'same_length' needs a memory");
    LH_TRY(lh_settle_head_width(model->width, model->heads, &model->head_width));
    LH_TRY(settle_recurrent(model));
    LH_TRY(settle_cutoffs(model));
    LH_TRY(lh_recurrence_config_settle(&model->recurrence, model->heads));
    if (model->matrix != LAGS && model->segment == 0)
        return lh_fail(LH_EOPTION, "rsa_matrix=%s needs option 'segment', the rows of a matrix",
                       matrices[model->matrix]);
    return LH_OK;
}

/* ---- parameters: N(0, 0.02), gains N(1, 0.02), biases 0, as released ---- */

static const double gain_deviation = 0.02;

static lh_init small(const instance *model) {
    return lh_init_normal(model->deviation);
}

/* "layers.<i>.<part>" in `name`. */
static const char *name_part(char *name, int64_t i, const char *part) {
    (void)snprintf(name, NAME, "layers.%lld.%s", (long long)i, part);
    return name;
}

/* The first layer that has relative positions; the others share its biases. */
static int64_t first_plain(const instance *model) {
    return model->recurrent == 0 ? 1 : 0;
}

static void declare_attention(instance *model, int64_t i, lh_declare *declaration) {
    const int64_t inner = inner_of(model), first = first_plain(model),
                  query[] = {model->width, inner}, key_value[] = {model->width, 2 * inner},
                  out[] = {inner, model->width}, memory[] = {model->memory, model->width};
    layer *l = &model->layer[i];
    char name[NAME];
    const char *prefix = name_part(name, i, "attention");
    l->query = lh_declare_param(declaration, small(model), 2, query, "%s.query", prefix);
    l->key_value =
        lh_declare_param(declaration, small(model), 2, key_value, "%s.key_value", prefix);
    l->out = lh_declare_param(declaration, small(model), 2, out, "%s.out", prefix);
    if (i == first) {
        lh_relative_position_declare(&l->relative, model->width, model->heads, model->head_width,
                                     small(model), declaration, prefix);
    } else {
        lh_relative_position_declare_shared(&l->relative, &model->layer[first].relative,
                                            model->width, small(model), declaration, prefix);
    }
    if (model->memory > 0)
        l->memory = lh_declare_state(declaration, LH_STATE_REPLACE, 2, memory, "%s.memory", prefix);
}

static void declare_layer(instance *model, int64_t i, lh_declare *declaration) {
    const lh_recurrence_config *recurrence = &model->recurrence;
    layer *l = &model->layer[i];
    char name[NAME];
    declare_attention(model, i, declaration);
    name_part(name, i, "recurrence");
    if (model->matrix == LAGS) {
        lh_recurrence_encoding_declare(&l->recurrence, recurrence, declaration, name);
    } else {
        l->matrix = (lh_learned_matrix){.encoded = recurrence->heads,
                                        .segment = model->segment,
                                        .memory = model->memory,
                                        .toeplitz = model->matrix == TOEPLITZ};
        lh_learned_matrix_declare(&l->matrix, recurrence->gate, declaration, name);
    }
    l->attention_norm = lh_norm_declare_normal(declaration, model->width, gain_deviation,
                                               name_part(name, i, "attention.norm"));
    l->network.in =
        lh_dense_declare_normal(declaration, model->width, model->hidden, model->deviation,
                                name_part(name, i, "feed_forward.in"));
    l->network.back =
        lh_dense_declare_normal(declaration, model->hidden, model->width, model->deviation,
                                name_part(name, i, "feed_forward.out"));
    l->network.norm = lh_norm_declare_normal(declaration, model->width, gain_deviation,
                                             name_part(name, i, "feed_forward.norm"));
}

static void declare_block(instance *model, lh_declare *declaration) {
    char name[NAME];
    lh_recurrent_block_config config = model->block.config;
    config.width = model->width;
    config.heads = model->heads;
    config.head_width = model->head_width;
    config.hidden = 4 * model->width;
    if (config.state_head_width == 0) config.state_head_width = model->head_width;
    lh_recurrent_block_declare(&model->block, &config, small(model), declaration,
                               name_part(name, model->recurrent, "recurrent"));
}

static void declare_head(instance *model, lh_declare *declaration) {
    const int64_t table[] = {model->vocabulary, model->width},
                  clusters[] = {model->clusters, model->width};
    model->embedding = lh_declare_param(declaration, small(model), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    model->head_bias =
        lh_declare_param(declaration, lh_init_normal(0.0), 1, &model->vocabulary, "head.bias");
    if (model->clusters == 0) return;
    model->cluster_weight =
        lh_declare_param(declaration, small(model), 2, clusters, "clusters.weight");
    model->cluster_bias =
        lh_declare_param(declaration, lh_init_normal(0.0), 1, clusters, "clusters.bias");
}

static lh_status declare(void *self, const lh_model_setup *setup, lh_declare *declaration) {
    instance *model = self;
    LH_TRY(settle_options(model, setup));
    declare_head(model, declaration);
    for (int64_t i = 0; i < model->layers; ++i) {
        if (i == model->recurrent) {
            declare_block(model, declaration);
        } else {
            declare_layer(model, i, declaration);
        }
    }
    return LH_OK;
}

static lh_status check(const void *self, int64_t rows, int64_t length) {
    (void)rows;
    const instance *model = self;
    const int64_t block = model->block.config.block;
    if (model->recurrent >= 0 && block > 0) LH_TRY(lh_require_whole_chunks("block", block, length));
    if (model->segment == 0 || length <= model->segment) return LH_OK;
    return lh_fail(LH_ESHAPE, "segment %lld is longer than the matrices, which have %lld rows",
                   (long long)length, (long long)model->segment);
}

/* ---- forward ---- */

typedef struct run {
    const instance *model;
    lh_pass *pass;
    lh_tape *tape;
    double dropout;       /* 0 outside training */
    lh_tensor *sinusoids; /* of distances */
} run;

static lh_tensor *drop(const run *r, lh_tensor *x) {
    return lh_dropout(r->tape, x, r->dropout, 0);
}

/* [batch][n][k inner] -> [batch][n][k heads][head_width]. */
static lh_tensor *project(const run *r, lh_tensor *x, int weight) {
    lh_tensor *y = lh_linear(r->tape, x, lh_pass_param(r->pass, weight), NULL, LH_UNARY_IDENTITY);
    if (y == NULL) return NULL;
    const int64_t shape[] = {y->shape[0], y->shape[1], -1, r->model->head_width};
    return lh_reshape(r->tape, y, 4, shape);
}

static void add_keys(const run *r, lh_attention *attention, lh_tensor *joined, int64_t first) {
    const int64_t heads = r->model->heads;
    attention->keys[attention->key_count++] =
        (lh_keys){.k = lh_slice(r->tape, joined, 2, 0, heads),
                  .v = lh_slice(r->tape, joined, 2, heads, heads),
                  .first = first};
}

/* Sees the memory and the segment up to the token itself. */
static lh_attention make_attention(const run *r, const layer *l, lh_tensor *x, lh_tensor *memory) {
    const instance *model = r->model;
    lh_attention attention = LH_ATTENTION;
    attention.scale = 1.0 / sqrt((double)model->head_width);
    attention.min_distance = 0;
    if (model->same_length) attention.max_distance = model->memory - 1;
    if (lh_pass_is_training(r->pass)) attention.dropout = model->attention_dropout;
    if (memory != NULL) add_keys(r, &attention, project(r, memory, l->key_value), -model->memory);
    add_keys(r, &attention, project(r, x, l->key_value), 0);
    return attention;
}

/* Values of memory and segment as one tensor. */
static lh_tensor *all_values(const run *r, const lh_attention *attention) {
    lh_tensor *const parts[] = {attention->keys[0].v, attention->keys[1].v};
    return attention->key_count == 1 ? parts[0] : lh_concat(r->tape, 1, parts, 2);
}

static lh_tensor *attend(const run *r, const layer *l, lh_tensor *x, lh_tensor *memory) {
    lh_attention attention = make_attention(r, l, x, memory);
    lh_tensor *q = project(r, x, l->query);
    q = lh_relative_position_apply(&l->relative, r->pass, r->sinusoids, &attention, q);
    lh_tensor *y = lh_attend(r->tape, &attention, q);
    y = lh_recurrence_encoding_mix(&l->recurrence, r->pass, &attention, y);
    if (l->matrix.encoded > 0)
        y = lh_learned_matrix_mix(&l->matrix, r->pass, all_values(r, &attention), y);
    if (y == NULL) return NULL;
    const int64_t flat[] = {y->shape[0], y->shape[1], inner_of(r->model)};
    return lh_linear(r->tape, lh_reshape(r->tape, y, 3, flat), lh_pass_param(r->pass, l->out), NULL,
                     LH_UNARY_IDENTITY);
}

static lh_tensor *apply_layer(const run *r, const layer *l, lh_tensor *x) {
    const lh_scope scope = lh_scope_open(r->tape);
    lh_tensor *memory = NULL;
    if (r->model->memory > 0) {
        memory = lh_pass_state(r->pass, l->memory);
        lh_tensor *next = lh_last_tokens(r->tape, r->model->memory, memory, x);
        if (lh_pass_carry(r->pass, l->memory, next) != LH_OK) return NULL;
    }
    lh_tensor *y = attend(r, l, x, memory);
    y = lh_post_norm_join(l->attention_norm, r->pass, r->model->dropout, x, y);
    y = lh_post_norm_network_apply(&l->network, r->pass, r->model->dropout, LH_UNARY_RELU, y);
    return lh_scope_close(r->tape, scope, y);
}

/* Sinusoids of all distances that queries of a segment of this length can have. */
static lh_tensor *distances(const run *r, int64_t length) {
    const instance *model = r->model;
    const int64_t reach = length + model->memory, most = model->longest_distance + 1;
    const bool clamped = model->longest_distance > 0 && most < reach;
    return drop(r, lh_sinusoids(r->tape, clamped ? most : reach, model->width));
}

static lh_status forward(const void *self, lh_pass *pass, lh_output *out) {
    const instance *model = self;
    run r = {.model = model,
             .pass = pass,
             .tape = lh_pass_tape(pass),
             .dropout = lh_pass_is_training(pass) ? model->dropout : 0.0};
    const lh_batch *batch = lh_pass_batch(pass);
    lh_tensor *table = lh_pass_param(pass, model->embedding);
    lh_tensor *x = lh_gather(r.tape, table, batch->tokens);
    x = drop(&r, lh_scale(r.tape, x, sqrt((double)model->width)));
    r.sinusoids = distances(&r, batch->length);
    for (int64_t i = 0; i < model->layers && x != NULL; ++i) {
        x = i == model->recurrent ? lh_recurrent_block_apply(&model->block, pass, x)
                                  : apply_layer(&r, &model->layer[i], x);
    }
    out->hidden = drop(&r, x);
    out->head_weight = table;
    out->head_bias = lh_pass_param(pass, model->head_bias);
    out->clusters = model->clusters;
    out->cutoff = model->cutoff;
    if (model->clusters > 0) {
        out->cluster_weight = lh_pass_param(pass, model->cluster_weight);
        out->cluster_bias = lh_pass_param(pass, model->cluster_bias);
    }
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

static double flops_per_token(const void *self, int64_t length) {
    const instance *model = self;
    const double width = (double)model->width, inner = (double)inner_of(model);
    const double memory = (double)model->memory, tokens = (double)length;
    const double seen = model->same_length ? memory : memory + 0.5 * (tokens + 1);
    const double products = 2.0 * width * inner + /* query, out */
                            2.0 * width * inner * (1.0 + memory / tokens) +
                            2.0 * width * (double)model->hidden;
    const double plain = 2.0 * products + 6.0 * inner * seen;
    double flops = 2.0 * width * (double)model->vocabulary;
    for (int64_t i = 0; i < model->layers; ++i) {
        const double encoded = (double)(model->layer[i].matrix.encoded * model->head_width);
        flops += i == model->recurrent
                     ? lh_recurrent_block_flops(&model->block.config, length) / tokens
                     : plain + 2.0 * encoded * (memory + tokens);
    }
    return flops;
}

static lh_status probe(const void *self, const lh_params *params,
                       void (*report)(void *context, const char *name, double value),
                       void *context) {
    const instance *model = self;
    return lh_recurrence_encodings_probe(&model->layer->recurrence, sizeof *model->layer,
                                         model->layers, params, report, context);
}

const lh_model_class lh_model_dai_xl = {
    .name = "dai_xl",
    .summary = "Transformer-XL as published; with REM, learned matrices or a block-recurrent layer",
    .paper = "Dai et al. 2019, arXiv:1901.02860; Huang et al. 2023, sections 4.3 and 4.4",
    .version = 1,
    .abilities = LH_ABLE_CAUSAL | LH_ABLE_TOKENS | LH_ABLE_STATE_TRUNCATED,
    .options = options,
    .instance_size = sizeof(instance),
    .declare = declare,
    .forward = forward,
    .flops_per_token = flops_per_token,
    .check = check,
    .probe = probe,
};
