/* Small pieces that every family needs: checks of options and segments, names and first values of
 * parameters, layer norms, dropout in training, projections into heads, the tokens that a cache
 * keeps, sinusoidal positions, pairs of local attention. */
#ifndef LH_LAYERS_COMMON_H
#define LH_LAYERS_COMMON_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

/* Fails with LH_EOPTION when the task has no tokens. */
lh_status lh_require_tokens(const lh_model_setup *setup);

/* Sets *head_width to width / heads where it is 0. Fails: LH_EOPTION when heads do not divide
 * width. */
lh_status lh_settle_head_width(int64_t width, int64_t heads, int64_t *head_width);

/* The same for a model without an option 'head_width'. */
lh_status lh_divide_heads(int64_t width, int64_t heads, int64_t *head_width);

/* The layer, from 0, that `option` counts from 1, or below 0 from the top. Fails: LH_EOPTION where
 * there is none. */
lh_status lh_settle_layer(const char *option, int64_t given, int64_t layers, int64_t *layer);

/* An option of a part that a model may lack. */
typedef struct lh_part_option {
    const char *name;
    bool given; /* another value than its default */
} lh_part_option;

/* Fails with LH_EOPTION for the first of them that is given, the last of which is {0}. `part` is
 * what it needs: "rsa_kinds". */
lh_status lh_refuse_idle(const lh_part_option *options, const char *part);

/* Fails with LH_ESHAPE, naming the nearest length that fits, when chunks of `size` tokens do not
 * fill a segment. `option` is what the user calls the size. */
lh_status lh_require_whole_chunks(const char *option, int64_t size, int64_t length);

/* "layers.<i>.<part>" in name[LH_LAYER_NAME], which is returned. */
enum { LH_LAYER_NAME = 64 };
const char *lh_layer_name(char *name, int64_t i, const char *part);

/* First values: all 0; all 1; N(0, deviation^2); uniform within +- bound. */
lh_init lh_init_zeros(void);
lh_init lh_init_ones(void);
lh_init lh_init_normal(double deviation);
lh_init lh_init_uniform(double bound);

/* Layer normalisation, first a gain of 1 and a bias of 0. */
typedef struct lh_norm {
    int gain, bias; /* [width] */
} lh_norm;

/* Names are "<prefix>.gain" and "<prefix>.bias". */
lh_norm lh_norm_declare(lh_declare *declaration, int64_t width, const char *prefix);

/* The same with a gain of N(1, deviation^2), as Transformer-XL's released code begins. */
lh_norm lh_norm_declare_normal(lh_declare *declaration, int64_t width, double deviation,
                               const char *prefix);

/* Over the last axis, epsilon 1e-5. */
lh_tensor *lh_norm_apply(lh_norm norm, const lh_pass *pass, lh_tensor *x);

/* Options refused (lh_model_class) where layers have no attention, and where a model carries a
 * state of its own. */
#define LH_NO_ATTENTION                                                                            \
    { "rsa_", "recurrence encodings are mixed into attention, and its layers have none" }
#define LH_NO_STAIRCASE                                                                            \
    {"steps", "steps of a staircase pass tokens through a core that remembers nothing else, and "  \
              "this model has a memory of its own"},                                               \
    {                                                                                              \
        "forward_size",                                                                            \
            "it is of the steps of a staircase, which pass tokens through a core that "            \
            "remembers nothing else; this model has a memory of its own"                           \
    }

/* x dropped out at this rate in training, x itself outside. */
lh_tensor *lh_pass_dropout(const lh_pass *pass, double rate, lh_tensor *x);

/* The same of a table [length][width] that all batch rows share: it loses the same numbers
 * whichever of the rows are there (lh_tape_set_rows). */
lh_tensor *lh_pass_dropout_table(const lh_pass *pass, double rate, lh_tensor *table);

/* x weight, into heads: [batch][n][width] -> [batch][n][k heads][head_width]. */
lh_tensor *lh_project_heads(lh_tape *tape, lh_tensor *x, lh_tensor *weight, int64_t head_width);

/* The last `count` tokens of [before; now] along axis 1; `before` has at least count. */
lh_tensor *lh_last_tokens(lh_tape *tape, int64_t count, lh_tensor *before, lh_tensor *now);

/* [length][width]: the sine of position / 10000^(2i / width) in channel 2i, the cosine in 2i + 1
 * (Vaswani et al. 2017, section 3.5), from position 0 on. A constant. */
lh_tensor *lh_sinusoids(lh_tape *tape, int64_t length, int64_t width);

/* Pairs of query and key where tokens see their own chunk up to themselves and all of the one
 * before, summed over a sequence. */
double lh_local_pairs(int64_t chunk, int64_t length);

#endif
