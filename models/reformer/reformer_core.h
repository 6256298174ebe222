/* What Reformer's models are built from (Kitaev et al. 2020): pre-norm attention and feed-forward
 * branches without a residual connection, as the halves of reversible blocks or of plain ones.
 * Projections have no biases, the feed-forward network has. */
#ifndef LH_REFORMER_REFORMER_CORE_H
#define LH_REFORMER_REFORMER_CORE_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"
#include "models/layers/common.h"

enum { LH_REFORMER_LAYERS = 64 };

/* What a layer's tokens attend to. All are causal; those that share queries and keys have one
 * projection for both, so weights of one such kind serve the others. */
typedef enum lh_reformer_kind {
    LH_REFORMER_FULL,         /* all tokens, separate projections */
    LH_REFORMER_SHARED,       /* all, shared: keys of unit length, not to itself */
    LH_REFORMER_SHARED_PLAIN, /* all, shared: keys as they are, itself too */
    LH_REFORMER_LSH,          /* shared: those of the same bucket */
    LH_REFORMER_LSH_CHUNKS,   /* shared: of any bucket in its chunk and the one before */
    LH_REFORMER_LOCAL,        /* its chunk and the one before, separate projections */
    LH_REFORMER_DOT_PRODUCT   /* as full, but all scores stand in memory (Table 1) */
} lh_reformer_kind;

/* How a layer's branches join the stream (section 3). */
typedef enum lh_reformer_residual {
    LH_RESIDUAL_REVERSIBLE,  /* eq. 9, activations recovered in backward */
    LH_RESIDUAL_TWO_STREAMS, /* the same function, activations kept */
    LH_RESIDUAL_PLAIN        /* x + f(x), activations kept */
} lh_reformer_residual;

typedef struct lh_reformer_config {
    int64_t vocabulary, layers, width, heads, head_width, hidden;
    const char *attention; /* the kinds of the layers as the option says them */
    lh_reformer_kind kind[LH_REFORMER_LAYERS];
    lh_list buckets; /* the factors in lsh as the option says them */
    lh_lsh lsh;
    int64_t eval_rounds; /* outside training; 0: as in training */
    int64_t local_chunk;
    lh_reformer_residual residual;
    int64_t feed_forward_chunk; /* tokens; 0: all at once */
    double dropout;
} lh_reformer_config;

/* Indices of the parameters of one attention; `key` is -1 where query serves both. */
typedef struct lh_reformer_attention {
    lh_norm norm;
    int query, key, value, out;
} lh_reformer_attention;

typedef struct lh_reformer_feed_forward {
    lh_norm norm;
    int in, in_bias, out, out_bias;
} lh_reformer_feed_forward;

/* layers, width, heads, head_width, hidden, residual, feed_forward_chunk, dropout; and, of models
 * whose layers choose their attention, attention, rounds, eval_rounds, chunk, buckets, local_chunk.
 */
extern const lh_option lh_reformer_config_options[], lh_reformer_attention_options[];

/* Completes what the options leave open. Fails: LH_EOPTION when heads do not divide width and
 * head_width is not given, or the task has no tokens. */
lh_status lh_reformer_config_settle(lh_reformer_config *config, const lh_model_setup *setup);
/* The same for the attention of the layers. Fails: LH_EOPTION for an unknown kind, with the
 * nearest, and for factors that are odd or too many. */
lh_status lh_reformer_attention_settle(lh_reformer_config *config);

/* ---- parameters; `prefix` ends with a point ---- */

/* `shared`: one projection for queries and keys. */
void lh_reformer_attention_declare(lh_reformer_attention *layer, const lh_reformer_config *config,
                                   bool shared, lh_declare *declaration, const char *prefix);
void lh_reformer_feed_forward_declare(lh_reformer_feed_forward *layer,
                                      const lh_reformer_config *config, lh_declare *declaration,
                                      const char *prefix);
bool lh_reformer_shares(lh_reformer_kind kind);
/* Glorot and Bengio 2010; a bias close to zero. */
lh_init lh_reformer_weight(int64_t in, int64_t out);
lh_init lh_reformer_bias(void);

/* ---- forward ---- */

/* One forward pass. It outlives lh_pass: regions that are run again in backward read it. */
typedef struct lh_reformer_run {
    const lh_reformer_config *config;
    lh_tape *tape;
    lh_lsh lsh;              /* with the rounds of this pass */
    double dropout;          /* 0 outside training */
    lh_tensor *const *param; /* all of the model's */
} lh_reformer_run;

/* Lives on the tape. NULL after LH_EMEMORY. */
const lh_reformer_run *lh_reformer_begin(const lh_reformer_config *config, const lh_pass *pass);

/* The layer norm of x, epsilon 1e-6. */
lh_tensor *lh_reformer_norm(const lh_reformer_run *run, lh_tensor *x, lh_norm norm);

/* One mask along the sequence and for all batch rows, off outside of training. */
lh_tensor *lh_reformer_dropout(const lh_reformer_run *run, lh_tensor *x);

/* The branches of a layer, without the residual: x [batch][length][width] -> the same. */
lh_tensor *lh_reformer_attend(const lh_reformer_run *run, const lh_reformer_attention *layer,
                              lh_reformer_kind kind, lh_tensor *x);
/* Full attention to all of `source`, or where that is NULL of x to itself, but for padding: count
 * i32 [batch]. source [batch][source_length][width]. */
lh_tensor *lh_reformer_attend_all(const lh_reformer_run *run, const lh_reformer_attention *layer,
                                  lh_tensor *x, lh_tensor *source, lh_tensor *count);
lh_tensor *lh_reformer_feed_forward_apply(const lh_reformer_run *run,
                                          const lh_reformer_feed_forward *layer, lh_tensor *x);

/* Runs `count` blocks from both streams x as the config's residual says. *y2 is NULL with plain
 * residual connections. */
lh_status lh_reformer_blocks(const lh_reformer_run *run, const lh_reversible_block *blocks,
                             int count, lh_tensor *x, lh_tensor **y1, lh_tensor **y2);

/* ---- accounting: forward FLOPs per token ---- */

/* Of an attention layer of this kind over so many tokens, and of a feed-forward layer. */
double lh_reformer_attention_flops(const lh_reformer_config *config, lh_reformer_kind kind,
                                   int64_t length);
double lh_reformer_feed_forward_flops(const lh_reformer_config *config);

#endif
