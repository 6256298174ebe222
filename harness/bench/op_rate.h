/* What the engine itself takes of an op: recording, memory, the call of the kernel. */
#ifndef LH_BENCH_OP_RATE_H
#define LH_BENCH_OP_RATE_H

#include "harness/engine/error.h"

typedef struct lh_op_rate {
    double recorded_s, backward_s; /* an op on 16 numbers: forward with its node, backward */
} lh_op_rate;

/* Seconds an op, the best of several chains of `ops` products on the processor. */
lh_status lh_op_measure(int64_t ops, lh_op_rate *out);

#endif
