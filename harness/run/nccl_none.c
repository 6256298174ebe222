/* A build without NCCL: what cannot be opened is never used. */
#include "harness/run/nccl.h"

lh_status lh_nccl_open(lh_communicator *ranks, lh_nccl **out) {
    (void)ranks;
    *out = NULL;
    return lh_fail(LH_EDEVICE, "several ranks on GPUs need NCCL, which this build lacks: install "
                               "libnccl-dev and make again");
}

lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count) {
    (void)nccl;
    (void)device;
    (void)x;
    (void)count;
    return LH_EDEVICE;
}

lh_status lh_nccl_poll(lh_nccl *nccl, bool sums, bool *done) {
    (void)nccl;
    (void)sums;
    (void)done;
    return LH_EDEVICE;
}

bool lh_nccl_is_summing(const lh_nccl *nccl) {
    (void)nccl;
    return false;
}

void lh_nccl_close(lh_nccl *nccl) {
    (void)nccl;
}
