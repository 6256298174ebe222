/* Attention: of every architecture in one description, to the nearest keys of a memory, of the
 * queries that are farthest from uniform, and which tokens a cluster takes. Part of the contract
 * (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_ATTENTION_H
#define LH_KERNELS_CONTRACT_ATTENTION_H

#include "kernels/contract/check.h"
#include "kernels/contract/heads.h"
#include "kernels/random.h"

/* An attention, whatever the architecture: softmax over all sources together.
 *
 *   score(i, j) = head_scale[h] * (scale * q_i . (k_j + positions[entry(i - p_j)])
 *                                  + bias[h][bucket(i - p_j)])
 *   out_i = sum_j dropout(softmax_j(score(i, j))) v_j
 *
 * A key at position p is visible from query i when min_distance <= i - p <= max_distance and, with
 * chunk > 0, floor(p / chunk) >= floor(i / chunk) - chunks_back. So causal is min_distance 0,
 * causal without the token itself is 1, a window of W tokens before the token is [1, W], and
 * [-LH_FAR, LH_FAR] sees all. bucket(d) = bucket_of[clamp(d - bucket_first, 0, bucket_span - 1)];
 * T5's buckets and a clipped learned bias are both such tables. entry(d) = clamp(d -
 * position_first, 0, position_count - 1): learned vectors by distance (Shaw et al. 2018, eq. 4), of
 * each head or shared by all. Keys of an `everywhere` source have neither bias nor position vector.
 * A query that sees no key, or none with a score above minus infinity, gets zeros.
 *
 * Dropout draws word (((b + first_batch) * heads + h) * Q + i') * K + slot of `key`: with
 * dropout_period P > 0 the mask is shared by all batch rows (b + first_batch = 0) and by blocks (i'
 * = i mod P, Q = P, slot = (i - p) + P, K = 3 P), else i' = i, Q = queries, slot = ordinal of the
 * key over all sources, K = number of keys. Keys of an `everywhere` source are not dropped when
 * there is a period. */
typedef struct lh_attention_spec {
    int64_t batch, heads, queries, head_width;
    real scale;
    int64_t min_distance, max_distance;
    int64_t chunk, chunks_back;
    const real *head_scale; /* in optional [heads] */
    const real *bias;       /* in optional [heads][buckets] */
    int64_t buckets;
    const int32_t *bucket_of; /* in [bucket_span] */
    int64_t bucket_first, bucket_span;
    const real *positions;  /* in optional [position_heads][position_count][head_width] */
    int64_t position_heads; /* 1 or heads */
    int64_t position_count, position_first;
    double dropout;
    int64_t dropout_period;
    int64_t first_batch;      /* batch rows of other processes before these */
    const lh_random_key *key; /* in, on the device; when dropout > 0 */
    lh_precision precision;   /* of the operands of products; bf16 rounds weights, too */
    int source_count;
    lh_key_source source[LH_KEY_SOURCES];
} lh_attention_spec;

static inline bool lh_attention_fits(const lh_attention_spec *spec) {
    if (spec->source_count < 0 || spec->source_count > LH_KEY_SOURCES) return false;
    int64_t joined = spec->batch | spec->heads | spec->queries | spec->head_width;
    for (int s = 0; s < spec->source_count; ++s)
        joined |= spec->source[s].count;
    const bool bias = spec->bias == NULL ||
                      (spec->buckets >= 1 && spec->bucket_span >= 1 && spec->bucket_of != NULL);
    const bool positions = spec->positions == NULL ||
                           (spec->position_count >= 1 &&
                            (spec->position_heads == 1 || spec->position_heads == spec->heads));
    return lh_are_sizes(joined) && bias && positions;
}

/* Of one that fits; dtype: that of the queries. */
static inline bool lh_attention_options_known(const lh_attention_spec *spec, lh_dtype dtype) {
    for (int s = 0; s < spec->source_count; ++s)
        if (spec->source[s].k.act.dtype != dtype || spec->source[s].v.act.dtype != dtype)
            return false;
    const bool drops = spec->dropout >= 0 && spec->dropout < 1 && spec->dropout_period >= 0;
    const bool keyed = spec->dropout <= 0 || spec->key != NULL;
    return drops && keyed && spec->chunk >= 0 && lh_precision_known(spec->precision);
}

/* Scores live only in a tile of workspace: memory is linear in queries. */
typedef struct lh_attention_forward_args {
    lh_attention_spec spec;
    lh_heads q;   /* in  [batch][queries][heads][head_width] */
    lh_heads out; /* out [batch][queries][heads][head_width] */
    real *lse;    /* out saved [batch][heads][queries]: log sum exp of the scores */
} lh_attention_forward_args;

static inline lh_status lh_attention_forward_check(const lh_attention_forward_args *args) {
    const lh_dtype dtype = args->q.act.dtype;
    if (!lh_attention_fits(&args->spec)) return LH_ESHAPE;
    const bool views = lh_are_alike(args->q.act, args->out.act);
    return views && lh_attention_options_known(&args->spec, dtype) ? LH_OK : LH_EOPTION;
}

typedef struct lh_attention_backward_args {
    lh_attention_spec spec;
    lh_heads q, out, dout; /* in */
    const real *lse;       /* in */
    lh_heads dq;           /* out optional (data NULL) */
    lh_write dq_write;
    real *dhead_scale; /* out optional [heads] */
    lh_write dhead_scale_write;
    real *dbias; /* out optional [heads][buckets] */
    lh_write dbias_write;
    real *dpositions; /* out optional, as positions; summed over batch rows and sharing heads */
    lh_write dpositions_write;
} lh_attention_backward_args;

static inline lh_status lh_attention_backward_check(const lh_attention_backward_args *args) {
    const lh_dtype dtype = args->q.act.dtype;
    if (!lh_attention_fits(&args->spec)) return LH_ESHAPE;
    bool views = lh_are_alike(args->q.act, args->out.act) && args->dout.act.dtype == dtype &&
                 lh_agrees(args->dq.act, dtype);
    for (int s = 0; s < args->spec.source_count; ++s) {
        const lh_key_source *source = &args->spec.source[s];
        views = views && lh_agrees(source->dk.act, dtype) && lh_agrees(source->dv.act, dtype);
    }
    return views && lh_attention_options_known(&args->spec, dtype) ? LH_OK : LH_EOPTION;
}

/* Attention of each query and head to its `top` nearest keys (largest q . k) of a memory of past
 * tokens (Wu et al. 2022, Memorizing Transformers, section 3.2): softmax over head_scale[h] * q . k
 * of those. Row b holds its newest min(count[b], capacity) tokens in slots [0, that); order does
 * not matter. NaN is the largest score; equal ones prefer the lower slot. With fewer than top keys
 * the rest of index is -1 and of weight 0; with none, or none with a score above minus infinity,
 * the output is zero. A neighbour of weight 0 has no part in gradients. Not differentiable in the
 * memory. */
typedef struct lh_knn_attention_forward_args {
    int64_t batch, heads, queries, head_width, capacity, top;
    const real *head_scale; /* in optional [heads] */
    lh_heads q;             /* in [batch][queries][heads][head_width] */
    const real *k, *v;      /* in [batch][capacity][heads][head_width] */
    const int32_t *count;   /* in [batch]: tokens ever appended */
    lh_heads out;           /* out [batch][queries][heads][head_width] */
    int32_t *index;         /* out saved [batch][queries][heads][top] */
    real *weight;           /* out saved [batch][queries][heads][top] */
} lh_knn_attention_forward_args;

static inline lh_status lh_knn_attention_forward_check(const lh_knn_attention_forward_args *args) {
    const int64_t joined =
        args->batch | args->heads | args->queries | args->head_width | args->capacity | args->top;
    const bool reals = args->q.act.dtype == LH_REAL && args->out.act.dtype == LH_REAL;
    return lh_sound(lh_are_sizes(joined), reals);
}

typedef struct lh_knn_attention_backward_args {
    int64_t batch, heads, queries, head_width, capacity, top;
    const real *head_scale;
    lh_heads q, dout;     /* in */
    const real *k, *v;    /* in */
    const int32_t *index; /* in */
    const real *weight;   /* in */
    lh_heads dq;          /* out optional */
    lh_write dq_write;
    real *dhead_scale; /* out optional [heads] */
    lh_write dhead_scale_write;
} lh_knn_attention_backward_args;

static inline lh_status
lh_knn_attention_backward_check(const lh_knn_attention_backward_args *args) {
    const int64_t joined =
        args->batch | args->heads | args->queries | args->head_width | args->capacity | args->top;
    const bool reals = args->q.act.dtype == LH_REAL && args->dout.act.dtype == LH_REAL &&
                       lh_agrees(args->dq.act, LH_REAL);
    return lh_sound(lh_are_sizes(joined), reals);
}

/* ProbSparse self-attention (Zhou et al. 2021, "Informer", section 3.2 and algorithm 1), as the
 * released code has it: only the `top` queries whose attention is farthest from uniform attend.
 * Query i samples the keys r(i, s), the same for all batch rows and heads, and its measure (eq. 4)
 * is M_i, of unscaled products without a mask:
 *
 *   r(i, s) = floor(word(i * samples + s) * length / 2^32)
 *   M_i     = max_s q_i . k_r(i, s) - sum_s q_i . k_r(i, s) / length
 *
 * The `top` largest M_i, of equals the lower i, attend to all keys (causal: j <= i). The others get
 * the mean of all values, or with `causal` the sum of those up to their own:
 *
 *   out_i = sum_j softmax_j(scale q_i . k_j) v_j        i chosen
 *   out_i = sum_j v_j / length  or  sum_{j <= i} v_j    else
 *
 * `chosen` has the rising i of each head. One whose scores are all minus infinity gets zeros. */
typedef struct lh_prob_attention_spec {
    int64_t batch, heads, length, head_width;
    int64_t top; /* at most length */
    bool causal;
    real scale;
} lh_prob_attention_spec;

static inline bool lh_prob_attention_fits(const lh_prob_attention_spec *spec) {
    return lh_are_sizes(spec->batch | spec->heads | spec->length | spec->head_width | spec->top) &&
           spec->top <= spec->length;
}

typedef struct lh_prob_attention_forward_args {
    lh_prob_attention_spec spec;
    int64_t samples;
    const lh_random_key *key; /* in, on the device */
    lh_heads q, k, v;         /* in  [batch][length][heads][head_width] */
    lh_heads out;             /* out [batch][length][heads][head_width] */
    int32_t *chosen;          /* out saved [batch][heads][top] */
    real *lse;                /* out saved [batch][heads][top]: log sum exp of the scores */
} lh_prob_attention_forward_args;

static inline lh_status
lh_prob_attention_forward_check(const lh_prob_attention_forward_args *args) {
    const bool reals = args->q.act.dtype == LH_REAL && args->k.act.dtype == LH_REAL &&
                       args->v.act.dtype == LH_REAL && args->out.act.dtype == LH_REAL;
    return lh_sound(lh_prob_attention_fits(&args->spec) && args->samples >= 1, reals);
}

/* Gradients of out; the choice has none. */
typedef struct lh_prob_attention_backward_args {
    lh_prob_attention_spec spec;
    lh_heads q, k, v, out, dout; /* in */
    const int32_t *chosen;       /* in */
    const real *lse;             /* in */
    lh_heads dq, dk, dv;         /* out optional (data NULL) */
    lh_write dq_write, dk_write, dv_write;
} lh_prob_attention_backward_args;

static inline lh_status
lh_prob_attention_backward_check(const lh_prob_attention_backward_args *args) {
    const bool reals = args->q.act.dtype == LH_REAL && args->k.act.dtype == LH_REAL &&
                       args->v.act.dtype == LH_REAL && args->out.act.dtype == LH_REAL &&
                       args->dout.act.dtype == LH_REAL;
    const bool gradients = lh_agrees(args->dq.act, LH_REAL) && lh_agrees(args->dk.act, LH_REAL) &&
                           lh_agrees(args->dv.act, LH_REAL);
    return lh_sound(lh_prob_attention_fits(&args->spec), reals && gradients);
}

/* The `top` largest scores of each row, of equals the lower token, not a number before all others:
 * the tokens that a cluster takes (Roy et al. 2020, algorithm 1). They are given in rising order,
 * as entries of a table that holds the tokens of one group of rows behind those of another:
 * index[row] = token + floor(row / group) * length, below 2^31. */
typedef struct lh_top_tokens_args {
    int64_t rows, length;
    int64_t top;       /* at most length */
    int64_t group;     /* rows that choose among the same tokens, at least 1 */
    const real *score; /* in  [rows][length] */
    int32_t *index;    /* out [rows][top] */
} lh_top_tokens_args;

static inline lh_status lh_top_tokens_check(const lh_top_tokens_args *args) {
    const bool sizes = lh_are_sizes(args->rows | args->length | args->top);
    return lh_sound(sizes && args->top <= args->length && args->group >= 1, true);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(attention_forward, args->q.act.dtype)
LH_KERNEL_W(attention_backward, args->q.act.dtype)
LH_KERNEL_W(knn_attention_forward, LH_REAL)
LH_KERNEL_W(knn_attention_backward, LH_REAL)
LH_KERNEL_W(prob_attention_forward, LH_REAL)
LH_KERNEL_W(prob_attention_backward, LH_REAL)
LH_KERNEL_W(top_tokens, LH_REAL)
#endif
