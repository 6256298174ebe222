/* Recurrence encoding: Toeplitz matrices of lags beside the softmax of an attention (Huang et al.
 * 2023, "Encoding Recurrence into Transformers", eqs. 2-4 and appendix D). Part of the contract
 * (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_REM_H
#define LH_KERNELS_CONTRACT_REM_H

#include "kernels/contract/check.h"
#include "kernels/contract/heads.h"

/* The first `encoded` heads mix their attention with a matrix of lags, the others stay:
 *
 *   out_i = (1 - g) attention_i + g sum_j P[i][j] v_j              g = sigmoid(mu)
 *   P[i][j] = f(t) where t = (i - p_j) / d is whole and 1 <= t <= cutoff, else 0
 *
 * with lambda = tanh(eta), gamma = sigmoid(nu), and |i - p_j| in place of i - p_j when both_ways.
 * P is never made: P V is a linear scan over the keys in the order of their positions, exact with a
 * cutoff, too. Sources `everywhere` take no part; the others must not overlap. k and dk are not
 * used. */
typedef struct lh_rem_spec {
    int64_t batch, heads, queries, head_width;
    bool both_ways;
    int encoded; /* 0..LH_REM_HEADS, at most heads */
    lh_rem_head head[LH_REM_HEADS];
    int32_t eta_count, nu_count, theta_count;
    const real *eta, *nu, *theta; /* in [..._count]; NULL when empty */
    const real *mu;               /* in [1] */
    int source_count;
    lh_key_source source[LH_KEY_SOURCES];
} lh_rem_spec;

static inline bool lh_rem_fits(const lh_rem_spec *spec) {
    if (spec->source_count < 0 || spec->source_count > LH_KEY_SOURCES) return false;
    int64_t joined = spec->batch | spec->heads | spec->queries | spec->head_width |
                     spec->eta_count | spec->nu_count | spec->theta_count;
    for (int s = 0; s < spec->source_count; ++s)
        joined |= spec->source[s].count;
    return lh_are_sizes(joined) && spec->encoded >= 0 && spec->encoded <= LH_REM_HEADS &&
           spec->encoded <= spec->heads;
}

/* Of one that fits: every encoded head has its parameters. */
static inline bool lh_rem_heads_known(const lh_rem_spec *spec) {
    for (int h = 0; h < spec->encoded; ++h) {
        const lh_rem_head *head = &spec->head[h];
        const bool regular = head->kind == LH_REM_REGULAR;
        const bool turns = head->kind == LH_REM_COSINE || head->kind == LH_REM_SINE;
        const int32_t decays = regular ? spec->eta_count : spec->nu_count;
        if (!(regular || (turns && head->angle < spec->theta_count))) return false;
        if (head->decay < 0 || head->decay >= decays || head->dilation < 1) return false;
    }
    return true;
}

typedef struct lh_rem_forward_args {
    lh_rem_spec spec;
    lh_heads attention; /* in  [batch][queries][heads][head_width] */
    lh_heads out;       /* out [batch][queries][heads][head_width] */
} lh_rem_forward_args;

static inline lh_status lh_rem_forward_check(const lh_rem_forward_args *args) {
    if (!lh_rem_fits(&args->spec)) return LH_ESHAPE;
    const bool reals = args->attention.act.dtype == LH_REAL && args->out.act.dtype == LH_REAL;
    return reals && lh_rem_heads_known(&args->spec) ? LH_OK : LH_EOPTION;
}

/* dv of the sources, dattention and the gradients of the parameters are optional. */
typedef struct lh_rem_backward_args {
    lh_rem_spec spec;
    lh_heads attention, dout; /* in */
    lh_heads dattention;      /* out optional (data NULL) */
    lh_write dattention_write;
    real *deta, *dnu, *dtheta, *dmu; /* out optional, as the parameters */
    lh_write deta_write, dnu_write, dtheta_write, dmu_write;
} lh_rem_backward_args;

static inline lh_status lh_rem_backward_check(const lh_rem_backward_args *args) {
    if (!lh_rem_fits(&args->spec)) return LH_ESHAPE;
    const bool reals = args->attention.act.dtype == LH_REAL && args->dout.act.dtype == LH_REAL &&
                       lh_agrees(args->dattention.act, LH_REAL);
    return reals && lh_rem_heads_known(&args->spec) ? LH_OK : LH_EOPTION;
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL(rem_forward, LH_REAL)
LH_KERNEL_W(rem_backward, LH_REAL)
#endif
