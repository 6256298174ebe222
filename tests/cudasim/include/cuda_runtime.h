/* The CUDA runtime as far as kernels/cuda uses it, on the host: a stand-in for the header of the
 * toolkit. Device memory is host memory that only kernels and the copy functions may touch; streams
 * keep what they are given until somebody waits for them. */
#ifndef LH_TESTS_CUDASIM_CUDA_RUNTIME_H
#define LH_TESTS_CUDASIM_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* Like the runtime's own numbers. */
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorLaunchFailure = 719,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorStreamCaptureIsolation = 905,
    cudaErrorGraphExecUpdateFailure = 910
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

enum cudaSharedCarveout { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxShared = 100 };

enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};

enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2, cudaHostRegisterDefault = 0 };

typedef struct cudasim_stream *cudaStream_t;
typedef struct cudasim_event *cudaEvent_t;
typedef struct cudasim_graph *cudaGraph_t;
typedef struct cudasim_executable *cudaGraphExec_t;

enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };

struct cudaGraphExecUpdateResultInfo {
    int result;
};

/* A result that nobody looks at does not compile. */
#define CUDASIM_CHECKED [[nodiscard]]

struct cudaUUID_t {
    char bytes[16];
};

struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
};

CUDASIM_CHECKED cudaError_t cudaGetDeviceCount(int *count);
CUDASIM_CHECKED cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
CUDASIM_CHECKED cudaError_t cudaSetDevice(int device);
CUDASIM_CHECKED cudaError_t cudaGetDevice(int *device);
CUDASIM_CHECKED cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                                   int device);
CUDASIM_CHECKED cudaError_t cudaDeviceSynchronize(void);

CUDASIM_CHECKED cudaError_t cudaMalloc(void **memory, size_t bytes);
CUDASIM_CHECKED cudaError_t cudaFree(void *memory);
CUDASIM_CHECKED cudaError_t cudaMallocHost(void **memory, size_t bytes);
CUDASIM_CHECKED cudaError_t cudaFreeHost(void *memory);
CUDASIM_CHECKED cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned flags);
CUDASIM_CHECKED cudaError_t cudaHostUnregister(void *memory);
CUDASIM_CHECKED cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
CUDASIM_CHECKED cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                                       cudaMemcpyKind kind);
CUDASIM_CHECKED cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                            cudaMemcpyKind kind, cudaStream_t stream);
CUDASIM_CHECKED cudaError_t cudaMemset(void *memory, int value, size_t bytes);
CUDASIM_CHECKED cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes,
                                            cudaStream_t stream);

CUDASIM_CHECKED cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
CUDASIM_CHECKED cudaError_t cudaStreamDestroy(cudaStream_t stream);
CUDASIM_CHECKED cudaError_t cudaStreamSynchronize(cudaStream_t stream);
CUDASIM_CHECKED cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                unsigned flags);
CUDASIM_CHECKED cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
CUDASIM_CHECKED cudaError_t cudaEventDestroy(cudaEvent_t event);
CUDASIM_CHECKED cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
CUDASIM_CHECKED cudaError_t cudaEventSynchronize(cudaEvent_t event);

CUDASIM_CHECKED cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
CUDASIM_CHECKED cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
CUDASIM_CHECKED cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                                 unsigned long long flags);
CUDASIM_CHECKED cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                                cudaGraphExecUpdateResultInfo *info);
CUDASIM_CHECKED cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
CUDASIM_CHECKED cudaError_t cudaGraphDestroy(cudaGraph_t graph);
CUDASIM_CHECKED cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

CUDASIM_CHECKED cudaError_t cudaGetLastError(void);
CUDASIM_CHECKED cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
/* After a kernel that was stopped: what it did, and where. */
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudasim_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value);

template <typename kernel>
CUDASIM_CHECKED cudaError_t cudaFuncSetAttribute(kernel *function, cudaFuncAttribute attribute,
                                                 int value) {
    return cudasim_set_attribute(reinterpret_cast<const void *>(function), attribute, value);
}

typedef struct cudaFuncAttributes {
    int maxDynamicSharedSizeBytes, preferredShmemCarveout;
} cudaFuncAttributes;

cudaFuncAttributes cudasim_attributes(const void *kernel);

template <typename kernel>
CUDASIM_CHECKED cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes,
                                                  kernel *function) {
    *attributes = cudasim_attributes(reinterpret_cast<const void *>(function));
    return cudaSuccess;
}

#include "tests/cudasim/builtin.h"
#include "tests/cudasim/launch.h"

#endif
