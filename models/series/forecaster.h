/* The encoder and decoder that Informer and LogSparse share (Zhou et al. 2021, figure 2):
 * post-norm layers, between those of the encoder, where wanted, distilling; the decoder reads the
 * last label_len observed steps and zeros for those to predict, and gives all of them in one pass.
 *
 * series_attention.c has the attentions, distilling.c what stands between two layers of the
 * encoder, forecaster.c the whole. */
#ifndef LH_SERIES_FORECASTER_H
#define LH_SERIES_FORECASTER_H

#include "models/layers/dense.h"
#include "models/layers/recurrence_encoding.h"
#include "models/series/series_embedding.h"

/* ---- attention: Informer's (Zhou et al. 2021) and LogSparse's (Li et al. 2019), between the
 * projections that they share ---- */

typedef enum lh_series_attention_kind {
    LH_SERIES_FULL, /* every key */
    LH_SERIES_PROB, /* ProbSparse: lh_prob_attention_spec */
    LH_SERIES_LOG   /* distances 0 and the powers of two (Li et al. 2019, section 4.2) */
} lh_series_attention_kind;

typedef struct lh_series_attention {
    lh_series_attention_kind kind;
    bool masked; /* causal */
    bool mix;    /* the output's heads and steps are read as if they had not been swapped back */
    int64_t width, heads, head_width;
    int64_t factor;   /* PROB: queries and samples are factor * ceil(ln length) */
    int64_t taps;     /* steps that queries and keys are convolved over, causally; 1: projected */
    bool all_encoded; /* PROB: recurrence encoding joins queries that were left out, too */
    int64_t local;    /* LOG: distances up to this are visible as well */
    int64_t restart;  /* LOG: the pattern begins again after so many steps; 0: never */
    int64_t first;    /* where source's first step stands on the axis where x's first is 0 */
    double dropout;   /* of the weights; PROB has none */
    lh_recurrence_config recurrence_config;
    lh_dense query, key, value, out;
    lh_recurrence_encoding recurrence; /* RSA, over true distances in time */
} lh_series_attention;

/* Declares the projections of what the other fields say. */
void lh_series_attention_declare(lh_series_attention *layer, lh_declare *declaration,
                                 const char *prefix);

/* Queries from x [rows][length][width], keys and values from `source`, which is x itself unless the
 * kind is FULL. Gives [rows][length][width]. */
lh_tensor *lh_series_attention_apply(const lh_series_attention *layer, const lh_pass *pass,
                                     lh_tensor *x, lh_tensor *source);

/* Forward FLOPs of one row. */
double lh_series_attention_flops(const lh_series_attention *layer, int64_t queries, int64_t keys);

/* ---- distilling (Zhou et al. 2021, eq. 5; the released ConvLayer): a convolution over three steps
 * with circular padding, batch normalisation, ELU, and the maximum over three steps, every second
 * time ---- */

/* Batch normalisation (Ioffe and Szegedy 2015, algorithms 1 and 2) of each channel over all rows
 * and steps, as PyTorch's BatchNorm1d: gain 1, bias 0, epsilon 1e-5, momentum 0.1. */
typedef struct lh_batch_norm {
    int gain, bias;     /* [width] */
    int mean, variance; /* [width], running: statistics */
} lh_batch_norm;

typedef struct lh_distilling {
    lh_dense convolution; /* [3 * width][width], taps of the step before, itself, the one after */
    lh_batch_norm norm;
} lh_distilling;

/* Names are "<prefix>.convolution..." and "<prefix>.norm...". */
lh_distilling lh_distilling_declare(lh_declare *declaration, int64_t width, const char *prefix);

/* x [rows][length][width] -> [rows][lh_distilled_length(length)][width]. */
lh_tensor *lh_distilling_apply(const lh_distilling *layer, lh_pass *pass, lh_tensor *x);

/* Steps that are left: half, rounded up. */
int64_t lh_distilled_length(int64_t length);

/* Forward FLOPs per step of its input. */
double lh_distilling_flops(int64_t width);

/* ---- the whole ---- */

enum { LH_FORECASTER_LAYERS = 16 };

typedef struct lh_forecaster_layer {
    lh_series_attention self, cross; /* cross in the decoder only */
    lh_norm self_norm, cross_norm;
    lh_post_norm_network network;
} lh_forecaster_layer;

typedef struct lh_forecaster {
    lh_model_setup setup;
    int64_t width, heads, hidden, layers, decoder_layers;
    double dropout;
    bool sinusoids;                                     /* absolute positions */
    lh_recurrence_config recurrence;                    /* of all attentions */
    bool distils;                                       /* set before declaring */
    lh_distilling distilling[LH_FORECASTER_LAYERS - 1]; /* behind each encoder layer but the last */
    lh_series_embedding encoder_embedding, decoder_embedding;
    lh_forecaster_layer encoder[LH_FORECASTER_LAYERS], decoder[LH_FORECASTER_LAYERS];
    lh_norm encoder_norm, decoder_norm;
    lh_dense projection;
} lh_forecaster;

/* layers, decoder_layers, width, heads, hidden, dropout, sinusoids. */
extern const lh_option lh_forecaster_options[];

/* Completes what the options leave open and declares all; self-attentions are like `self`, but
 * for their sizes, and in the decoder masked and, where `mixes`, mixed. Fails: LH_EOPTION when
 * heads do not divide width, or the task is no forecasting. */
lh_status lh_forecaster_declare(lh_forecaster *model, const lh_model_setup *setup,
                                lh_series_attention self, bool mixes, lh_declare *declaration);

/* The predictions, [rows][pred_len][channels]. */
lh_status lh_forecaster_forward(const lh_forecaster *model, lh_pass *pass, lh_output *out);

/* Reports the gates of recurrence encoding as lh_recurrence_encoding_probe does: the encoder's
 * layers, then self- and cross-attention of each of the decoder's. */
lh_status lh_forecaster_probe(const lh_forecaster *model, const lh_params *params,
                              const lh_report *report);

/* Forward FLOPs per step of a window of seq_len + pred_len steps. */
double lh_forecaster_flops(const lh_forecaster *model, int64_t length);

#endif
