/* Images of the embedded generator. */
#ifndef LH_DATASETS_GENERATE_IMAGE_H
#define LH_DATASETS_GENERATE_IMAGE_H

#include "kernels/base.h"

/* See lh_digest_generated. */
enum { LH_GENERATED_IMAGE_VERSION = 1 };

/* Writes image `index` of `seed`: tiles of one random pattern on a gradient, mirrored, so that most
 * pixels are known from pixels many rows above and from the other half of their row; values are
 * multiples of 16 and a bit of noise, which leaves one bit per byte that nobody can tell. */
void lh_generate_image(uint64_t seed, uint64_t index, int64_t side, uint8_t *pixels);

#endif
