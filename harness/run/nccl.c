/* NCCL on the GPU of each rank; nccl_none.c stands in for it in builds without. */
#include "harness/run/nccl.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>

struct lh_nccl {
    ncclComm_t communicator;
    cudaStream_t stream;
    cudaEvent_t ready, done; /* of a bucket's gradients; of its sums */
};

static lh_status check(ncclResult_t result) {
    if (result == ncclSuccess) return LH_OK;
    return lh_fail(LH_EDEVICE, "NCCL: %s", ncclGetErrorString(result));
}

static lh_status check_cuda(cudaError_t error) {
    if (error == cudaSuccess) return LH_OK;
    return lh_fail(LH_EDEVICE, "CUDA: %s", cudaGetErrorString(error));
}

/* A device's `stream` leads to a struct that begins with it (kernels/cuda/launch.cuh). */
static cudaStream_t stream_of(const lh_device *device) {
    return *(const cudaStream_t *)device->stream;
}

/* Rank 0 makes the number by which the ranks meet. */
static lh_status join(lh_communicator *ranks, lh_nccl *nccl) {
    ncclUniqueId id = {{0}};
    if (lh_ranks_is_first(ranks)) LH_TRY(check(ncclGetUniqueId(&id)));
    LH_TRY(ranks->merge(ranks, &id, sizeof id));
    LH_TRY(check(ncclCommInitRank(&nccl->communicator, ranks->size, id, ranks->rank)));
    LH_TRY(check_cuda(cudaStreamCreateWithFlags(&nccl->stream, cudaStreamNonBlocking)));
    LH_TRY(check_cuda(cudaEventCreateWithFlags(&nccl->ready, cudaEventDisableTiming)));
    return check_cuda(cudaEventCreateWithFlags(&nccl->done, cudaEventDisableTiming));
}

lh_status lh_nccl_open(lh_communicator *ranks, lh_nccl **out) {
    *out = NULL;
    lh_nccl *nccl = lh_allocate_zeroed(1, sizeof *nccl);
    if (nccl == NULL) return LH_EMEMORY;
    const lh_status status = join(ranks, nccl);
    if (status != LH_OK) {
        lh_nccl_close(nccl);
        return status;
    }
    *out = nccl;
    return LH_OK;
}

void lh_nccl_close(lh_nccl *nccl) {
    if (nccl->done != NULL) (void)cudaEventDestroy(nccl->done);
    if (nccl->ready != NULL) (void)cudaEventDestroy(nccl->ready);
    if (nccl->stream != NULL) (void)cudaStreamDestroy(nccl->stream);
    if (nccl->communicator != NULL) (void)ncclCommDestroy(nccl->communicator);
    free(nccl);
}

lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count) {
    const ncclDataType_t type = sizeof(real) == sizeof(double) ? ncclFloat64 : ncclFloat32;
    LH_TRY(check_cuda(cudaEventRecord(nccl->ready, stream_of(device))));
    LH_TRY(check_cuda(cudaStreamWaitEvent(nccl->stream, nccl->ready, 0)));
    return check(
        ncclAllReduce(x, x, (size_t)count, type, ncclSum, nccl->communicator, nccl->stream));
}

lh_status lh_nccl_finish(lh_nccl *nccl, lh_device *device) {
    LH_TRY(check_cuda(cudaEventRecord(nccl->done, nccl->stream)));
    return check_cuda(cudaStreamWaitEvent(stream_of(device), nccl->done, 0));
}
