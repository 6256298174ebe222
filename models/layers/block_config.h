/* What a stack of sliding-window layers is built from: the Block-Recurrent Transformer and its
 * baselines differ only in these numbers. Section and equation numbers are those of Hutchins et al.
 * 2022. */
#ifndef LH_LAYERS_BLOCK_CONFIG_H
#define LH_LAYERS_BLOCK_CONFIG_H

#include "models/layers/recurrence_encoding.h"

enum { LH_BLOCK_LAYERS = 64 };

/* Section 3.4. */
typedef enum lh_gate_kind { LH_GATE_FIXED, LH_GATE_LSTM } lh_gate_kind;

/* Section 3.6. */
typedef enum lh_gate_layout { LH_LAYOUT_DUAL, LH_LAYOUT_SINGLE, LH_LAYOUT_SKIP } lh_gate_layout;

/* Where tanh is applied to z: as the released code does (single layout only, both gates), or as
 * eqs. 1 and 4 are printed (LSTM gate always, fixed gate never). */
typedef enum lh_gate_tanh { LH_TANH_CODE, LH_TANH_PAPER } lh_gate_tanh;

typedef enum lh_logit_divisor {
    LH_DIVISOR_SQRT_VOCABULARY,
    LH_DIVISOR_SQRT_WIDTH,
    LH_DIVISOR_ONE
} lh_logit_divisor;

typedef struct lh_block_config {
    int64_t vocabulary, layers, width, heads, head_width, hidden, window;
    double dropout;
    bool normalize; /* unit-length queries and keys with a learned scale per head, section 3.3 */
    bool position_bias; /* T5 buckets */
    bool see_self;      /* a token attends to itself; the released code: no */
    lh_logit_divisor divisor;
    /* recurrence */
    bool recurrent[LH_BLOCK_LAYERS]; /* which layers */
    bool any_recurrent, feedback;
    int64_t states;
    lh_gate_kind gate;
    lh_gate_layout layout;
    lh_gate_tanh tanh_rule;
    bool z_bias; /* b^(z) of eqs. 1 and 4; the released code: none */
    /* nearest-neighbour memory */
    int64_t memory_layer; /* 0-based; -1: none */
    int64_t memory, top;
    lh_recurrence_config recurrence_encoding; /* of the layers without recurrent states */
} lh_block_config;

/* layers, width, heads, head_width, hidden, window, dropout, normalize, position_bias, see_self,
 * logit_divisor. */
extern const lh_option lh_block_config_options[];

/* Completes what the options leave open; no recurrent layer, no memory. Fails: LH_EOPTION when
 * heads do not divide width and head_width is not given, or the task has no tokens. */
lh_status lh_block_config_settle(lh_block_config *config, const lh_model_setup *setup);

static inline int64_t lh_block_inner(const lh_block_config *config) {
    return config->heads * config->head_width;
}

#endif
