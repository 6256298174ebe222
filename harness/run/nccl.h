/* Sums over GPUs by NCCL, on a stream of their own beside the device's. The ranks find one another
 * through the communicator that they have already. */
#ifndef LH_RUN_NCCL_H
#define LH_RUN_NCCL_H

#include "harness/train/communicator.h"

typedef struct lh_nccl lh_nccl;

/* Begins to meet the other ranks with the GPU that is current. Gives; close or abort it. Fails:
 * LH_EDEVICE, in a build without NCCL too. Nothing here waits: until lh_nccl_poll says `taken`, no
 * other call but that and abort. */
lh_status lh_nccl_open(lh_communicator *ranks, lh_nccl **out);

/* Adds up in place once the device has come so far. */
lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count);
/* Before a close among ranks that all are well. */
lh_status lh_nccl_finalize(lh_nccl *nccl);
void lh_nccl_close(lh_nccl *nccl);
/* Ends a communicator whose sums the other ranks may never take part in. */
void lh_nccl_abort(lh_nccl *nccl);

/* Whether the last call was taken in, and whether all sums are there. Fail: LH_EDEVICE when NCCL
 * has met an error, a lost connection among them. */
lh_status lh_nccl_poll(lh_nccl *nccl, bool *taken);
lh_status lh_nccl_poll_sums(lh_nccl *nccl, bool *done);

#endif
