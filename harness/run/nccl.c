/* NCCL on the GPU of each rank; nccl_none.c stands in for it in builds without. */
#include "harness/run/nccl.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>

/* Sums of all gradients and of all statistics are waited for, each once a step: these are the steps
 * that load kernels and take memory. */
enum { FIRST_SUMS = 4 };

struct lh_nccl {
    ncclComm_t communicator;
    cudaStream_t stream;
    cudaEvent_t ready; /* a bucket's gradients are there */
    int finished;      /* how often sums were waited for, FIRST_SUMS at most */
    bool summing;      /* nobody has seen the end of all sums since the last began */
};

/* A communicator that does not block may still be at work when its call returns. */
static lh_status check(ncclResult_t result) {
    if (result == ncclSuccess || result == ncclInProgress) return LH_OK;
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
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    if (lh_ranks_is_first(ranks)) LH_TRY(check(ncclGetUniqueId(&id)));
    LH_TRY(ranks->merge(ranks, &id, sizeof id));
    LH_TRY(check_cuda(cudaStreamCreateWithFlags(&nccl->stream, cudaStreamNonBlocking)));
    LH_TRY(check_cuda(cudaEventCreateWithFlags(&nccl->ready, cudaEventDisableTiming)));
    return check(
        ncclCommInitRankConfig(&nccl->communicator, ranks->size, id, ranks->rank, &config));
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

/* The communicator first: its kernels would keep the stream for ever. */
void lh_nccl_close(lh_nccl *nccl) {
    if (nccl->communicator != NULL) (void)ncclCommAbort(nccl->communicator);
    if (nccl->ready != NULL) (void)cudaEventDestroy(nccl->ready);
    if (nccl->stream != NULL) (void)cudaStreamDestroy(nccl->stream);
    free(nccl);
}

/* Memory that is taken or given back, and a kernel that is loaded, wait for all that the GPU has
 * under way: for a lost rank's part of a sum for ever. Where they may, no sum is under way. */
lh_status lh_nccl_poll(lh_nccl *nccl, bool sums, bool *done) {
    ncclResult_t state = ncclSuccess;
    LH_TRY(check(ncclCommGetAsyncError(nccl->communicator, &state)));
    LH_TRY(check(state));
    *done = state == ncclSuccess;
    if (!*done || (!sums && nccl->finished == FIRST_SUMS)) return LH_OK;
    const cudaError_t work = cudaStreamQuery(nccl->stream);
    *done = work == cudaSuccess;
    if (*done) nccl->summing = false;
    if (*done && sums && nccl->finished < FIRST_SUMS) nccl->finished += 1;
    return work == cudaErrorNotReady ? LH_OK : check_cuda(work);
}

bool lh_nccl_is_summing(const lh_nccl *nccl) {
    return nccl->summing;
}

lh_status lh_nccl_start(lh_nccl *nccl, lh_device *device, real *x, int64_t count) {
    const ncclDataType_t type = sizeof(real) == sizeof(double) ? ncclFloat64 : ncclFloat32;
    LH_TRY(check_cuda(cudaEventRecord(nccl->ready, stream_of(device))));
    LH_TRY(check_cuda(cudaStreamWaitEvent(nccl->stream, nccl->ready, 0)));
    nccl->summing = true;
    return check(
        ncclAllReduce(x, x, (size_t)count, type, ncclSum, nccl->communicator, nccl->stream));
}
