/* The machine's own matrix-product rate: what every speed figure is a fraction of. */
#ifndef LH_RUN_RATE_H
#define LH_RUN_RATE_H

#include "harness/engine/error.h"

/* FLOP/s of a square single-precision product of `size`, best of several: with `ours` through our
 * tiled kernel, else by one call of the BLAS library on `threads` threads. */
lh_status lh_matmul_rate(int64_t size, int threads, bool ours, double *out);

#endif
