/* Attention by locality-sensitive hashing (Kitaev et al. 2020, section 2). Tokens are hashed,
 * sorted by bucket, and each looks at those before it of its bucket, in its own chunk of the sorted
 * sequence and the chunk before. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_LSH_H
#define LH_KERNELS_CONTRACT_LSH_H

#include "kernels/contract/check.h"
#include "kernels/contract/heads.h"

/* Hashing by random rotations (Andoni et al. 2015; section 2). Columns of a round's rotation belong
 * to the factors one after the other, factor[f] / 2 each; with y = x rotation over those of f,
 *
 *   h_f = argmax of [y; -y], the first of equals      bucket = sum_f h_f prod_{g < f} factor[g]
 *
 * The paper's hash has one factor, the number of buckets; several cost less. Factors are even,
 * or 1, and their product is an int32. x that is no number gets some valid bucket. */
typedef struct lh_lsh_hash_args {
    int64_t batch, heads, length, head_width, rounds;
    int64_t factors, factor[LH_LSH_FACTORS];
    lh_heads x;           /* in  [batch][length][heads][head_width] */
    const real *rotation; /* in  [batch][heads][head_width][rounds][sum of factor / 2] */
    int32_t *bucket;      /* out [batch][heads][rounds][length] */
} lh_lsh_hash_args;

static inline bool lh_lsh_factors_fit(int64_t factors, const int64_t *factor) {
    int64_t most = INT32_MAX;
    if (factors < 1 || factors > LH_LSH_FACTORS) return false;
    for (int64_t f = 0; f < factors; ++f) {
        const bool opposites = factor[f] == 1 || factor[f] % 2 == 0;
        if (factor[f] < 1 || factor[f] > most || !opposites) return false;
        most /= factor[f];
    }
    return true;
}

/* Of a round's rotation. */
static inline int64_t lh_lsh_columns(int64_t factors, const int64_t *factor) {
    int64_t columns = 0;
    for (int64_t f = 0; f < factors; ++f)
        columns += factor[f] / 2;
    return columns;
}

static inline int64_t lh_lsh_buckets(int64_t factors, const int64_t *factor) {
    int64_t buckets = 1;
    for (int64_t f = 0; f < factors; ++f)
        buckets *= factor[f];
    return buckets;
}

static inline lh_status lh_lsh_hash_check(const lh_lsh_hash_args *args) {
    const int64_t joined =
        args->batch | args->heads | args->length | args->head_width | args->rounds;
    return lh_sound(lh_are_sizes(joined) && lh_lsh_factors_fit(args->factors, args->factor),
                    lh_is_activation(args->x.act));
}

/* Sorts each row of tokens by bucket, then position, and tells what each may see: slots first[t]
 * .. slot[t] - 1 hold the tokens before t that share its bucket and stand in its chunk or the one
 * before, first[t] = max(first slot of its bucket, (slot[t] / chunk - 1) * chunk). Buckets are in
 * [0, buckets). */
typedef struct lh_lsh_sort_args {
    int64_t rows, length, buckets, chunk;
    const int32_t *bucket; /* in  [rows][length] */
    int32_t *order;        /* out [rows][length]: the token in each slot */
    int32_t *slot;         /* out [rows][length]: of each token */
    int32_t *first;        /* out [rows][length]: of each token */
} lh_lsh_sort_args;

static inline lh_status lh_lsh_sort_check(const lh_lsh_sort_args *args) {
    const bool cut = args->buckets >= 1 && args->chunk >= 1;
    return lh_sound(lh_are_sizes(args->rows | args->length) && cut, true);
}

/* q, k and v of attention, in one type that the products take. */
static inline bool lh_lsh_operands_fit(lh_act q, lh_act k, lh_act v, lh_precision precision) {
    return lh_multiplies(q.dtype, precision) && k.dtype == q.dtype && v.dtype == q.dtype &&
           lh_precision_known(precision);
}

/* Attention over what lsh_sort let each token see, in several rounds (eqs. 5-7, 14-18). One softmax
 * goes over all pairs of a round and a key:
 *
 *   score_r(i, j) = q_i . k_j - log N_ij      N_ij = rounds in which i sees j
 *   out_i = sum_{r, j} exp(score_r(i, j) - lse_i) v_j
 *
 * which is that over the union of the keys, and equals eq. 7's sum over rounds weighted by each
 * round's partition function. A token that sees no other in any round, or none with a score above
 * minus infinity, attends to itself: out_i = v_i, lse_i = -infinity. A number that is none may
 * reach every token.
 *
 * q, k and v may lie in bf16, where products are in bf16, too; outputs and gradients, to which
 * rounds add, are reals.
 *
 * With `any_bucket` i sees all j < i of its chunk and of the one before, whatever their bucket, and
 * N_ij is 1: a key counts in each round that has it (the released code of 2020). */
typedef struct lh_lsh_attention_spec {
    int64_t batch, heads, length, head_width, rounds, chunk;
    bool any_bucket;
    lh_precision precision;              /* of the operands of products */
    const int32_t *order, *slot, *first; /* in  [batch][heads][rounds][length] */
} lh_lsh_attention_spec;

static inline bool lh_lsh_attention_fits(const lh_lsh_attention_spec *spec) {
    return lh_are_sizes(spec->batch | spec->heads | spec->length | spec->head_width) &&
           spec->rounds >= 1 && spec->chunk >= 1;
}

typedef struct lh_lsh_attention_forward_args {
    lh_lsh_attention_spec spec;
    lh_heads q, k, v; /* in  [batch][length][heads][head_width] */
    lh_heads out;     /* out [batch][length][heads][head_width] */
    real *lse;        /* out saved [batch][heads][length] */
} lh_lsh_attention_forward_args;

static inline lh_status lh_lsh_attention_forward_check(const lh_lsh_attention_forward_args *args) {
    const bool operands =
        lh_lsh_operands_fit(args->q.act, args->k.act, args->v.act, args->spec.precision);
    return lh_sound(lh_lsh_attention_fits(&args->spec), operands && args->out.act.dtype == LH_REAL);
}

/* With P = exp(score - lse):  dscore = P (dout_i . v_j - dout_i . out_i). */
typedef struct lh_lsh_attention_backward_args {
    lh_lsh_attention_spec spec;
    lh_heads q, k, v, out, dout; /* in */
    const real *lse;             /* in */
    lh_heads dq, dk, dv;         /* out optional each (data NULL: not wanted) */
    lh_write dq_write, dk_write, dv_write;
} lh_lsh_attention_backward_args;

static inline lh_status
lh_lsh_attention_backward_check(const lh_lsh_attention_backward_args *args) {
    const bool operands =
        lh_lsh_operands_fit(args->q.act, args->k.act, args->v.act, args->spec.precision);
    const bool reals = args->out.act.dtype == LH_REAL && args->dout.act.dtype == LH_REAL &&
                       lh_agrees(args->dq.act, LH_REAL) && lh_agrees(args->dk.act, LH_REAL) &&
                       lh_agrees(args->dv.act, LH_REAL);
    return lh_sound(lh_lsh_attention_fits(&args->spec), operands && reals);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(lsh_hash, args->x.act.dtype)
LH_KERNEL_W(lsh_sort, LH_REAL)
LH_KERNEL_W(lsh_attention_forward, args->q.act.dtype)
LH_KERNEL_W(lsh_attention_backward, args->q.act.dtype)
#endif
