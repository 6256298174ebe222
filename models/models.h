/* The models of this tree; table.c lists them. */
#ifndef LH_MODELS_MODELS_H
#define LH_MODELS_MODELS_H

#include "harness/engine/model.h"

extern const lh_model_class lh_model_xl;
extern const lh_model_class lh_model_slide;
extern const lh_model_class lh_model_brt;
extern const lh_model_class lh_model_memorizing;
extern const lh_model_class lh_model_transformer_xl;
extern const lh_model_class lh_model_universal;
extern const lh_model_class lh_model_staircase;
extern const lh_model_class lh_model_cached_staircase;
extern const lh_model_class lh_model_feedback;
extern const lh_model_class lh_model_dai_xl;
extern const lh_model_class lh_model_lstm;
extern const lh_model_class lh_model_rnn;
extern const lh_model_class lh_model_transformer;
extern const lh_model_class lh_model_rsa;
extern const lh_model_class lh_model_gpt2;
extern const lh_model_class lh_model_gpt2_recurrent;
extern const lh_model_class lh_model_t5;
extern const lh_model_class lh_model_reformer;
extern const lh_model_class lh_model_reformer_encoder_decoder;
extern const lh_model_class lh_model_informer;
extern const lh_model_class lh_model_logsparse;
extern const lh_model_class lh_model_series_xl;

#endif
