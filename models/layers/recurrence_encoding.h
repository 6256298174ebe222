/* Recurrence encoding (REM) in any attention: the paper's RSA (Huang et al. 2023, "Encoding
 * Recurrence into Transformers", section 3).
 *
 * A model that has it
 *   - lists LH_TABLE(instance, recurrence, lh_recurrence_config) among its tables: rsa_kinds =
 *     k1,...,k6 heads of each kind, rsa_dilation, rsa_gate, rsa_cutoff, rsa_sharing, rsa_spread (in
 *     Lua: rsa = { kinds = {...}, ... });
 *   - completes what they say: lh_recurrence_config_settle(&model->recurrence, heads);
 *   - declares a layer: lh_recurrence_encoding_declare(&layer, &config, declaration, "layers.0.x");
 *   - after lh_attend(tape, &attention, q):
 *       y = lh_recurrence_encoding_mix(&layer, pass, &attention, y);
 *
 * Without rsa_kinds nothing is declared and y comes back as it is. The matrices are masked when the
 * attention sees no key ahead of its query (min_distance >= 0), else unmasked; lags are true
 * distances between the positions of `attention.keys`, and none reaches beyond max_distance. */
#ifndef LH_LAYERS_RECURRENCE_ENCODING_H
#define LH_LAYERS_RECURRENCE_ENCODING_H

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

enum { LH_RECURRENCE_KINDS = 6 };

/* Who owns a (nu, theta) among the cyclical heads. The parameter counts of Table 7 allow the first
 * two. */
typedef enum lh_recurrence_sharing {
    LH_RECURRENCE_PAIR,       /* the i-th cosine and the i-th sine head share both (Prop. 1) */
    LH_RECURRENCE_FROZEN,     /* each head has its nu; theta stays pi / 4 */
    LH_RECURRENCE_INDEPENDENT /* each head has both */
} lh_recurrence_sharing;

/* How first values fill their intervals; the paper says "to spread out". */
typedef enum lh_recurrence_spread {
    LH_RECURRENCE_EVEN,     /* evenly, eta by turns of either sign, from 1 on */
    LH_RECURRENCE_RANDOM,   /* drawn uniformly */
    LH_RECURRENCE_NEGATIVE, /* evenly, every eta below zero */
    LH_RECURRENCE_MIRRORED  /* evenly by turns, from -2 on */
} lh_recurrence_spread;

typedef struct lh_recurrence_config {
    lh_list kinds_given, dilation_given; /* as the options say them */
    int64_t kinds[LH_RECURRENCE_KINDS];  /* k1..k6: regular, cosine, sine; the same dilated */
    int64_t dilation[LH_REM_HEADS];      /* of the dilated heads in that order */
    int64_t heads;                       /* k1 + ... + k6; 0: no recurrence encoding */
    double gate;                         /* initial mu */
    int64_t cutoff;                      /* largest power K; LH_FAR: none */
    lh_recurrence_sharing sharing;
    lh_recurrence_spread spread;
} lh_recurrence_config;

/* rsa_kinds, rsa_dilation, rsa_gate, rsa_cutoff, rsa_sharing, rsa_spread. */
extern const lh_option lh_recurrence_config_options[];

/* Fills kinds, dilation and heads. Fails: LH_EOPTION when the kinds are not six, exceed `heads` or
 * LH_REM_HEADS, when the dilations do not fit them, or when another option is given without any. */
lh_status lh_recurrence_config_settle(lh_recurrence_config *config, int64_t heads);

/* One attention's parameters: eta, nu and theta by head or pair, mu for the layer. */
typedef struct lh_recurrence_encoding {
    int encoded;
    lh_rem_head head[LH_REM_HEADS];
    int eta, nu, theta, mu; /* parameters; -1: none */
    double first_eta[LH_REM_HEADS], first_nu[LH_REM_HEADS], first_theta[LH_REM_HEADS], first_mu;
} lh_recurrence_encoding;

/* Declares <prefix>.eta, .nu, .theta and .mu, as far as there are heads that read them. The layer
 * holds their initial values: it must lie in the model's instance. */
void lh_recurrence_encoding_declare(lh_recurrence_encoding *layer,
                                    const lh_recurrence_config *config, lh_declare *declaration,
                                    const char *prefix);

/* (1 - g) attended + g P V for the encoded heads (eq. 4). `attention` is the one that gave
 * `attended` [batch][queries][heads][head_width]. */
lh_tensor *lh_recurrence_encoding_mix(const lh_recurrence_encoding *layer, const lh_pass *pass,
                                      const lh_attention *attention, lh_tensor *attended);

/* The same where there is no pass, in a region that runs again: `param` are all of the model's. */
lh_tensor *lh_recurrence_encoding_mix_again(const lh_recurrence_encoding *layer, lh_tape *tape,
                                            lh_tensor *const *param, const lh_attention *attention,
                                            lh_tensor *attended);

/* Reports the gate sigmoid(mu) as layer_<i>_rsa_gate and of each encoded head lambda or gamma and
 * theta as layer_<i>_rsa_head_<h>_lambda and so on, counted from 1; for an lh_model_class's probe.
 */
lh_status lh_recurrence_encoding_probe(const lh_recurrence_encoding *layer, const lh_params *params,
                                       int64_t index, const lh_report *report);

/* Of `count` layers, each `stride` bytes behind the one before. */
lh_status lh_recurrence_encodings_probe(const lh_recurrence_encoding *first, size_t stride,
                                        int64_t count, const lh_params *params,
                                        const lh_report *report);

#endif
