/* Gradients summed over ranks in buckets: a bucket's sum starts as soon as backward has finished
 * with the last of its parameters, while backward goes on.
 *
 * A bucket is a run of the flat block of gradients that begins and ends between parameters. Buckets
 * go from the end of the block to its beginning, as backward does, and start in this order on every
 * rank. */
#ifndef LH_TRAIN_BUCKETS_H
#define LH_TRAIN_BUCKETS_H

#include "harness/engine/params.h"
#include "harness/train/communicator.h"

typedef struct lh_bucket {
    int64_t first, count; /* elements of the flat block */
    int parameters;
    int open; /* parameters whose gradient is not complete yet */
} lh_bucket;

typedef struct lh_buckets {
    lh_communicator *ranks;
    const lh_params *params;
    lh_bucket *bucket;
    int count;
    int started; /* of this step */
} lh_buckets;

/* Borrows the parameters, which are allocated, and the communicator. A bucket is closed once it has
 * `least` elements; 0 takes an eighth of the block, but neither less than 4 Ki nor more than 4 Mi.
 * Clear it also after a failure. */
lh_status lh_buckets_init(const lh_params *params, lh_communicator *ranks, int64_t least,
                          lh_buckets *out);
void lh_buckets_clear(lh_buckets *buckets);

/* Before backward. */
void lh_buckets_begin(lh_buckets *buckets);
/* An lh_gradient_watcher whose context is the buckets. */
lh_status lh_buckets_watch(void *buckets, const lh_tensor *gradient);
/* After backward, all gradients settled: starts what is left and waits for all. */
lh_status lh_buckets_finish(lh_buckets *buckets);
/* Of every statistic, which each rank has made from its own rows, the mean over all rows. */
lh_status lh_buckets_average_statistics(lh_buckets *buckets, lh_share rows);

#endif
