/* What harness/run/nccl.c uses of CUDA; beside nccl.h. */
#ifndef LH_TESTS_NCCL_CUDA_RUNTIME_API_H
#define LH_TESTS_NCCL_CUDA_RUNTIME_API_H

typedef enum {
    cudaSuccess = 0,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700
} cudaError_t;
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };

typedef struct fake_stream *cudaStream_t;
typedef struct fake_event *cudaEvent_t;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventDestroy(cudaEvent_t event);
const char *cudaGetErrorString(cudaError_t error);

#endif
