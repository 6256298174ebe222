/* The attentions of Informer (Zhou et al. 2021) and LogSparse (Li et al. 2019), between the
 * projections that they share. */
#ifndef LH_LAYERS_SERIES_ATTENTION_H
#define LH_LAYERS_SERIES_ATTENTION_H

#include "models/layers/dense.h"
#include "models/layers/recurrence_encoding.h"

typedef enum lh_series_attention_kind {
    LH_SERIES_FULL, /* every key */
    LH_SERIES_PROB, /* ProbSparse: lh_prob_attention_spec */
    LH_SERIES_LOG   /* distances 0 and the powers of two (Li et al. 2019, section 4.2) */
} lh_series_attention_kind;

typedef struct lh_series_attention {
    lh_series_attention_kind kind;
    bool masked; /* causal */
    bool mix;    /* the output's heads and steps are read as if they had not been swapped back */
    int64_t width, heads, head_width;
    int64_t factor;   /* PROB: queries and samples are factor * ceil(ln length) */
    int64_t taps;     /* steps that queries and keys are convolved over, causally; 1: projected */
    bool all_encoded; /* PROB: recurrence encoding joins queries that were left out, too */
    int64_t local;    /* LOG: distances up to this are visible as well */
    int64_t restart;  /* LOG: the pattern begins again after so many steps; 0: never */
    int64_t first;    /* where source's first step stands on the axis where x's first is 0 */
    double dropout;   /* of the weights; PROB has none */
    lh_recurrence_config recurrence_config;
    lh_dense query, key, value, out;
    lh_recurrence_encoding recurrence; /* RSA, over true distances in time */
} lh_series_attention;

/* Declares the projections of what the other fields say. */
void lh_series_attention_declare(lh_series_attention *layer, lh_declare *declare,
                                 const char *prefix);

/* Queries from x [rows][length][width], keys and values from `source`, which is x itself unless the
 * kind is FULL. Gives [rows][length][width]. */
lh_tensor *lh_series_attention_apply(const lh_series_attention *layer, const lh_pass *pass,
                                     lh_tensor *x, lh_tensor *source);

/* Forward FLOPs of one row. */
double lh_series_attention_flops(const lh_series_attention *layer, int64_t queries, int64_t keys);

#endif
