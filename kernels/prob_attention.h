/* ProbSparse self-attention (Zhou et al. 2021, "Informer"). Part of the contract in kernels.h,
 * whose rules hold. */
#ifndef LH_KERNELS_PROB_ATTENTION_H
#define LH_KERNELS_PROB_ATTENTION_H

#include "kernels/heads.h"
#include "kernels/random.h"

/* Section 3.2 and algorithm 1 as the released code has them: only the `top` queries whose attention
 * is farthest from uniform attend. Query i samples the keys r(i, s), the same for all batch rows
 * and heads, and its measure (eq. 4) is M_i, of unscaled products without a mask:
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
 * `chosen` has the rising i of each head. */
typedef struct lh_prob_attention_spec {
    int64_t batch, heads, length, head_width;
    int64_t top; /* at most length */
    bool causal;
    real scale;
} lh_prob_attention_spec;

typedef struct lh_prob_attention_forward_args {
    lh_prob_attention_spec spec;
    int64_t samples;
    const lh_random_key *key; /* in, on the device */
    lh_heads q, k, v;         /* in  [batch][length][heads][head_width] */
    lh_heads out;             /* out [batch][length][heads][head_width] */
    int32_t *chosen;          /* out saved [batch][heads][top] */
    real *lse;                /* out saved [batch][heads][top]: log sum exp of the scores */
} lh_prob_attention_forward_args;

/* Gradients of out; the choice has none. */
typedef struct lh_prob_attention_backward_args {
    lh_prob_attention_spec spec;
    lh_heads q, k, v, out, dout; /* in */
    const int32_t *chosen;       /* in */
    const real *lse;             /* in */
    lh_heads dq, dk, dv;         /* out optional (data NULL) */
    lh_write dq_write, dk_write, dv_write;
} lh_prob_attention_backward_args;

#endif
