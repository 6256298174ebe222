/* A build without NCCL. */
#include "harness/run/nccl.h"

lh_status lh_nccl_open(lh_communicator *ranks, lh_nccl **out) {
    (void)ranks;
    *out = NULL;
    return lh_fail(LH_EDEVICE, "several ranks on GPUs need NCCL, which this build lacks: install "
                               "libnccl-dev and make again");
}

void lh_nccl_close(lh_nccl *nccl) {
    (void)nccl;
}

lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count) {
    (void)nccl;
    (void)device;
    (void)x;
    (void)count;
    return LH_EDEVICE;
}

lh_status lh_nccl_finish(lh_nccl *nccl, lh_device *device) {
    (void)nccl;
    (void)device;
    return LH_EDEVICE;
}
