/* Transformer-XL as Dai et al. 2019 (arXiv:1901.02860) published and released it: relative
 * positions from sinusoids with biases that all layers share, post-norm layers, a memory of every
 * layer's inputs, embeddings scaled by sqrt(width) and tied to the softmax, whose tail may be cut
 * into clusters (Grave et al. 2017). The language models of Huang et al. 2023, section 4.3: RSA-XL
 * with rsa_kinds, FL-XL with rsa_matrix, BRT and RSA-BRT with a recurrent layer. */
#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"
#include "models/layers/initial.h"
#include "models/layers/learned_matrix.h"
#include "models/layers/post_norm.h"
#include "models/layers/recurrence_encoding.h"
#include "models/layers/recurrent_block.h"
#include "models/layers/relative_position.h"
#include "models/layers/sinusoid.h"
#include "models/models.h"

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

typedef struct instance {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    int64_t memory, longest_distance, segment, recurrent; /* recurrent: from 0; -1: none */
    bool same_length;
    double dropout, attention_dropout, deviation;
    int embedding, head_bias, cluster_weight, cluster_bias;
    int clusters;
    int64_t cutoff[LH_CLUSTERS];
    layer layer[LAYERS];
    lh_recurrent_block block;
} instance;

typedef enum matrix_kind { LAGS, LEARNED, TOEPLITZ } matrix_kind;
static const char *const matrices[] = {"lags", "learned", "toeplitz", NULL};

static const lh_option options[] = {
    {"layers", LH_OPTION_INTEGER, "12", 1, LAYERS, NULL, "layers (N)"},
    {"width", LH_OPTION_INTEGER, "512", 1, 65536, NULL, "embedding size d"},
    {"heads", LH_OPTION_INTEGER, "8", 1, 1024, NULL, "attention heads"},
    {"head_width", LH_OPTION_INTEGER, "0", 0, 4096, NULL, "size of a head; 0: width / heads"},
    {"hidden", LH_OPTION_INTEGER, "0", 0, 1048576, NULL,
     "hidden size of the feed-forward network; 0: 4 * width"},
    {"memory", LH_OPTION_INTEGER, "512", 0, 1048576, NULL,
     "tokens of the segments before that every layer attends to (M)"},
    {"same_length", LH_OPTION_FLAG, "false", 0, 0, NULL,
     "every token sees as many tokens as there is memory"},
    {"longest_distance", LH_OPTION_INTEGER, "0", 0, 1e9, NULL,
     "larger distances count as this one; 0: none do"},
    {"dropout", LH_OPTION_REAL, "0.1", 0, 0.99, NULL,
     "dropout rate of embeddings, positions, layers and the last hidden states in training"},
    {"attention_dropout", LH_OPTION_REAL, "0", 0, 0.99, NULL,
     "dropout rate of the attention weights in training"},
    {"initial_deviation", LH_OPTION_REAL, "0.02", 1e-6, 10, NULL,
     "of the initial weights, which narrow models want larger"},
    {"cutoffs", LH_OPTION_LIST, "", 0, 0, NULL,
     "adaptive softmax: where the vocabulary, frequent words first, is cut into clusters"},
    {"recurrent_layer", LH_OPTION_INTEGER, "0", -LAYERS, LAYERS, NULL,
     "the layer that is block-recurrent, from 1; negative counts from the top; 0: none"},
    {"states", LH_OPTION_INTEGER, "128", 1, 1048576, NULL, "state vectors of that layer"},
    {"state_head_width", LH_OPTION_INTEGER, "0", 0, 4096, NULL,
     "size of that layer's heads whose queries are states; 0: head_width"},
    {"block", LH_OPTION_INTEGER, "0", 0, 1048576, NULL,
     "tokens per step of the states; 0: the segment, whose states are then never learnt"},
    {"rsa_matrix", LH_OPTION_CHOICE, "lags", 0, 0, matrices,
     "what the heads of rsa_kinds mix in: REMs, learned matrices (FL-XL), or a learned number a "
     "lag"},
    {"segment", LH_OPTION_INTEGER, "0", 0, 1048576, NULL,
     "learned matrices: the longest segment, which is their number of rows"},
    LH_RECURRENCE_OPTIONS,
    {NULL, LH_OPTION_TEXT, NULL, 0, 0, NULL, NULL}};

static int64_t inner_of(const instance *model) {
    return model->heads * model->head_width;
}

/* ---- options ---- */

static lh_status read_layers(const lh_options *values, instance *model) {
    const int64_t chosen = lh_options_integer(values, "recurrent_layer");
    model->recurrent = chosen < 0 ? model->layers + chosen : chosen - 1;
    if (model->recurrent >= -1 && model->recurrent < model->layers) return LH_OK;
    return lh_fail(LH_EOPTION, "option 'recurrent_layer' is %lld, but there are %lld layers",
                   (long long)chosen, (long long)model->layers);
}

static lh_status read_cutoffs(const lh_options *values, instance *model) {
    model->clusters = lh_options_list(values, "cutoffs", model->cutoff, LH_CLUSTERS);
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

static lh_status read_options(const lh_options *values, const lh_model_setup *setup,
                              instance *model, lh_recurrence_config *recurrence) {
    LH_TRY(lh_require_tokens(setup));
    model->vocabulary = setup->vocabulary;
    model->layers = lh_options_integer(values, "layers");
    model->width = lh_options_integer(values, "width");
    model->heads = lh_options_integer(values, "heads");
    model->head_width = lh_options_integer(values, "head_width");
    model->hidden = lh_options_integer(values, "hidden");
    model->memory = lh_options_integer(values, "memory");
    model->longest_distance = lh_options_integer(values, "longest_distance");
    model->segment = lh_options_integer(values, "segment");
    model->same_length = lh_options_flag(values, "same_length");
    model->dropout = lh_options_real(values, "dropout");
    model->attention_dropout = lh_options_real(values, "attention_dropout");
    model->deviation = lh_options_real(values, "initial_deviation");
    if (model->hidden == 0) model->hidden = 4 * model->width;
    if (model->same_length && model->memory == 0)
        return lh_fail(LH_EOPTION, "option 'same_length' needs a memory");
    LH_TRY(lh_settle_head_width(model->width, model->heads, &model->head_width));
    LH_TRY(read_layers(values, model));
    LH_TRY(read_cutoffs(values, model));
    LH_TRY(lh_recurrence_config_read(values, model->heads, recurrence));
    const int matrix = lh_options_choice(values, "rsa_matrix");
    if (matrix != LAGS && model->segment == 0)
        return lh_fail(LH_EOPTION, "rsa_matrix=%s needs option 'segment', the rows of a matrix",
                       matrices[matrix]);
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

static void declare_layer(instance *model, const lh_recurrence_config *recurrence, matrix_kind kind,
                          int64_t i, lh_declare *declaration) {
    layer *l = &model->layer[i];
    char name[NAME];
    declare_attention(model, i, declaration);
    name_part(name, i, "recurrence");
    if (kind == LAGS) {
        lh_recurrence_encoding_declare(&l->recurrence, recurrence, declaration, name);
    } else {
        l->matrix = (lh_learned_matrix){.encoded = recurrence->heads,
                                        .segment = model->segment,
                                        .memory = model->memory,
                                        .toeplitz = kind == TOEPLITZ};
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

static void declare_block(instance *model, const lh_options *values, lh_declare *declaration) {
    char name[NAME];
    lh_recurrent_block_config config = {.width = model->width,
                                        .heads = model->heads,
                                        .head_width = model->head_width,
                                        .state_head_width =
                                            lh_options_integer(values, "state_head_width"),
                                        .hidden = 4 * model->width,
                                        .states = lh_options_integer(values, "states"),
                                        .block = lh_options_integer(values, "block")};
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

static lh_status declare(void *self, const lh_options *values, const lh_model_setup *setup,
                         lh_declare *declaration) {
    instance *model = self;
    lh_recurrence_config recurrence;
    LH_TRY(read_options(values, setup, model, &recurrence));
    declare_head(model, declaration);
    const matrix_kind kind = (matrix_kind)lh_options_choice(values, "rsa_matrix");
    for (int64_t i = 0; i < model->layers; ++i) {
        if (i == model->recurrent) {
            declare_block(model, values, declaration);
        } else {
            declare_layer(model, &recurrence, kind, i, declaration);
        }
    }
    return LH_OK;
}

static lh_status check(const void *self, int64_t rows, int64_t length) {
    (void)rows;
    const instance *model = self;
    const int64_t block = model->block.config.block;
    if (block > 0) LH_TRY(lh_require_whole_chunks("block", block, length));
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
    return out->hidden != NULL ? LH_OK : lh_error_get()->status;
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
