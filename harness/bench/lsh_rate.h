/* LSH attention beside full attention of the same shared queries and keys. */
#ifndef LH_BENCH_LSH_RATE_H
#define LH_BENCH_LSH_RATE_H

#include "harness/engine/error.h"

/* Seconds, each the best of several, of one head of 64 on random vectors, in turns in one process.
 */
typedef struct lh_lsh_rate {
    double full, lsh;                   /* forward */
    double full_training, lsh_training; /* forward and backward */
    double order; /* sorting, and what attention to scattered tokens takes longer than to sorted */
} lh_lsh_rate;

/* Sequences of `length` tokens, hashed `rounds` times, in chunks of `chunk`, on the processor. */
lh_status lh_lsh_measure(int64_t length, int64_t rounds, int64_t chunk, lh_lsh_rate *out);

#endif
