/* Sums over GPUs by NCCL, on a stream of their own beside the device's. The ranks find one another
 * through the communicator that they have already. */
#ifndef LH_RUN_NCCL_H
#define LH_RUN_NCCL_H

#include "harness/train/communicator.h"

typedef struct lh_nccl lh_nccl;

/* Begins to meet the other ranks with the GPU that is current. Gives; close it. Fails: LH_EDEVICE,
 * in a build without NCCL too. Nothing here waits: until lh_nccl_poll says that the call before was
 * taken in, only that and close. */
lh_status lh_nccl_open(lh_communicator *ranks, lh_nccl **out);

/* Adds up in place once the device has come so far. */
lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count);

/* Whether the last call was taken in and, where `sums` are asked for or it is one of the first two
 * steps, all sums are there. Fails: LH_EDEVICE when NCCL has met an error, a lost connection among
 * them. */
lh_status lh_nccl_poll(lh_nccl *nccl, bool sums, bool *done);

/* Whether sums may be under way: some were started, and no poll has seen the end of all. */
bool lh_nccl_is_summing(const lh_nccl *nccl);

/* Waits for nobody: sums under way, in which the others may never take part, are given up. Among
 * ranks that all are well, after all of them have their sums. */
void lh_nccl_close(lh_nccl *nccl);

#endif
