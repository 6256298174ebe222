/* Captures a step, updates the graph of the step before to it and starts that as a whole. */
#include "kernels/cuda/recorder.h"

#include <string.h>

#include "kernels/cuda/launch.cuh"

enum { STAGING_LEAST = 1 << 20, STAGING_ALIGNMENT = 64 };

lh_status lh_cuda_recorder_open(lh_cuda_recorder *recorder, cudaStream_t stream) {
    recorder->stream = stream;
    recorder->wanted = lh_cuda_wants("LH_GRAPHS");
    for (int i = 0; i < LH_RECORDER_TURNS; ++i)
        LH_CUDA_TRY(
            LH_CUDA(cudaEventCreateWithFlags(&recorder->staging[i].done, cudaEventDisableTiming)));
    return LH_OK;
}

void lh_cuda_recorder_close(lh_cuda_recorder *recorder) {
    (void)lh_cuda_recorder_end(recorder);
    for (int i = 0; i < LH_RECORDER_GRAPHS; ++i)
        if (recorder->executable[i] != NULL)
            (void)LH_CUDA(cudaGraphExecDestroy(recorder->executable[i]));
    for (int i = 0; i < LH_RECORDER_TURNS; ++i) {
        lh_cuda_staging *staging = &recorder->staging[i];
        if (staging->memory != NULL) (void)LH_CUDA(cudaFreeHost(staging->memory));
        if (staging->done != NULL) (void)LH_CUDA(cudaEventDestroy(staging->done));
    }
}

static lh_cuda_staging *staging_of(lh_cuda_recorder *recorder) {
    return &recorder->staging[recorder->steps % LH_RECORDER_TURNS];
}

/* ---- graphs ---- */

/* The executable of this place in the step, made to do what was captured. */
static lh_status prepare(lh_cuda_recorder *recorder, cudaGraphExec_t *executable,
                         cudaGraph_t graph) {
    if (*executable != NULL) {
        cudaGraphExecUpdateResultInfo result;
        if (cudaGraphExecUpdate(*executable, graph, &result) == cudaSuccess) return LH_OK;
        (void)cudaGetLastError(); /* another sequence of kernels is no error */
        LH_CUDA_TRY(LH_CUDA(cudaGraphExecDestroy(*executable)));
        *executable = NULL;
    }
    recorder->made += 1;
    return LH_CUDA(cudaGraphInstantiate(executable, graph, 0));
}

/* Starts what was captured. */
static lh_status start(lh_cuda_recorder *recorder) {
    cudaGraph_t graph = NULL;
    recorder->capturing = false;
    LH_CUDA_TRY(LH_CUDA(cudaStreamEndCapture(recorder->stream, &graph)));
    cudaGraphExec_t *executable = &recorder->executable[recorder->graph++];
    const lh_status status = prepare(recorder, executable, graph);
    LH_CUDA_TRY(LH_CUDA(cudaGraphDestroy(graph)));
    LH_CUDA_TRY(status);
    return LH_CUDA(cudaGraphLaunch(*executable, recorder->stream));
}

lh_status lh_cuda_recorder_pause(lh_cuda_recorder *recorder) {
    const lh_status status = recorder->capturing ? start(recorder) : LH_OK;
    if (status != LH_OK) recorder->lost = status;
    return recorder->lost;
}

lh_status lh_cuda_recorder_resume(lh_cuda_recorder *recorder) {
    if (!recorder->active || recorder->graph == LH_RECORDER_GRAPHS) return LH_OK;
    LH_CUDA_TRY(LH_CUDA(cudaStreamBeginCapture(recorder->stream, cudaStreamCaptureModeRelaxed)));
    recorder->capturing = true;
    return LH_OK;
}

/* ---- uploads ---- */

/* Room for `bytes`, in place of memory that the GPU has fetched all of. */
static lh_status enlarge(lh_cuda_staging *staging, size_t bytes) {
    size_t size = staging->size < STAGING_LEAST ? (size_t)STAGING_LEAST : staging->size;
    while (size < bytes)
        size *= 2;
    if (staging->memory != NULL) LH_CUDA_TRY(LH_CUDA(cudaFreeHost(staging->memory)));
    staging->memory = NULL;
    staging->size = staging->used = 0;
    LH_CUDA_TRY(LH_CUDA(cudaMallocHost((void **)&staging->memory, size)));
    staging->size = size;
    return LH_OK;
}

/* Room for `bytes` more; what the GPU has not fetched yet, it fetches first. */
static lh_status reserve(lh_cuda_recorder *recorder, lh_cuda_staging *staging, size_t bytes) {
    if (staging->used + bytes <= staging->size) return LH_OK;
    LH_CUDA_TRY(lh_cuda_recorder_pause(recorder));
    LH_CUDA_TRY(LH_CUDA(cudaStreamSynchronize(recorder->stream)));
    LH_CUDA_TRY(enlarge(staging, staging->size + bytes));
    return lh_cuda_recorder_resume(recorder);
}

static size_t aligned(size_t bytes) {
    return lh_round_up(bytes, STAGING_ALIGNMENT);
}

lh_status lh_cuda_recorder_upload(lh_cuda_recorder *recorder, void *device, const void *host,
                                  size_t bytes) {
    const void *from = host;
    recorder->uploaded += aligned(bytes);
    if (recorder->capturing) {
        lh_cuda_staging *staging = staging_of(recorder);
        LH_CUDA_TRY(reserve(recorder, staging, bytes));
        from = memcpy(staging->memory + staging->used, host, bytes);
        staging->used += aligned(bytes);
    }
    return LH_CUDA(cudaMemcpyAsync(device, from, bytes, cudaMemcpyHostToDevice, recorder->stream));
}

/* ---- steps ---- */

lh_status lh_cuda_recorder_begin(lh_cuda_recorder *recorder) {
    recorder->steps += 1;
    recorder->uploaded = 0;
    if (!recorder->wanted || recorder->active || recorder->steps <= LH_RECORDER_EAGER) return LH_OK;
    lh_cuda_staging *staging = staging_of(recorder);
    LH_CUDA_TRY(LH_CUDA(cudaEventSynchronize(staging->done)));
    staging->used = 0;
    if (staging->size < recorder->most_uploaded)
        LH_CUDA_TRY(enlarge(staging, recorder->most_uploaded));
    recorder->graph = 0;
    recorder->active = true;
    return lh_cuda_recorder_resume(recorder);
}

lh_status lh_cuda_recorder_end(lh_cuda_recorder *recorder) {
    if (recorder->uploaded > recorder->most_uploaded) recorder->most_uploaded = recorder->uploaded;
    if (!recorder->active) return LH_OK;
    recorder->active = false;
    const lh_status status = lh_cuda_recorder_pause(recorder);
    recorder->lost = LH_OK;
    LH_CUDA_TRY(status);
    return LH_CUDA(cudaEventRecord(staging_of(recorder)->done, recorder->stream));
}
