#include "models/models.h"

const lh_model_class *const lh_model_table[] = {
    &lh_model_xl,
    &lh_model_slide,
    &lh_model_brt,
    &lh_model_memorizing,
    &lh_model_transformer_xl,
    &lh_model_universal,
    &lh_model_staircase,
    &lh_model_cached_staircase,
    &lh_model_feedback,
    &lh_model_lstm,
    &lh_model_rnn,
    &lh_model_transformer,
    &lh_model_gpt2,
    &lh_model_gpt2_recurrent,
    &lh_model_t5,
    &lh_model_reformer,
    &lh_model_informer,
    &lh_model_logsparse,
    &lh_model_series_xl,
    NULL,
};
