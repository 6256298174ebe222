/* The operations that models are written in. Each checks shapes, launches kernels, and records its
 * gradient.
 *
 * All return a tensor that belongs to the tape's current scope, or NULL after a failure (see
 * tensor.h). `[...]` in a comment is a shape; names are those of kernels.h. Arguments are borrowed.
 *
 * In a run in bf16 activations lie in memory as bf16 (lh_pool_activation): matrix products and
 * gather make them; norms, dropout, unary functions, sums, attention and moved data keep what they
 * are given, and with one real operand give reals. Every other op widens what it is given and gives
 * reals. Whatever is given may be a slice; of integers it lies side by side, or is refused. */
#ifndef LH_ENGINE_OPS_H
#define LH_ENGINE_OPS_H

#include "harness/engine/tape.h"
#include "harness/ops/regions.h"
#include "kernels/terms.h"

/* ---- constants ---- */

/* Tensors that take no gradient: a copy of `values`, or all `value`, or all zeros. */
lh_tensor *lh_integers(lh_tape *tape, int rank, const int64_t *shape, const int32_t *values);
lh_tensor *lh_reals(lh_tape *tape, int rank, const int64_t *shape, const real *values);
lh_tensor *lh_filled(lh_tape *tape, int rank, const int64_t *shape, double value);
lh_tensor *lh_zeros(lh_tape *tape, int rank, const int64_t *shape);

/* ---- views: no data moves, gradients flow ---- */

/* Contiguous input; one size may be -1. */
lh_tensor *lh_reshape(lh_tape *tape, lh_tensor *x, int rank, const int64_t *shape);
/* [...][heads * head_width] -> [...][heads][head_width], and back. */
lh_tensor *lh_split_heads(lh_tape *tape, lh_tensor *x, int64_t head_width);
lh_tensor *lh_join_heads(lh_tape *tape, lh_tensor *x);
/* Elements start .. start + length - 1 of `axis`. */
lh_tensor *lh_slice(lh_tape *tape, lh_tensor *x, int axis, int64_t start, int64_t length);
/* Same storage, no gradient: a cache across segments. */
lh_tensor *lh_detach(lh_tape *tape, lh_tensor *x);

/* ---- moving data ---- */

/* x itself when it is dense, else a dense copy. */
lh_tensor *lh_contiguous(lh_tape *tape, lh_tensor *x);
/* x itself when it is dense and has this dtype, else a dense copy, rounded or widened. */
lh_tensor *lh_convert(lh_tape *tape, lh_tensor *x, lh_dtype dtype);
/* Axis i of the result is axis order[i] of x. */
lh_tensor *lh_permute(lh_tape *tape, lh_tensor *x, const int *order);
lh_tensor *lh_concat(lh_tape *tape, int axis, lh_tensor *const *parts, int count);
/* A sequence that a loop fills step by step: contents are undefined until they are written. Each
 * element is written once, before any op reads it; readers take slices. Gradients flow from the
 * readers to what was written. `value` has the sequence's rank and lies along `axis` from `start`
 * on. */
lh_tensor *lh_sequence(lh_tape *tape, int rank, const int64_t *shape);
lh_status lh_sequence_write(lh_tape *tape, lh_tensor *sequence, int axis, int64_t start,
                            lh_tensor *value);
/* [n][...] -> [count][n][...]: repeats x along a new first axis. */
lh_tensor *lh_repeat(lh_tape *tape, lh_tensor *x, int64_t count);
/* table [entries][width], index i32 [any shape] -> [any shape][width]. An index of reals [any
 * shape][count] says instead how much of each of the first `count` entries: their sum. */
lh_tensor *lh_gather(lh_tape *tape, lh_tensor *table, lh_tensor *index);
/* x [any shape][width], index i32 [any shape] -> [entries][width]: each entry the sum of the rows
 * that have its index, zeros where none has. */
lh_tensor *lh_scatter_add(lh_tape *tape, lh_tensor *x, lh_tensor *index, int64_t entries);
/* flag i32 [batch], a [...], x [batch][...]: flag ? a : x. x may be a constant cache. */
lh_tensor *lh_select_rows(lh_tape *tape, lh_tensor *flag, lh_tensor *a, lh_tensor *x);

/* ---- arithmetic ---- */

/* Element by element, equal shapes. */
lh_tensor *lh_add(lh_tape *tape, lh_tensor *a, lh_tensor *b);
lh_tensor *lh_subtract(lh_tape *tape, lh_tensor *a, lh_tensor *b);
lh_tensor *lh_multiply(lh_tape *tape, lh_tensor *a, lh_tensor *b);
/* a [...][n] with b [n], the same for every row. */
lh_tensor *lh_add_row(lh_tape *tape, lh_tensor *a, lh_tensor *b);
lh_tensor *lh_multiply_row(lh_tape *tape, lh_tensor *a, lh_tensor *b);
/* a [...][n] with b, a number for each row, of any shape of as many elements. */
lh_tensor *lh_multiply_column(lh_tape *tape, lh_tensor *a, lh_tensor *b);
/* a [batch][...] with b [...], the same for every batch row. */
lh_tensor *lh_add_batch(lh_tape *tape, lh_tensor *a, lh_tensor *b);
lh_tensor *lh_scale(lh_tape *tape, lh_tensor *x, double factor);
lh_tensor *lh_unary(lh_tape *tape, lh_unary_op op, lh_tensor *x);
/* Over `axis`, which disappears. No model of this tree takes lh_sum, those of plug-ins may. */
lh_tensor *lh_sum(lh_tape *tape, lh_tensor *x, int axis);
lh_tensor *lh_mean(lh_tape *tape, lh_tensor *x, int axis);
lh_tensor *lh_maximum(lh_tape *tape, lh_tensor *x, int axis);
/* All elements, to shape []. */
lh_tensor *lh_sum_all(lh_tape *tape, lh_tensor *x);
lh_tensor *lh_softmax(lh_tape *tape, lh_tensor *x);

/* ---- matrix products ---- */

/* x [...][in], weight [in][out], bias [out] optional: activation(x weight + bias) [...][out]. */
lh_tensor *lh_linear(lh_tape *tape, lh_tensor *x, lh_tensor *weight, lh_tensor *bias,
                     lh_unary_op activation);
/* residual [...][out] + x weight, without a temporary. */
lh_tensor *lh_linear_add(lh_tape *tape, lh_tensor *residual, lh_tensor *x, lh_tensor *weight);
/* a [batch...][m][k] (or [k][m]), b [batch...][k][n] (or [n][k]), equal batch axes. */
lh_tensor *lh_matmul(lh_tape *tape, lh_tensor *a, lh_tensor *b, bool transpose_a, bool transpose_b);

/* ---- normalisation, dropout, gates ---- */

/* Over the last axis; gain and bias [width], as in lh_layer_norm_forward_args. */
lh_tensor *lh_layer_norm(lh_tape *tape, lh_tensor *x, lh_tensor *gain, lh_tensor *bias,
                         double epsilon);
lh_tensor *lh_rms_norm(lh_tape *tape, lh_tensor *x, lh_tensor *gain, double epsilon);
/* Unit length over the last axis. */
lh_tensor *lh_unit_norm(lh_tape *tape, lh_tensor *x, double epsilon);
/* x [...][length][width]; period as in lh_dropout_args. Rate 0 returns x. */
lh_tensor *lh_dropout(lh_tape *tape, lh_tensor *x, double rate, int64_t period);
/* c, z [...][width], bias [width]. */
lh_tensor *lh_fixed_gate(lh_tape *tape, lh_tensor *c, lh_tensor *z, lh_tensor *bias);
lh_tensor *lh_lstm_gate(lh_tape *tape, lh_tensor *c, lh_tensor *z, lh_tensor *forget,
                        lh_tensor *input, double forget_offset, double input_offset);
/* One step of an LSTM: gates [...][4 * width] before their functions, in the order input, forget,
 * cell, output; c [...][width]. Returns h and gives the next c in *next. */
lh_tensor *lh_lstm_cell(lh_tape *tape, lh_tensor *gates, lh_tensor *c, lh_tensor **next);

/* ---- attention ---- */

/* A run of keys: k, v [batch][count][heads][head_width], slices allowed. See lh_key_source. */
typedef struct lh_keys {
    lh_tensor *k, *v;
    int64_t first;
    bool everywhere;
    lh_tensor *filled; /* optional i32 [batch] */
} lh_keys;

/* One attention, whatever the architecture. Zero-initialise, then set what it has; LH_ATTENTION
 * gives the neutral values. */
typedef struct lh_attention {
    double scale;                       /* 1 in LH_ATTENTION */
    int64_t min_distance, max_distance; /* all visible in LH_ATTENTION */
    int64_t chunk, chunks_back;
    lh_tensor *head_scale; /* optional [heads] */
    lh_tensor *bias;       /* optional [heads][buckets] */
    lh_tensor *bucket_of;  /* i32 [bucket_span], with bias */
    int64_t bucket_first;
    lh_tensor *positions; /* optional [count][head_width] or [heads][count][head_width] */
    int64_t position_first;
    double dropout;
    int64_t dropout_period;
    lh_keys keys[LH_KEY_SOURCES];
    int key_count;
} lh_attention;

#define LH_ATTENTION                                                                               \
    { .scale = 1.0, .min_distance = -LH_FAR, .max_distance = LH_FAR }

/* q [batch][queries][heads][head_width], slices allowed -> [batch][queries][heads][head_width]. */
lh_tensor *lh_attend(lh_tape *tape, const lh_attention *attention, lh_tensor *q);

/* The recurrence encoding of an attention's first heads, as in lh_rem_spec. */
typedef struct lh_recurrence {
    bool both_ways;
    int encoded;
    lh_rem_head head[LH_REM_HEADS];
    lh_tensor *eta, *nu, *theta; /* lists; NULL when no head reads them */
    lh_tensor *mu;               /* [1] */
} lh_recurrence;

/* attended [batch][queries][heads][head_width], what the attention to `keys` gave -> the same shape
 * with the matrices of lags mixed in. Keys `everywhere` have no lag and take no part. */
lh_tensor *lh_encode_recurrence(lh_tape *tape, const lh_recurrence *recurrence, const lh_keys *keys,
                                int key_count, lh_tensor *attended);

/* The kernel knn_attention: q [batch][queries][heads][head_width]; k, v [batch][capacity][heads *
 * head_width] rings, count i32 [batch]. */
lh_tensor *lh_attend_knn(lh_tape *tape, lh_tensor *q, lh_tensor *k, lh_tensor *v, lh_tensor *count,
                         lh_tensor *head_scale, int64_t top);

/* Locality-sensitive hashing: how tokens are told apart. */
typedef struct lh_lsh {
    int64_t rounds, chunk;
    bool any_bucket; /* a token sees all that are in reach, see lh_lsh_attention_forward_args */
    int64_t factors, factor[LH_LSH_FACTORS]; /* of the buckets, see lh_lsh_hash_args; 0 factors:
                                                two buckets a chunk of the sequence */
} lh_lsh;

/* Whether there are no factors, or such that make buckets. */
bool lh_lsh_factors_sound(const lh_lsh *lsh);
/* The same with the factors that a sequence of this length gets. */
lh_lsh lh_lsh_settle(const lh_lsh *lsh, int64_t length);
/* Forward FLOPs of one batch row and head: hashing, and each token with the keys in reach. */
double lh_lsh_flops(const lh_lsh *lsh, int64_t length, int64_t head_width);

/* Causal attention by buckets (lh_lsh_attention_forward_args), hashed by q. q, k, v
 * [batch][length][heads][head_width]. Draws new rotations, one random op; a region that is run
 * again keeps its buckets. */
lh_tensor *lh_attend_lsh(lh_tape *tape, const lh_lsh *lsh, lh_tensor *q, lh_tensor *k,
                         lh_tensor *v);

/* ProbSparse self-attention (lh_prob_attention_spec): what it has beside its operands. */
typedef struct lh_prob {
    double scale;
    bool causal;
    int64_t samples, top; /* keys that measure a query; queries that are chosen */
} lh_prob;

/* q, k, v [batch][length][heads][head_width]. Which keys are sampled is drawn anew in every pass
 * and replayed in a recompute. *chosen becomes the chosen queries, i32 [batch][heads][top], rising.
 */
lh_tensor *lh_attend_prob(lh_tape *tape, const lh_prob *prob, lh_tensor *q, lh_tensor *k,
                          lh_tensor *v, lh_tensor **chosen);

/* Which tokens have the `top` largest scores [any shape][length] -> i32 [any shape][top], rising,
 * of equals the lower ones. Each run of `group` rows of scores has tokens of its own, which lie one
 * group behind the other in the table that the result is an index of (lh_top_tokens_args). The
 * choice has no gradient. */
lh_tensor *lh_top_tokens(lh_tape *tape, lh_tensor *score, int64_t top, int64_t group);

/* ---- convolutions and scans ---- */

/* The causal convolution of each channel with a few numbers (lh_short_convolution_forward_args): x
 * [batch][length][width]; before [batch][kernel - 1][width], the tokens before, a constant; weight
 * [width][...][kernel], all axes between of size 1; bias optional [width]. */
lh_tensor *lh_short_convolution(lh_tape *tape, lh_tensor *x, lh_tensor *before, lh_tensor *weight,
                                lh_tensor *bias);

/* The decaying scan S_t = exp(log_decay_t) S_{t-1} + k_t^T v_t, y_t = q_t S_t of
 * lh_decay_scan_spec. q, k [batch][length][groups * key_width], v [batch][length][heads *
 * value_width], slices of the last axis allowed; log_decay optional [batch][length][heads]; start
 * [batch][heads][key_width] [value_width], by which widths and groups are known. Returns y in the
 * shape of v and gives the last state in *end. */
lh_tensor *lh_decay_scan(lh_tape *tape, lh_tensor *q, lh_tensor *k, lh_tensor *v,
                         lh_tensor *log_decay, lh_tensor *start, lh_tensor **end);

/* What the delta rule writes, u_t = beta_t (v_t - exp(log_decay_t) k_t S_{t-1}) of
 * lh_delta_rule_spec, in the shape of v; beta [batch][length][heads], the others as for
 * lh_decay_scan, which gives outputs and last state with u in place of v. */
lh_tensor *lh_delta_rule(lh_tape *tape, lh_tensor *k, lh_tensor *v, lh_tensor *beta,
                         lh_tensor *log_decay, lh_tensor *start);

/* ---- loss ---- */

/* What a loss over some rows came to. */
typedef struct lh_loss_sums {
    double nats;              /* cross-entropy: sum of weight * loss */
    double weight;            /* sum of weights */
    double correct;           /* cross-entropy: sum of weight > 0 and argmax right */
    double squared, absolute; /* regression: sums of the errors' squares and sizes */
    double strings, right;    /* answers of yes or no: batch rows that predict, and those of them
                                 without a wrong answer */
} lh_loss_sums;

/* A head over a vocabulary and what its cross-entropy is against. */
typedef struct lh_cross_entropy {
    lh_tensor *weight;  /* [vocabulary][width] */
    lh_tensor *bias;    /* optional [vocabulary] */
    double scale;       /* of the logits */
    lh_tensor *target;  /* i32 [...] */
    lh_tensor *weights; /* optional real [...] */
    double gradient_scale;
    int64_t chunk;      /* rows at a time; 0: chosen from the vocabulary */
    lh_loss_sums *sums; /* optional: filled, which synchronises */
} lh_cross_entropy;

/* Fused head and loss: logits = scale * (hidden weight^T + bias), softmax cross-entropy against
 * target, `chunk` rows at a time so that all logits never exist together. hidden [...][width].
 * Returns the shape-[] loss: sum of nats * gradient_scale. When recording, the gradients of hidden
 * and weight are computed in the forward pass. */
lh_tensor *lh_linear_cross_entropy(lh_tape *tape, const lh_cross_entropy *head, lh_tensor *hidden);

/* Mean-square and mean-absolute sums are made of lh_subtract, lh_unary and lh_sum_all. */

#endif
