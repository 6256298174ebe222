/* Sinusoidal positions. */
#ifndef LH_LAYERS_SINUSOID_H
#define LH_LAYERS_SINUSOID_H

#include "harness/engine/ops.h"

/* [length][width]: the sine of position / 10000^(2i / width) in channel 2i, the cosine in 2i + 1
 * (Vaswani et al. 2017, section 3.5), from position 0 on. A constant. */
lh_tensor *lh_sinusoids(lh_tape *tape, int64_t length, int64_t width);

#endif
