/* Transformer-XL as Dai et al. 2019 (arXiv:1901.02860) published and released it, without what it
 * remembers: embeddings scaled by sqrt(width) and tied to the softmax, whose tail may be cut into
 * clusters (Grave et al. 2017); post-norm layers whose attention has relative positions from
 * sinusoids, with biases that all layers share. The models of the family differ in what a layer's
 * tokens attend to and in what is carried from segment to segment. */
#ifndef LH_DAI_DAI_CORE_H
#define LH_DAI_DAI_CORE_H

#include "models/layers/dense.h"
#include "models/layers/relative_position.h"

enum { LH_DAI_LAYERS = 64 };

typedef struct lh_dai_config {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    double dropout, attention_dropout, deviation;
    lh_list cutoffs; /* as the option says them */
    int clusters;
    int64_t cutoff[LH_CLUSTERS];
    int64_t divisor;    /* 1: all words are as wide as the model */
    bool shares_biases; /* of positions, among layers */
} lh_dai_config;

/* Indices of the parameters of one layer. */
typedef struct lh_dai_layer {
    int query, key_value, out; /* [width][inner], [width][2 inner], [inner][width] */
    lh_relative_position relative;
    lh_norm attention_norm;
    lh_post_norm_network network;
} lh_dai_layer;

/* Words of one width: all of them or, with a divisor, the frequent ones and those of each cluster.
 * Indices of parameters; without a divisor there is no projection. */
typedef struct lh_dai_words {
    int64_t first, count, width;
    int embedding, projection, bias; /* [count][width], [width][model's width], [count] */
} lh_dai_words;

typedef struct lh_dai_core {
    lh_dai_config config;
    int groups; /* of words */
    lh_dai_words words[LH_CLUSTERS + 1];
    int head_projection; /* of the frequent words where they are predicted; [width][width] */
    int cluster_weight, cluster_bias;
    lh_dai_layer layer[LH_DAI_LAYERS];
} lh_dai_core;

/* layers, width, heads, head_width, hidden; dropout, attention_dropout, initial_deviation, cutoffs;
 * cluster_divisor, share_biases, which came later. A model's own options may stand between the
 * first two. */
extern const lh_option lh_dai_size_options[], lh_dai_training_options[], lh_dai_release_options[];

/* Completes what the options leave open. Fails: LH_EOPTION when heads do not divide width and
 * head_width is not given, cutoffs do not rise within the vocabulary, a cluster_divisor has no
 * cutoffs or leaves a cluster no width, or the task has no tokens. */
lh_status lh_dai_config_settle(lh_dai_config *config, const lh_model_setup *setup);

/* ---- parameters: N(0, deviation^2), projections of words half as wide, gains N(1, 0.02^2), biases
 * 0, as released ---- */

/* embedding.weight, head.bias and, with cutoffs, clusters.weight and clusters.bias. With a divisor
 * those are of the frequent words; there are embedding.projection and head.projection, and for
 * cluster i, from 1, embedding.<i>.weight, which its softmax has, too, embedding.<i>.projection,
 * likewise, and head.<i>.bias. */
void lh_dai_declare_head(lh_dai_core *core, lh_declare *declaration);

/* layers.<i>.attention.{query,key_value,out,relative.*}; biases that are shared are those of layer
 * `first`, which is declared before the others. */
void lh_dai_declare_attention(lh_dai_core *core, int64_t i, int64_t first, lh_declare *declaration);

/* layers.<i>.{attention.norm,feed_forward}.* */
void lh_dai_declare_network(lh_dai_core *core, int64_t i, lh_declare *declaration);

/* ---- forward ---- */

typedef struct lh_dai_pass {
    const lh_dai_core *core;
    lh_pass *pass;
    lh_tape *tape;
    lh_tensor *sinusoids; /* of the distances 0 and up */
} lh_dai_pass;

/* Embeds the batch's tokens, *x [batch][length][width], and makes sinusoids of `distances`
 * distances; larger ones count as the largest. */
lh_dai_pass lh_dai_begin(const lh_dai_core *core, lh_pass *pass, int64_t distances, lh_tensor **x);

/* x through the model's dropout. */
lh_tensor *lh_dai_drop(const lh_dai_pass *p, lh_tensor *x);

/* Keys and values of x [batch][count][width]: [batch][count][2 heads][head_width], keys first. */
lh_tensor *lh_dai_keys(const lh_dai_pass *p, int64_t layer, lh_tensor *x);

/* Queries of x that know of no positions: [batch][count][heads][head_width]. */
lh_tensor *lh_dai_plain_queries(const lh_dai_pass *p, int64_t layer, lh_tensor *x);

/* What to attend with in their place, and with it an attention of all heads up to each token itself
 * that has the layer's positions; its keys are the caller's to add. */
lh_tensor *lh_dai_place_queries(const lh_dai_pass *p, int64_t layer, lh_tensor *plain,
                                lh_attention *attention);

/* Both at once, for queries of x. */
lh_tensor *lh_dai_queries(const lh_dai_pass *p, int64_t layer, lh_tensor *x,
                          lh_attention *attention);

/* Adds what lh_dai_keys gave as keys at the positions from `first` on. */
void lh_dai_add_keys(const lh_dai_pass *p, lh_attention *attention, lh_tensor *joined,
                     int64_t first);

/* The rest of the layer on x, whose heads attended to y [batch][count][heads][head_width]. */
lh_tensor *lh_dai_finish_layer(const lh_dai_pass *p, int64_t layer, lh_tensor *x, lh_tensor *y);

/* The head for x [batch][length][width]. */
lh_status lh_dai_finish(const lh_dai_pass *p, lh_tensor *x, lh_output *out);

/* ---- accounting: forward FLOPs ---- */

/* One layer on `queries` tokens, with `keys` vectors that keys and values are made of and `pairs`
 * visible query-key pairs. */
double lh_dai_layer_flops(const lh_dai_config *config, double queries, double keys, double pairs);
/* The head, per token, and what makes embeddings as wide as the model. */
double lh_dai_head_flops(const lh_dai_config *config);

static inline int64_t lh_dai_inner(const lh_dai_config *config) {
    return config->heads * config->head_width;
}

#endif
