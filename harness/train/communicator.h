/* The processes that train one run together, called ranks: each has its rows of every batch and all
 * of the parameters. The trainer knows them by this table alone, which harness/run/ranks.h fills;
 * NULL stands for a run of one process. */
#ifndef LH_TRAIN_COMMUNICATOR_H
#define LH_TRAIN_COMMUNICATOR_H

#include "harness/engine/error.h"
#include "kernels/device.h"

typedef struct lh_communicator lh_communicator;

/* Every rank calls the same functions in the same order with the same sizes. Sums have the same
 * bits on every rank and in every run of as many ranks. All fail with LH_EDEVICE when a rank has
 * ended. */
struct lh_communicator {
    int rank, size;
    bool lost; /* a rank has ended or cannot go on: nothing can be agreed on any more */
    /* Starts to add up `count` elements on the device over all ranks, in place; they belong to the
     * communicator until finish. */
    lh_status (*start)(lh_communicator *, lh_device *, real *x, int64_t count);
    /* Lets go on what was started. Call it often: between two calls nothing may move. */
    lh_status (*progress)(lh_communicator *);
    /* Everything that was started is there for what the device does next. */
    lh_status (*finish)(lh_communicator *, lh_device *);
    /* Gives up what was started, which is not waited for: the step has failed, and memory that it
     * used will go. */
    void (*abandon)(lh_communicator *);
    /* Sums of numbers on the host, and the bitwise or of bytes. */
    lh_status (*sum)(lh_communicator *, double *x, int64_t count);
    lh_status (*merge)(lh_communicator *, void *x, size_t bytes);
};

/* A rank's rows of a batch: [first, first + count) of `all`. Shares differ by one row at most. */
typedef struct lh_share {
    int64_t first, count, all;
} lh_share;

/* The rows of this rank; all of them when `ranks` is NULL. */
lh_share lh_share_of(const lh_communicator *ranks, int64_t all);

/* Part `index` of `count` of a rank's rows, which differ by one row at most. */
lh_share lh_share_part(lh_share rows, int64_t index, int64_t count);

/* The following do nothing when `ranks` is NULL. */

/* x [count] becomes its sum over ranks, x of so many bytes the bitwise or: the same on all. Fail:
 * LH_EDEVICE where a rank is lost. */
lh_status lh_ranks_sum(lh_communicator *ranks, double *x, int64_t count);
lh_status lh_ranks_merge(lh_communicator *ranks, void *x, size_t bytes);
/* Whether the flag is set on any rank. */
lh_status lh_ranks_any(lh_communicator *ranks, bool *flag);
/* What failed on this rank, as far as it knows alone: the others would wait for it, or take what it
 * asks for next for its part of what they ask for, so that it is lost. Gives the status. */
lh_status lh_ranks_alone(lh_communicator *ranks, lh_status status);
/* Whether this process is the one that writes files and reports: rank 0. */
bool lh_ranks_is_first(const lh_communicator *ranks);

#endif
