/* The transformer core that the staircase family shares (Ju et al. 2022, section 3.1 and the
 * released code): pre-norm layers, or post-norm ones, with learned relative position vectors on the
 * key side (Shaw et al. 2018, eq. 4), one table for all layers and heads, and an untied head. The
 * models differ only in which tokens pass through the core when, and in what they attend to. */
#ifndef LH_STAIRCASE_STAIRCASE_CORE_H
#define LH_STAIRCASE_STAIRCASE_CORE_H

#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"

enum { LH_STAIRCASE_LAYERS = 64 };

typedef struct lh_staircase_config {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    double dropout;
    int64_t positions;      /* rows of the position table */
    int64_t first_distance; /* row r belongs to distance first_distance + r */
    bool share_keys;        /* layer 0's norm, keys and values serve every layer */
    bool post_norm;         /* norms lie behind the residual sums, and none before the head */
    lh_recurrence_config recurrence_encoding;
} lh_staircase_config;

/* Indices of the parameters of one layer. */
typedef struct lh_staircase_layer {
    lh_norm norm, feed_forward_norm;
    int query, key, value, out;
    int in, in_bias, feed_forward_out, out_bias;
    lh_recurrence_encoding recurrence;
} lh_staircase_layer;

typedef struct lh_staircase_core {
    lh_staircase_config config;
    int embedding, positions, head, head_bias;
    lh_norm norm;
    lh_staircase_layer layer[LH_STAIRCASE_LAYERS];
} lh_staircase_core;

/* width, heads, head_width, hidden, dropout, post_norm; and, of models where it is free, layers. */
extern const lh_option lh_staircase_config_options[], lh_staircase_layers_options[];

/* Of the family's classes: post_norm (lh_model_class). */
extern const char *const lh_staircase_later_options[];

/* Completes what the options leave open; layers and positions are the model's to set. Fails:
 * LH_EOPTION when heads do not divide width and head_width is not given, or the task has no tokens.
 */
lh_status lh_staircase_config_settle(lh_staircase_config *config, const lh_model_setup *setup);

/* Declares everything from core->config. */
void lh_staircase_declare(lh_staircase_core *core, lh_declare *declaration);

/* ---- forward ---- */

/* One forward pass through a core: lh_staircase_begin joins the key and value matrices once. */
typedef struct lh_staircase_pass {
    const lh_staircase_core *core;
    lh_pass *pass;
    lh_tape *tape;
    lh_tensor
        *query_key_value[LH_STAIRCASE_LAYERS]; /* [width][3 inner]; with share_keys NULL above 0 */
    lh_tensor *key_value[LH_STAIRCASE_LAYERS]; /* [width][2 inner]; likewise */
} lh_staircase_pass;

/* What tokens of a call attend to beside each other: keys and values [batch][count][2 *
 * heads][head_width], keys before values on the heads' axis, that end just before the call's first
 * token. NULL: nothing. */
typedef struct lh_staircase_view {
    lh_tensor *before;
    int64_t recent; /* > 0: only rows where a document begins see all of `before`, the others its
                       last `recent` */
    bool among;     /* also to the call's own tokens */
    int64_t min_distance, max_distance; /* as in lh_attention */
} lh_staircase_view;

/* Prepares for layers [0, config.layers). The NULL of a failed op shows in what follows. */
lh_staircase_pass lh_staircase_begin(const lh_staircase_core *core, lh_pass *pass);

/* The batch's tokens embedded: [batch][length][width]. */
lh_tensor *lh_staircase_embed(const lh_staircase_pass *pass);

/* The tokens of a step: those left of the step before, without its oldest chunk of `size` where
 * that has passed `times` times, then the new chunk where there is one. */
lh_tensor *lh_staircase_tokens(const lh_staircase_pass *pass, lh_tensor *embedded, int64_t size,
                               int64_t times, int64_t step, lh_tensor *left);

/* What a layer makes queries, keys and values of: x through the norm before its attention, x itself
 * where norms lie behind. */
lh_tensor *lh_staircase_normed(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x);

/* Keys and values of context vectors x [batch][count][width] at a layer, normed as above:
 * [batch][count][2 * heads][head_width]. */
lh_tensor *lh_staircase_keys(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x);

/* One layer on x [batch][count][width]. */
lh_tensor *lh_staircase_apply(const lh_staircase_pass *pass, int64_t layer, lh_tensor *x,
                              const lh_staircase_view *view);

/* Final norm and head for x [batch][length][width]. */
lh_status lh_staircase_finish(const lh_staircase_pass *pass, lh_tensor *x, lh_output *out);

/* ---- accounting: forward FLOPs of all batch rows' worth of one row ---- */

/* One call of lh_staircase_apply on `queries` tokens with `pairs` visible query-key pairs, those
 * that view->recent leaves counted beside those of all of `before`. */
double lh_staircase_apply_flops(const lh_staircase_config *config, const lh_staircase_view *view,
                                int64_t queries, double pairs);
/* One call of lh_staircase_keys on `count` vectors. */
double lh_staircase_keys_flops(const lh_staircase_config *config, int64_t count);
/* The head, per token. */
double lh_staircase_head_flops(const lh_staircase_config *config);

static inline int64_t lh_staircase_inner(const lh_staircase_config *config) {
    return config->heads * config->head_width;
}

#endif
