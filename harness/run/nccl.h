/* Sums over GPUs by NCCL, on a stream of their own beside the device's. The ranks find one another
 * through the communicator that they have already. */
#ifndef LH_RUN_NCCL_H
#define LH_RUN_NCCL_H

#include "harness/train/communicator.h"

typedef struct lh_nccl lh_nccl;

/* Uses the GPU that is current. Gives; close it. Fails: LH_EDEVICE, in a build without NCCL too. */
lh_status lh_nccl_open(lh_communicator *ranks, lh_nccl **out);
void lh_nccl_close(lh_nccl *nccl);

/* The table's start and finish (train/communicator.h); they wait in streams, not on the host. */
lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count);
lh_status lh_nccl_finish(lh_nccl *nccl, lh_device *device);

#endif
