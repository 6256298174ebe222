/* The encoder and decoder that Informer and LogSparse share (Zhou et al. 2021, figure 2):
 * post-norm layers, between those of the encoder, where wanted, distilling; the decoder reads the
 * last label_len observed steps and zeros for those to predict, and gives all of them in one pass.
 */
#ifndef LH_LAYERS_FORECASTER_H
#define LH_LAYERS_FORECASTER_H

#include "models/layers/distilling.h"
#include "models/layers/post_norm.h"
#include "models/layers/series_attention.h"
#include "models/layers/series_embedding.h"

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
                                lh_series_attention self, bool mixes, lh_declare *declare);

/* The predictions, [rows][pred_len][channels]. */
lh_status lh_forecaster_forward(const lh_forecaster *model, lh_pass *pass, lh_output *out);

/* Reports the gates of recurrence encoding as lh_recurrence_encoding_probe does: the encoder's
 * layers, then self- and cross-attention of each of the decoder's. */
lh_status lh_forecaster_probe(const lh_forecaster *model, const lh_params *params,
                              void (*report)(void *context, const char *name, double value),
                              void *context);

/* Forward FLOPs per step of a window of seq_len + pred_len steps. */
double lh_forecaster_flops(const lh_forecaster *model);

#endif
