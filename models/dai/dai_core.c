/* Options, parameters, layers and head that the models around Transformer-XL share. */
#include "models/dai/dai_core.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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
    LH_LIST("cutoffs", lh_dai_config, cutoffs, LH_NO_INTEGERS, 1, 1e9,
            "adaptive softmax: where the vocabulary, frequent words first, is cut into clusters"),
    {0}};

const lh_option lh_dai_release_options[] = {
    LH_INTEGER("cluster_divisor", lh_dai_config, divisor, 1, 1, 64,
               "embeddings of each cluster of 'cutoffs' are narrower by this factor than those "
               "before it (div_val), read and predicted by projections; 1: all as wide as the "
               "model"),
    LH_FLAG("share_biases", lh_dai_config, shares_biases, true,
            "all layers have the same biases of positions (not untie_r)"),
    {0}};

static lh_status settle_divisor(const lh_dai_config *config) {
    int64_t width = config->width;
    if (config->divisor > 1 && config->clusters == 0)
        return lh_fail(LH_EOPTION, "option 'cluster_divisor' needs 'cutoffs', which make clusters");
    for (int i = 0; i < config->clusters; ++i)
        width /= config->divisor;
    if (width > 0) return LH_OK;
    return lh_fail(LH_EOPTION,
                   "option 'cluster_divisor': width %lld divided by %lld for each of %d clusters "
                   "leaves the last one none",
                   (long long)config->width, (long long)config->divisor, config->clusters);
}

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
    return settle_divisor(config);
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

/* The frequent words, then each cluster; all at once where no width differs. */
static void group_words(lh_dai_core *core) {
    const lh_dai_config *config = &core->config;
    int64_t width = config->width, first = 0;
    core->groups = config->divisor > 1 ? config->clusters + 1 : 1;
    for (int i = 0; i < core->groups; ++i) {
        const bool last = i + 1 == core->groups;
        const int64_t end = last ? config->vocabulary : config->cutoff[i];
        core->words[i] = (lh_dai_words){.first = first, .count = end - first, .width = width};
        first = end;
        width /= config->divisor;
    }
}

/* "<prefix>.<i>.<part>" in name[LH_LAYER_NAME]; the first group has no number. */
static const char *words_name(char *name, int i, const char *prefix, const char *part) {
    if (i == 0) {
        (void)snprintf(name, LH_LAYER_NAME, "%s.%s", prefix, part);
    } else {
        (void)snprintf(name, LH_LAYER_NAME, "%s.%d.%s", prefix, i, part);
    }
    return name;
}

static int declare_projection(const lh_dai_core *core, int64_t width, const char *name,
                              lh_declare *declaration) {
    const int64_t shape[] = {width, core->config.width};
    const lh_init init = lh_init_normal(core->config.deviation / 2);
    return lh_declare_param(declaration, init, 2, shape, "%s", name);
}

static void declare_embeddings(lh_dai_core *core, lh_declare *declaration) {
    char name[LH_LAYER_NAME];
    for (int i = 0; i < core->groups; ++i) {
        lh_dai_words *words = &core->words[i];
        const int64_t table[] = {words->count, words->width};
        words->embedding = lh_declare_param(declaration, small(core), 2, table, "%s",
                                            words_name(name, i, "embedding", "weight"));
        lh_declare_embedding(declaration);
        if (core->config.divisor == 1) continue;
        words->projection = declare_projection(
            core, words->width, words_name(name, i, "embedding", "projection"), declaration);
    }
}

void lh_dai_declare_head(lh_dai_core *core, lh_declare *declaration) {
    const lh_dai_config *config = &core->config;
    const int64_t clusters[] = {config->clusters, config->width};
    char name[LH_LAYER_NAME];
    group_words(core);
    declare_embeddings(core, declaration);
    for (int i = 0; i < core->groups; ++i)
        core->words[i].bias =
            lh_declare_param(declaration, lh_init_zeros(), 1, &core->words[i].count, "%s",
                             words_name(name, i, "head", "bias"));
    if (config->divisor > 1)
        core->head_projection =
            declare_projection(core, config->width, "head.projection", declaration);
    if (config->clusters == 0) return;
    core->cluster_weight =
        lh_declare_param(declaration, small(core), 2, clusters, "clusters.weight");
    core->cluster_bias =
        lh_declare_param(declaration, lh_init_zeros(), 1, clusters, "clusters.bias");
}

void lh_dai_declare_attention(lh_dai_core *core, int64_t i, int64_t first,
                              lh_declare *declaration) {
    const lh_dai_config *config = &core->config;
    const int64_t inner = lh_dai_inner(config), query[] = {config->width, inner},
                  key_value[] = {config->width, 2 * inner}, out[] = {inner, config->width};
    lh_dai_layer *l = &core->layer[i];
    char name[LH_LAYER_NAME];
    const char *prefix = lh_layer_name(name, i, "attention");
    l->query = lh_declare_param(declaration, small(core), 2, query, "%s.query", prefix);
    l->key_value = lh_declare_param(declaration, small(core), 2, key_value, "%s.key_value", prefix);
    l->out = lh_declare_param(declaration, small(core), 2, out, "%s.out", prefix);
    if (i == first || !config->shares_biases) {
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
    char name[LH_LAYER_NAME];
    l->attention_norm = lh_norm_declare_normal(declaration, config->width, gain_deviation,
                                               lh_layer_name(name, i, "attention.norm"));
    l->network.in =
        lh_dense_declare_normal(declaration, config->width, config->hidden, config->deviation,
                                lh_layer_name(name, i, "feed_forward.in"));
    l->network.back =
        lh_dense_declare_normal(declaration, config->hidden, config->width, config->deviation,
                                lh_layer_name(name, i, "feed_forward.out"));
    l->network.norm = lh_norm_declare_normal(declaration, config->width, gain_deviation,
                                             lh_layer_name(name, i, "feed_forward.norm"));
}

/* ---- forward ---- */

lh_tensor *lh_dai_drop(const lh_dai_pass *p, lh_tensor *x) {
    return lh_pass_dropout(p->pass, p->core->config.dropout, x);
}

/* ---- embeddings ---- */

/* Where the tokens are among a group's words, and 1 or 0: whether they are. */
typedef struct members {
    int32_t *place;
    real *is_one;
} members;

static members find_members(const lh_dai_words *words, const int32_t *token, int64_t count) {
    const members m = {.place = lh_allocate((size_t)count * sizeof *m.place),
                       .is_one = lh_allocate((size_t)count * sizeof *m.is_one)};
    for (int64_t t = 0; t < count && m.place != NULL && m.is_one != NULL; ++t) {
        const int64_t place = token[t] - words->first;
        const bool is_one = place >= 0 && place < words->count;
        m.place[t] = is_one ? (int32_t)place : 0;
        m.is_one[t] = is_one ? 1 : 0;
    }
    return m;
}

/* [...][width], zeros where a token is none of the group's. */
static lh_tensor *embed_group(const lh_dai_pass *p, const lh_dai_words *words,
                              const lh_tensor *tokens, const int32_t *token) {
    const members m = find_members(words, token, lh_tensor_count(tokens));
    lh_tensor *place = NULL, *is_one = NULL;
    if (m.place != NULL && m.is_one != NULL) {
        place = lh_integers(p->tape, tokens->rank, tokens->shape, m.place);
        is_one = lh_reals(p->tape, tokens->rank, tokens->shape, m.is_one);
    }
    free(m.place);
    free(m.is_one);
    lh_tensor *x = lh_gather(p->tape, lh_pass_param(p->pass, words->embedding), place);
    return lh_linear(p->tape, lh_multiply_column(p->tape, x, is_one),
                     lh_pass_param(p->pass, words->projection), NULL, LH_UNARY_IDENTITY);
}

/* Every group is read for every token: so no product's shape, nor a bit of one token's, depends on
 * the others. */
static lh_tensor *embed_groups(const lh_dai_pass *p, const lh_tensor *tokens) {
    const int64_t count = lh_tensor_count(tokens);
    int32_t *token = lh_allocate((size_t)count * sizeof *token);
    lh_tensor *sum = NULL;
    bool good = token != NULL && lh_tensor_read(tokens, token, count) == LH_OK;
    for (int i = 0; i < p->core->groups && good; ++i) {
        lh_tensor *x = embed_group(p, &p->core->words[i], tokens, token);
        sum = sum == NULL ? x : lh_add(p->tape, sum, x);
        good = sum != NULL;
    }
    free(token);
    return good ? sum : NULL;
}

/* All words [vocabulary][width]. */
static lh_tensor *wide_table(const lh_dai_pass *p) {
    lh_tensor *parts[LH_CLUSTERS + 1];
    lh_tape_pause_flops(p->tape); /* all tokens share it: no work of one */
    for (int i = 0; i < p->core->groups; ++i) {
        const lh_dai_words *words = &p->core->words[i];
        parts[i] = lh_matmul(p->tape, lh_pass_param(p->pass, words->embedding),
                             lh_pass_param(p->pass, words->projection), false, false);
    }
    lh_tape_resume_flops(p->tape);
    return lh_concat(p->tape, 0, parts, p->core->groups);
}

static lh_tensor *embed(const lh_dai_pass *p, lh_tensor *tokens) {
    const lh_dai_core *core = p->core;
    if (tokens == NULL) return NULL;
    if (core->config.divisor == 1)
        return lh_gather(p->tape, lh_pass_param(p->pass, core->words[0].embedding), tokens);
    if (tokens->dtype == LH_I32) return embed_groups(p, tokens);
    return lh_gather(p->tape, wide_table(p), tokens);
}

lh_dai_pass lh_dai_begin(const lh_dai_core *core, lh_pass *pass, int64_t distances, lh_tensor **x) {
    lh_dai_pass p = {.core = core, .pass = pass, .tape = lh_pass_tape(pass)};
    *x = embed(&p, lh_pass_batch(pass)->tokens);
    *x = lh_dai_drop(&p, lh_scale(p.tape, *x, sqrt((double)core->config.width)));
    p.sinusoids = lh_pass_dropout_table(pass, core->config.dropout,
                                        lh_sinusoids(p.tape, distances, core->config.width));
    return p;
}

static lh_tensor *project(const lh_dai_pass *p, lh_tensor *x, int weight) {
    return lh_project_heads(p->tape, x, lh_pass_param(p->pass, weight), p->core->config.head_width);
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
    y = lh_linear(p->tape, lh_join_heads(p->tape, y), lh_pass_param(p->pass, l->out), NULL,
                  LH_UNARY_IDENTITY);
    y = lh_post_norm_join(l->attention_norm, p->pass, dropout, x, y);
    return lh_post_norm_network_apply(&l->network, p->pass, dropout, LH_UNARY_RELU, y);
}

/* ---- the head ---- */

/* The softmax of the clusters has their embeddings and projections; that of the frequent words, the
 * head, has a projection of its own. */
static void give_clusters(const lh_dai_pass *p, lh_output *out) {
    const lh_dai_core *core = p->core;
    out->head_projection = lh_pass_param(p->pass, core->head_projection);
    for (int i = 1; i < core->groups; ++i) {
        const lh_dai_words *words = &core->words[i];
        out->cluster[i - 1] = (lh_cluster){lh_pass_param(p->pass, words->embedding),
                                           lh_pass_param(p->pass, words->bias),
                                           lh_pass_param(p->pass, words->projection)};
    }
}

lh_status lh_dai_finish(const lh_dai_pass *p, lh_tensor *x, lh_output *out) {
    const lh_dai_core *core = p->core;
    out->hidden = lh_dai_drop(p, x);
    out->head_weight = lh_pass_param(p->pass, core->words[0].embedding);
    out->head_bias = lh_pass_param(p->pass, core->words[0].bias);
    if (core->config.divisor > 1) give_clusters(p, out);
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
    int64_t width = config->width, first = 0;
    double products = 0;
    for (int i = 0; i < config->clusters && config->divisor > 1; ++i) {
        products += (double)width * (double)(config->cutoff[i] - first + 2 * config->width);
        first = config->cutoff[i];
        width /= config->divisor;
    }
    products += (double)width * (double)(config->vocabulary - first);
    if (config->divisor > 1) products += 2.0 * (double)width * (double)config->width;
    return 2.0 * products;
}
