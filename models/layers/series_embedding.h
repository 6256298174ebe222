/* How Informer reads a time series (Zhou et al. 2021, section 3.1 and appendix B; the released
 * models/embed.py): a convolution over three steps of the channels, which wraps around at the ends
 * of the sequence; plus a linear map of the time features; plus, where positions are wanted,
 * sinusoids. */
#ifndef LH_LAYERS_SERIES_EMBEDDING_H
#define LH_LAYERS_SERIES_EMBEDDING_H

#include "models/layers/dense.h"

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
                                 lh_declare *declare, const char *prefix);

/* x [rows][length][channels + time features], slices allowed -> [rows][length][width]. */
lh_tensor *lh_series_embedding_apply(const lh_series_embedding *embedding, const lh_pass *pass,
                                     lh_tensor *x);

/* Forward FLOPs per step. */
double lh_series_embedding_flops(const lh_series_embedding *embedding, int64_t time_features);

#endif
