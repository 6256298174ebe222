/* How the models of time series read their window: what they ask of the task, and Informer's
 * embedding (Zhou et al. 2021, section 3.1 and appendix B; the released models/embed.py): a
 * convolution over three steps of the channels, which wraps around at the ends of the sequence;
 * plus a linear map of the time features; plus, where positions are wanted, sinusoids. */
#ifndef LH_SERIES_SERIES_EMBEDDING_H
#define LH_SERIES_SERIES_EMBEDDING_H

#include "models/layers/dense.h"

/* Fails with LH_EOPTION when the task is no forecasting of vectors. */
lh_status lh_require_series(const lh_model_setup *setup);

/* Fails with LH_ESHAPE when a segment is no window of the task. */
lh_status lh_require_window(const lh_model_setup *setup, int64_t length);

/* Steps of a batch's windows that are observed; steps to predict of a window of `length`, where the
 * task leaves them open (pred_len 0). */
int64_t lh_observed_steps(const lh_model_setup *setup, const lh_batch *batch);
int64_t lh_asked_steps(const lh_model_setup *setup, int64_t length);

/* Beside each step the one before and the one after it, around the ends, which a convolution over
 * three steps with circular padding sees: x [rows][length][width] -> [rows][length][3 * width]. */
lh_tensor *lh_circular_steps(lh_tape *tape, lh_tensor *x);

typedef struct lh_series_embedding {
    int64_t channels, width;
    bool sinusoids;
    double dropout;
    int value,
        value_bias; /* [3 * channels][width], taps of the step before, itself, the one after */
    lh_dense time;
} lh_series_embedding;

/* Declares what the other fields ask for. */
void lh_series_embedding_declare(lh_series_embedding *embedding, const lh_model_setup *setup,
                                 lh_declare *declaration, const char *prefix);

/* x [rows][length][channels + time features], slices allowed -> [rows][length][width]. */
lh_tensor *lh_series_embedding_apply(const lh_series_embedding *embedding, const lh_pass *pass,
                                     lh_tensor *x);

/* Forward FLOPs per step. */
double lh_series_embedding_flops(const lh_series_embedding *embedding, int64_t time_features);

#endif
