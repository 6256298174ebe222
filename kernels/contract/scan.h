/* Recurrences over time whose state is a matrix. Part of the contract (kernels.h). */
#ifndef LH_KERNELS_CONTRACT_SCAN_H
#define LH_KERNELS_CONTRACT_SCAN_H

#include "kernels/contract/check.h"
#include "kernels/contract/heads.h"

/* For each batch row and head the linear recurrence (Dao and Gu 2024, eqs. 1 and 2, with a_t a
 * number)
 *   S_t = a_t S_{t-1} + k_t^T v_t,  y_t = q_t S_t,  a_t = exp(log_decay_t),
 * with rows q_t, k_t of key_width numbers, v_t, y_t of value_width, S_t [key_width][value_width].
 * Head h reads the q and k of group h / (heads / groups). A kernel works in chunks of tokens, so
 * that its work is matrix products and its cost per token does not depend on the length. */
typedef struct lh_decay_scan_spec {
    int64_t batch, length;
    int64_t heads, groups;          /* 1 or more, groups divide heads */
    int64_t key_width, value_width; /* 1 or more */
    lh_heads q, k;                  /* in [batch][length][groups][key_width], reals as all here */
    lh_heads v;                     /* in [batch][length][heads][value_width] */
    const real *log_decay;          /* in optional [batch][length][heads], finite; NULL: a_t = 1 */
    const real *start; /* in [batch][heads][key_width][value_width]: S before the first token */
} lh_decay_scan_spec;

static inline bool lh_decay_scan_fits(const lh_decay_scan_spec *spec) {
    const bool heads = spec->groups >= 1 && spec->heads >= 1 && spec->heads % spec->groups == 0;
    return lh_are_sizes(spec->batch | spec->length) && heads && spec->key_width >= 1 &&
           spec->value_width >= 1;
}

/* What both recurrences read. */
static inline bool lh_decay_scan_is_real(const lh_decay_scan_spec *spec) {
    return spec->k.act.dtype == LH_REAL && spec->v.act.dtype == LH_REAL;
}

typedef struct lh_decay_scan_forward_args {
    lh_decay_scan_spec spec;
    lh_heads y; /* out [batch][length][heads][value_width] */
    real *end;  /* out [batch][heads][key_width][value_width]: S behind the last token */
} lh_decay_scan_forward_args;

static inline lh_status lh_decay_scan_forward_check(const lh_decay_scan_forward_args *args) {
    const bool reals = lh_decay_scan_is_real(&args->spec) && args->spec.q.act.dtype == LH_REAL &&
                       args->y.act.dtype == LH_REAL;
    return lh_sound(lh_decay_scan_fits(&args->spec), reals);
}

typedef struct lh_decay_scan_backward_args {
    lh_decay_scan_spec spec;
    lh_heads dy;      /* in optional, as y (data NULL: zeros) */
    const real *dend; /* in optional, as end (NULL: zeros) */
    lh_heads dq, dk;  /* out optional, as q and k: the sums over a group's heads */
    lh_heads dv;      /* out optional, as v */
    real *dlog_decay; /* out optional, as log_decay; where that is NULL, what it would get */
    real *dstart;     /* out optional, as start */
    lh_write dq_write, dk_write, dv_write, dlog_decay_write, dstart_write;
} lh_decay_scan_backward_args;

static inline lh_status lh_decay_scan_backward_check(const lh_decay_scan_backward_args *args) {
    const bool reals = lh_decay_scan_is_real(&args->spec) && args->spec.q.act.dtype == LH_REAL &&
                       lh_agrees(args->dy.act, LH_REAL) && lh_agrees(args->dq.act, LH_REAL) &&
                       lh_agrees(args->dk.act, LH_REAL) && lh_agrees(args->dv.act, LH_REAL);
    return lh_sound(lh_decay_scan_fits(&args->spec), reals);
}

/* What the gated delta rule writes (Yang et al. 2024, eq. 10): in the recurrence of
 * lh_decay_scan_spec its state is led towards answering k_t with v_t, by
 *   u_t = beta_t (v_t - a_t k_t S_{t-1}),  S_t = a_t S_{t-1} + k_t^T u_t,
 * so that outputs and the last state are those of the scan with u in place of v. States stay finite
 * where beta_t |k_t|^2 is at most 2. */
typedef struct lh_delta_rule_spec {
    lh_decay_scan_spec scan; /* q is not read */
    const real *beta;        /* in [batch][length][heads] */
} lh_delta_rule_spec;

typedef struct lh_delta_rule_forward_args {
    lh_delta_rule_spec spec;
    lh_heads u; /* out [batch][length][heads][value_width] */
} lh_delta_rule_forward_args;

static inline lh_status lh_delta_rule_forward_check(const lh_delta_rule_forward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    return lh_sound(lh_decay_scan_fits(scan),
                    lh_decay_scan_is_real(scan) && args->u.act.dtype == LH_REAL);
}

typedef struct lh_delta_rule_backward_args {
    lh_delta_rule_spec spec;
    lh_heads u;       /* in, what forward gave */
    lh_heads du;      /* in, as u */
    lh_heads dk;      /* out optional, as k: the sum over a group's heads */
    lh_heads dv;      /* out optional, as v */
    real *dbeta;      /* out optional, as beta */
    real *dlog_decay; /* out optional, as log_decay; where that is NULL, what it would get */
    real *dstart;     /* out optional, as start */
    lh_write dk_write, dv_write, dbeta_write, dlog_decay_write, dstart_write;
} lh_delta_rule_backward_args;

static inline lh_status lh_delta_rule_backward_check(const lh_delta_rule_backward_args *args) {
    const lh_decay_scan_spec *scan = &args->spec.scan;
    const bool reals = lh_decay_scan_is_real(scan) && args->u.act.dtype == LH_REAL &&
                       args->du.act.dtype == LH_REAL && lh_agrees(args->dk.act, LH_REAL) &&
                       lh_agrees(args->dv.act, LH_REAL);
    return lh_sound(lh_decay_scan_fits(scan), reals);
}

#endif

/* This family's part of kernels.def. */
#ifdef LH_KERNEL
LH_KERNEL_W(decay_scan_forward, LH_REAL)
LH_KERNEL_W(decay_scan_backward, LH_REAL)
LH_KERNEL_W(delta_rule_forward, LH_REAL)
LH_KERNEL_W(delta_rule_backward, LH_REAL)
#endif
