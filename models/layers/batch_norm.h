/* Batch normalisation (Ioffe and Szegedy 2015, algorithms 1 and 2) of each channel over all rows
 * and steps, as PyTorch's BatchNorm1d: gain 1, bias 0, epsilon 1e-5, momentum 0.1. */
#ifndef LH_LAYERS_BATCH_NORM_H
#define LH_LAYERS_BATCH_NORM_H

#include "harness/engine/model.h"

typedef struct lh_batch_norm {
    int gain, bias;     /* [width] */
    int mean, variance; /* [width], running: statistics */
} lh_batch_norm;

/* Names are "<prefix>.gain", ".bias", ".mean" and ".variance". */
lh_batch_norm lh_batch_norm_declare(lh_declare *declare, int64_t width, const char *prefix);

/* gain (x - mean) / sqrt(variance + epsilon) + bias, x [...][width]. In training mean and variance
 * are the batch's (of this rank's rows, as in PyTorch's data-parallel training), and a tenth of
 * them, the variance times n / (n - 1), enters the running ones; in evaluation they are those. */
lh_tensor *lh_batch_norm_apply(lh_batch_norm norm, lh_pass *pass, lh_tensor *x);

#endif
