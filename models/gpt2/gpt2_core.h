/* GPT-2 (Radford et al. 2019): learned absolute positions, pre-norm blocks with biases everywhere,
 * GELU in its tanh form, the head tied to the embedding. Parameters are laid out as the released
 * weights are: the three projections of a block joined, matrices [in][out]. */
#ifndef LH_GPT2_GPT2_CORE_H
#define LH_GPT2_GPT2_CORE_H

#include "models/layers/common.h"
#include "models/layers/recurrence_encoding.h"

enum { LH_GPT2_LAYERS = 96 };

typedef struct lh_gpt2_config {
    int64_t vocabulary, layers, width, heads, head_width;
    int64_t context; /* rows of the position table */
    double dropout;  /* of embeddings, attention and what joins the residual stream */
    lh_recurrence_config recurrence_encoding;
} lh_gpt2_config;

/* Indices of the parameters of one block. */
typedef struct lh_gpt2_layer {
    lh_norm norm, feed_forward_norm;
    int joined, joined_bias, out, out_bias;
    int in, in_bias, feed_forward_out, feed_forward_out_bias;
    lh_recurrence_encoding recurrence;
} lh_gpt2_layer;

typedef struct lh_gpt2_core {
    lh_gpt2_config config;
    int embedding, positions;
    lh_norm norm;
    lh_gpt2_layer layer[LH_GPT2_LAYERS];
} lh_gpt2_core;

/* layers, width, heads, context, dropout. */
extern const lh_option lh_gpt2_config_options[];

/* Completes what the options leave open. Fails: LH_EOPTION when heads do not divide width, or the
 * task has no tokens. */
lh_status lh_gpt2_config_settle(lh_gpt2_config *config, const lh_model_setup *setup);

/* Declares everything from core->config. */
void lh_gpt2_declare(lh_gpt2_core *core, lh_declare *declaration);

/* ---- forward ---- */

/* One forward pass. It outlives lh_pass: regions that are run again in backward read it. */
typedef struct lh_gpt2_run {
    const lh_gpt2_core *core;
    lh_tape *tape;
    double dropout;          /* 0 outside training */
    lh_tensor *const *param; /* all of the model's */
} lh_gpt2_run;

/* Lives on the tape. NULL after LH_EMEMORY. */
const lh_gpt2_run *lh_gpt2_begin(const lh_gpt2_core *core, const lh_pass *pass);

/* What a block's queries attend to beside the tokens of the call up to their own. */
typedef struct lh_gpt2_view {
    lh_tensor *inserted; /* optional [rows][count][width]: vectors that are keys and values only */
    lh_tensor *filled;   /* optional i32 [rows]: how many of them a row has */
    lh_tensor *cached;   /* optional [rows][before][2 * width]: keys and values just before */
} lh_gpt2_view;

/* tokens i32 [rows][count] -> [rows][count][width], without positions. */
lh_tensor *lh_gpt2_embed(const lh_gpt2_run *run, lh_tensor *tokens);

/* Adds the positions first, first + 1, ... of a window, then drops. x [rows][count][width]. */
lh_tensor *lh_gpt2_place(const lh_gpt2_run *run, lh_tensor *x, int64_t first);

/* One block on x [rows][count][width]. *keys, optional: what the tokens leave in a cache,
 * [rows][count][2 * width]. */
lh_tensor *lh_gpt2_block(const lh_gpt2_run *run, int64_t layer, lh_tensor *x,
                         const lh_gpt2_view *view, lh_tensor **keys);

/* The norm after the last block. */
lh_tensor *lh_gpt2_finish(const lh_gpt2_run *run, lh_tensor *x);

/* ---- accounting ---- */

/* Forward FLOPs of one block on `tokens` tokens with `pairs` visible query-key pairs and `inserted`
 * inserted vectors. */
double lh_gpt2_block_flops(const lh_gpt2_config *config, int64_t tokens, double pairs,
                           int64_t inserted);

#endif
