/* The machine's own matrix-product rate: what every speed figure is a fraction of. */
#ifndef LH_BENCH_RATE_H
#define LH_BENCH_RATE_H

#include "harness/engine/error.h"

/* FLOP/s of a square product of `size` on `threads` threads, best of several: with `ours` through
 * our tiled kernel (lh_matrix_rate), else by one single-precision call of the BLAS library. */
lh_status lh_matmul_rate(int64_t size, int threads, bool ours, double *out);

#endif
