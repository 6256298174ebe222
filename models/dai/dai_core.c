/* Options, parameters, layers and head that the models around Transformer-XL share. */
#include "models/dai/dai_core.h"

#include <math.h>
#include <stdio.h>

#include "models/layers/common.h"

/* ---- options ---- */

const lh_option lh_dai_size_options[] = {
    LH_INTEGER("layers", lh_dai_config, layers, 12, 1, LH_DAI_LAYERS, "layers (N)"),
    LH_INTEGER("width", lh_dai_config, width, 512, 1, 65536, "embedding size d"),
    LH_INTEGER("heads", lh_dai_config, heads, 8, 1, 1024, "attention heads"),
    LH_INTEGER("head_width", lh_dai_config, head_width, 0, 0, 4096,
               "size of a head; 0: width / heads"),
    LH_INTEGER("hidden", lh_dai_config, hidden, 0, 0, 1048576,
               "hidden size of the feed-forward network; 0: 4 * width"),
    {0}};

const lh_option lh_dai_training_options[] = {
    LH_REAL("dropout", lh_dai_config, dropout, 0.1, 0, 0.99,
            "dropout rate of embeddings, positions, layers and the last hidden states in training"),
    LH_REAL("attention_dropout", lh_dai_config, attention_dropout, 0, 0, 0.99,
            "dropout rate of the attention weights in training"),
    LH_REAL("initial_deviation", lh_dai_config, deviation, 0.02, 1e-6, 10,
            "of the initial weights, which narrow models want larger"),
    LH_LIST("cutoffs", lh_dai_config, cutoffs, LH_NO_INTEGERS,
            "adaptive softmax: where the vocabulary, frequent words first, is cut into clusters"),
    {0}};

static lh_status settle_cutoffs(lh_dai_config *config) {
    config->clusters = lh_list_copy(&config->cutoffs, config->cutoff, LH_CLUSTERS);
    if (config->clusters > LH_CLUSTERS)
        return lh_fail(LH_EOPTION, "option 'cutoffs' has %d numbers, at most %d", config->clusters,
                       LH_CLUSTERS);
    for (int i = 0; i < config->clusters; ++i) {
        const int64_t before = i > 0 ? config->cutoff[i - 1] : 0;
        if (config->cutoff[i] <= before || config->cutoff[i] >= config->vocabulary)
            return lh_fail(LH_EOPTION,
                           "option 'cutoffs': %lld does not lie between %lld and the %lld entries "
                           "of the vocabulary",
                           (long long)config->cutoff[i], (long long)before,
                           (long long)config->vocabulary);
    }
    return LH_OK;
}

lh_status lh_dai_config_settle(lh_dai_config *config, const lh_model_setup *setup) {
    LH_TRY(lh_require_tokens(setup));
    config->vocabulary = setup->vocabulary;
    if (config->hidden == 0) config->hidden = 4 * config->width;
    LH_TRY(lh_settle_head_width(config->width, config->heads, &config->head_width));
    return settle_cutoffs(config);
}

/* ---- parameters ---- */

static const double gain_deviation = 0.02;

static lh_init small(const lh_dai_core *core) {
    return lh_init_normal(core->config.deviation);
}

const char *lh_dai_name(char *name, int64_t i, const char *part) {
    (void)snprintf(name, LH_DAI_NAME, "layers.%lld.%s", (long long)i, part);
    return name;
}

void lh_dai_declare_head(lh_dai_core *core, lh_declare *declaration) {
    const lh_dai_config *config = &core->config;
    const int64_t table[] = {config->vocabulary, config->width},
                  clusters[] = {config->clusters, config->width};
    core->embedding = lh_declare_param(declaration, small(core), 2, table, "embedding.weight");
    lh_declare_embedding(declaration);
    core->head_bias = lh_declare_param(declaration, lh_init_normal(0.0), 1, table, "head.bias");
    if (config->clusters == 0) return;
    core->cluster_weight =
        lh_declare_param(declaration, small(core), 2, clusters, "clusters.weight");
    core->cluster_bias =
        lh_declare_param(declaration, lh_init_normal(0.0), 1, clusters, "clusters.bias");
}

void lh_dai_declare_attention(lh_dai_core *core, int64_t i, int64_t first,
                              lh_declare *declaration) {
    const lh_dai_config *config = &core->config;
    const int64_t inner = lh_dai_inner(config), query[] = {config->width, inner},
                  key_value[] = {config->width, 2 * inner}, out[] = {inner, config->width};
    lh_dai_layer *l = &core->layer[i];
    char name[LH_DAI_NAME];
    const char *prefix = lh_dai_name(name, i, "attention");
    l->query = lh_declare_param(declaration, small(core), 2, query, "%s.query", prefix);
    l->key_value = lh_declare_param(declaration, small(core), 2, key_value, "%s.key_value", prefix);
    l->out = lh_declare_param(declaration, small(core), 2, out, "%s.out", prefix);
    if (i == first) {
        lh_relative_position_declare(&l->relative, config->width, config->heads, config->head_width,
                                     small(core), declaration, prefix);
    } else {
        lh_relative_position_declare_shared(&l->relative, &core->layer[first].relative,
                                            config->width, small(core), declaration, prefix);
    }
}

void lh_dai_declare_network(lh_dai_core *core, int64_t i, lh_declare *declaration) {
    const lh_dai_config *config = &core->config;
    lh_dai_layer *l = &core->layer[i];
    char name[LH_DAI_NAME];
    l->attention_norm = lh_norm_declare_normal(declaration, config->width, gain_deviation,
                                               lh_dai_name(name, i, "attention.norm"));
    l->network.in =
        lh_dense_declare_normal(declaration, config->width, config->hidden, config->deviation,
                                lh_dai_name(name, i, "feed_forward.in"));
    l->network.back =
        lh_dense_declare_normal(declaration, config->hidden, config->width, config->deviation,
                                lh_dai_name(name, i, "feed_forward.out"));
    l->network.norm = lh_norm_declare_normal(declaration, config->width, gain_deviation,
                                             lh_dai_name(name, i, "feed_forward.norm"));
}

/* ---- forward ---- */

lh_tensor *lh_dai_drop(const lh_dai_pass *p, lh_tensor *x) {
    const double rate = lh_pass_is_training(p->pass) ? p->core->config.dropout : 0.0;
    return lh_dropout(p->tape, x, rate, 0);
}

lh_dai_pass lh_dai_begin(const lh_dai_core *core, lh_pass *pass, int64_t distances, lh_tensor **x) {
    lh_dai_pass p = {.core = core, .pass = pass, .tape = lh_pass_tape(pass)};
    lh_tensor *table = lh_pass_param(pass, core->embedding);
    *x = lh_gather(p.tape, table, lh_pass_batch(pass)->tokens);
    *x = lh_dai_drop(&p, lh_scale(p.tape, *x, sqrt((double)core->config.width)));
    p.sinusoids = lh_dai_drop(&p, lh_sinusoids(p.tape, distances, core->config.width));
    return p;
}

/* [batch][n][k inner] -> [batch][n][k heads][head_width]. */
static lh_tensor *project(const lh_dai_pass *p, lh_tensor *x, int weight) {
    lh_tensor *y = lh_linear(p->tape, x, lh_pass_param(p->pass, weight), NULL, LH_UNARY_IDENTITY);
    if (y == NULL) return NULL;
    const int64_t shape[] = {y->shape[0], y->shape[1], -1, p->core->config.head_width};
    return lh_reshape(p->tape, y, 4, shape);
}

lh_tensor *lh_dai_keys(const lh_dai_pass *p, int64_t layer, lh_tensor *x) {
    return project(p, x, p->core->layer[layer].key_value);
}

lh_tensor *lh_dai_plain_queries(const lh_dai_pass *p, int64_t layer, lh_tensor *x) {
    return project(p, x, p->core->layer[layer].query);
}

lh_tensor *lh_dai_place_queries(const lh_dai_pass *p, int64_t layer, lh_tensor *plain,
                                lh_attention *attention) {
    const lh_dai_layer *l = &p->core->layer[layer];
    *attention = (lh_attention)LH_ATTENTION;
    attention->scale = 1.0 / sqrt((double)p->core->config.head_width);
    attention->min_distance = 0;
    if (lh_pass_is_training(p->pass)) attention->dropout = p->core->config.attention_dropout;
    return lh_relative_position_apply(&l->relative, p->pass, p->sinusoids, attention, plain);
}

lh_tensor *lh_dai_queries(const lh_dai_pass *p, int64_t layer, lh_tensor *x,
                          lh_attention *attention) {
    return lh_dai_place_queries(p, layer, lh_dai_plain_queries(p, layer, x), attention);
}

void lh_dai_add_keys(const lh_dai_pass *p, lh_attention *attention, lh_tensor *joined,
                     int64_t first) {
    const int64_t heads = p->core->config.heads;
    attention->keys[attention->key_count++] =
        (lh_keys){.k = lh_slice(p->tape, joined, 2, 0, heads),
                  .v = lh_slice(p->tape, joined, 2, heads, heads),
                  .first = first};
}

lh_tensor *lh_dai_finish_layer(const lh_dai_pass *p, int64_t layer, lh_tensor *x, lh_tensor *y) {
    const lh_dai_layer *l = &p->core->layer[layer];
    const double dropout = p->core->config.dropout;
    if (y == NULL) return NULL;
    const int64_t flat[] = {y->shape[0], y->shape[1], lh_dai_inner(&p->core->config)};
    y = lh_linear(p->tape, lh_reshape(p->tape, y, 3, flat), lh_pass_param(p->pass, l->out), NULL,
                  LH_UNARY_IDENTITY);
    y = lh_post_norm_join(l->attention_norm, p->pass, dropout, x, y);
    return lh_post_norm_network_apply(&l->network, p->pass, dropout, LH_UNARY_RELU, y);
}

lh_status lh_dai_finish(const lh_dai_pass *p, lh_tensor *x, lh_output *out) {
    const lh_dai_core *core = p->core;
    out->hidden = lh_dai_drop(p, x);
    out->head_weight = lh_pass_param(p->pass, core->embedding);
    out->head_bias = lh_pass_param(p->pass, core->head_bias);
    out->clusters = core->config.clusters;
    out->cutoff = core->config.cutoff;
    if (out->clusters > 0) {
        out->cluster_weight = lh_pass_param(p->pass, core->cluster_weight);
        out->cluster_bias = lh_pass_param(p->pass, core->cluster_bias);
    }
    return out->hidden != NULL ? LH_OK : lh_failed();
}

/* ---- accounting ---- */

double lh_dai_layer_flops(const lh_dai_config *config, double queries, double keys, double pairs) {
    const double width = (double)config->width, inner = (double)lh_dai_inner(config);
    const double products = queries * (2.0 * width * inner + /* query, out */
                                       2.0 * width * (double)config->hidden) +
                            keys * 2.0 * width * inner;
    return 2.0 * products + 6.0 * inner * pairs; /* scores, positions and mixing of values */
}

double lh_dai_head_flops(const lh_dai_config *config) {
    return 2.0 * (double)config->width * (double)config->vocabulary;
}
