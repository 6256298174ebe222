/* What Informer has between two layers of its encoder (Zhou et al. 2021, eq. 5; the released
 * ConvLayer): a convolution over three steps with circular padding, batch normalisation, ELU, and
 * the maximum over three steps, every second time. */
#ifndef LH_LAYERS_DISTILLING_H
#define LH_LAYERS_DISTILLING_H

#include "models/layers/batch_norm.h"
#include "models/layers/dense.h"

typedef struct lh_distilling {
    lh_dense convolution; /* [3 * width][width], taps of the step before, itself, the one after */
    lh_batch_norm norm;
} lh_distilling;

/* Names are "<prefix>.convolution..." and "<prefix>.norm...". */
lh_distilling lh_distilling_declare(lh_declare *declare, int64_t width, const char *prefix);

/* x [rows][length][width] -> [rows][lh_distilled_length(length)][width]. */
lh_tensor *lh_distilling_apply(const lh_distilling *layer, lh_pass *pass, lh_tensor *x);

/* Steps that are left: half, rounded up. */
int64_t lh_distilled_length(int64_t length);

/* Forward FLOPs per step of its input. */
double lh_distilling_flops(int64_t width);

#endif
