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

/* Rows for the option table of a class; followed by its own rows and LH_BLOCK_OPTIONS_END. */
#define LH_BLOCK_OPTIONS                                                                           \
    {"layers", LH_OPTION_INTEGER, "12", 1, LH_BLOCK_LAYERS, NULL, "number of layers"},             \
        {"width", LH_OPTION_INTEGER, "1024", 1, 65536, NULL, "embedding size D"},                  \
        {"heads", LH_OPTION_INTEGER, "8", 1, 1024, NULL, "attention heads H"},                     \
        {"head_width", LH_OPTION_INTEGER, "0", 0, 4096, NULL, "size of a head; 0: width / heads"}, \
        {"hidden",                                                                                 \
         LH_OPTION_INTEGER,                                                                        \
         "0",                                                                                      \
         0,                                                                                        \
         1048576,                                                                                  \
         NULL,                                                                                     \
         "hidden size of the feed-forward network; 0: 4 * width"},                                 \
        {"window", LH_OPTION_INTEGER, "512", 1, 1048576, NULL, "window W in tokens"},              \
        {"dropout", LH_OPTION_REAL, "0.05", 0, 0.99, NULL, "dropout rate in training"},            \
        {"normalize",                                                                              \
         LH_OPTION_FLAG,                                                                           \
         "true",                                                                                   \
         0,                                                                                        \
         0,                                                                                        \
         NULL,                                                                                     \
         "unit-length queries and keys with a learned scale per head"},                            \
        {"position_bias", LH_OPTION_FLAG, "true", 0, 0, NULL, "T5 relative position bias"},        \
        {"see_self",                                                                               \
         LH_OPTION_FLAG,                                                                           \
         "false",                                                                                  \
         0,                                                                                        \
         0,                                                                                        \
         NULL,                                                                                     \
         "let a token attend to itself (the released code does not)"},                             \
        {"logit_divisor",                                                                          \
         LH_OPTION_CHOICE,                                                                         \
         "sqrt_vocabulary",                                                                        \
         0,                                                                                        \
         0,                                                                                        \
         lh_logit_divisors,                                                                        \
         "what the tied head's logits are divided by"},                                            \
        LH_RECURRENCE_OPTIONS

#define LH_BLOCK_OPTIONS_END                                                                       \
    { NULL, LH_OPTION_TEXT, NULL, 0, 0, NULL, NULL }

extern const char *const lh_logit_divisors[];

/* Reads the rows of LH_BLOCK_OPTIONS; no recurrent layer, no memory. Fails: LH_EOPTION when heads
 * do not divide width and head_width is not given. */
lh_status lh_block_config_read(const lh_options *options, const lh_model_setup *setup,
                               lh_block_config *config);

static inline int64_t lh_block_inner(const lh_block_config *config) {
    return config->heads * config->head_width;
}

#endif
