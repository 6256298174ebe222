/* How fast a device multiplies matrices: what the speed of a training step is a fraction of. */
#ifndef LH_TRAIN_MATRIX_RATE_H
#define LH_TRAIN_MATRIX_RATE_H

#include "harness/engine/clock.h"
#include "harness/engine/pool.h"

/* *out: FLOP/s of the product of two square matrices of `size` by our kernel, on the pool's device
 * and in its precision, best of several by `clock`, which is read before and after each. Size 0 is
 * the smallest power of two from 512 to 8192 whose product takes 4 ms. Fails: LH_EMEMORY,
 * LH_EDEVICE. */
lh_status lh_matrix_rate(lh_pool *pool, int64_t size, lh_clock clock, double *out);

#endif
