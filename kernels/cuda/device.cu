/* The GPU as an lh_device: memory, one stream, cuBLAS, and the word in which kernels leave mistakes
 * of the data. */
#include <cublas_v2.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/recorder.h"

enum { BLAS_WORKSPACE = 32 << 20 /* what NVIDIA advises for the newest cards */ };

typedef struct cuda_device {
    lh_device base; /* first, so that an lh_device leads here */
    cudaDeviceProp properties;
    lh_cuda_stream stream;
    lh_cuda_recorder recorder;
    cudaStream_t beside;       /* of copies */
    cudaEvent_t asked, copied; /* where the stream stood when a copy began; all copies so far */
} cuda_device;

static const char *const kernel_names[] = {
#define LH_KERNEL(k, dtypes)   #k,
#define LH_KERNEL_W(k, dtypes) #k,
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
};

lh_status lh_cuda_check(cudaError_t error, const char *what, const char *file, int line) {
    if (error == cudaSuccess) return LH_OK;
    lh_device_explain("%s at %s:%d: %s", what, file, line, cudaGetErrorString(error));
    (void)cudaGetLastError(); /* what is told here is not told once more by the next launch */
    return error == cudaErrorMemoryAllocation ? LH_EMEMORY : LH_EDEVICE;
}

static lh_status check_blas(cublasStatus_t status, const char *what, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return LH_OK;
    lh_device_explain("%s at %s:%d: %s", what, __FILE__, line, cublasGetStatusString(status));
    return status == CUBLAS_STATUS_ALLOC_FAILED ? LH_EMEMORY : LH_EDEVICE;
}

#define BLAS(call) check_blas((call), #call, __LINE__)

static lh_cuda_recorder *recorder_of(lh_device *device) {
    return &((cuda_device *)device)->recorder;
}

static lh_status allocate(lh_device *device, size_t bytes, void **out) {
    (void)device;
    return LH_CUDA(cudaMalloc(out, bytes == 0 ? 1 : bytes));
}

/* What has been held back may want the memory. */
static void release(lh_device *device, void *memory) {
    (void)lh_cuda_recorder_pause(recorder_of(device));
    (void)LH_CUDA(cudaFree(memory));
    (void)lh_cuda_recorder_resume(recorder_of(device));
}

static lh_status upload(lh_device *device, void *device_memory, const void *host, size_t bytes) {
    if (bytes == 0) return LH_OK;
    return lh_cuda_recorder_upload(recorder_of(device), device_memory, host, bytes);
}

/* The stream is done; what kernels left in the fault word becomes the status, once. */
static lh_status report_fault(cuda_device *device, int32_t fault) {
    if (fault == 0) return LH_OK;
    lh_device_explain("kernel %s met an index out of range", kernel_names[fault - 1]);
    LH_CUDA_TRY(
        LH_CUDA(cudaMemsetAsync(device->stream.fault, 0, sizeof fault, device->stream.stream)));
    return LH_EOPTION;
}

/* The stream is done, and nothing is held back. */
static lh_status finish(cuda_device *device) {
    int32_t fault = 0;
    LH_CUDA_TRY(LH_CUDA(cudaMemcpyAsync(&fault, device->stream.fault, sizeof fault,
                                        cudaMemcpyDeviceToHost, device->stream.stream)));
    LH_CUDA_TRY(LH_CUDA(cudaStreamSynchronize(device->stream.stream)));
    return report_fault(device, fault);
}

static lh_status synchronize(lh_device *base) {
    cuda_device *device = (cuda_device *)base;
    LH_CUDA_TRY(lh_cuda_recorder_pause(&device->recorder));
    LH_CUDA_TRY(finish(device));
    return lh_cuda_recorder_resume(&device->recorder);
}

static lh_status download(lh_device *base, void *host, const void *device_memory, size_t bytes) {
    cuda_device *device = (cuda_device *)base;
    if (bytes == 0) return LH_OK;
    LH_CUDA_TRY(lh_cuda_recorder_pause(&device->recorder));
    LH_CUDA_TRY(LH_CUDA(cudaMemcpyAsync(host, device_memory, bytes, cudaMemcpyDeviceToHost,
                                        device->stream.stream)));
    LH_CUDA_TRY(finish(device));
    return lh_cuda_recorder_resume(&device->recorder);
}

static lh_status begin_step(lh_device *device) {
    return lh_cuda_recorder_begin(recorder_of(device));
}

static lh_status end_step(lh_device *device) {
    const lh_status status = lh_cuda_recorder_end(recorder_of(device));
    device->graphs_made = recorder_of(device)->made;
    return status;
}

/* ---- copies beside the stream ---- */

static lh_status pin(lh_device *device, void *host, size_t bytes) {
    (void)device;
    return LH_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterDefault));
}

static void unpin(lh_device *device, void *host) {
    (void)device;
    (void)LH_CUDA(cudaHostUnregister(host));
}

static lh_status copy_beside(lh_device *base, void *to, const void *from, size_t bytes,
                             cudaMemcpyKind kind) {
    const cuda_device *device = (const cuda_device *)base;
    LH_CUDA_TRY(LH_CUDA(cudaEventRecord(device->asked, device->stream.stream)));
    LH_CUDA_TRY(LH_CUDA(cudaStreamWaitEvent(device->beside, device->asked, 0)));
    return LH_CUDA(cudaMemcpyAsync(to, from, bytes, kind, device->beside));
}

static lh_status copy_in(lh_device *device, void *device_memory, const void *host, size_t bytes) {
    return copy_beside(device, device_memory, host, bytes, cudaMemcpyHostToDevice);
}

static lh_status copy_out(lh_device *device, void *host, const void *device_memory, size_t bytes) {
    return copy_beside(device, host, device_memory, bytes, cudaMemcpyDeviceToHost);
}

static lh_status join_copies(lh_device *base) {
    const cuda_device *device = (const cuda_device *)base;
    LH_CUDA_TRY(LH_CUDA(cudaEventRecord(device->copied, device->beside)));
    return LH_CUDA(cudaStreamWaitEvent(device->stream.stream, device->copied, 0));
}

static const lh_device_copies copies = {pin, unpin, copy_in, copy_out, join_copies};

static lh_status open_copies(cuda_device *device) {
    LH_CUDA_TRY(LH_CUDA(cudaStreamCreateWithFlags(&device->beside, cudaStreamNonBlocking)));
    LH_CUDA_TRY(LH_CUDA(cudaEventCreateWithFlags(&device->asked, cudaEventDisableTiming)));
    return LH_CUDA(cudaEventCreateWithFlags(&device->copied, cudaEventDisableTiming));
}

static void close_copies(cuda_device *device) {
    if (device->copied != NULL) (void)LH_CUDA(cudaEventDestroy(device->copied));
    if (device->asked != NULL) (void)LH_CUDA(cudaEventDestroy(device->asked));
    if (device->beside != NULL) (void)LH_CUDA(cudaStreamDestroy(device->beside));
}

/* ---- life ---- */

static void close_device(lh_device *base) {
    cuda_device *device = (cuda_device *)base;
    lh_cuda_recorder_close(&device->recorder);
    close_copies(device);
    if (device->stream.blas != NULL) (void)BLAS(cublasDestroy(device->stream.blas));
    if (device->stream.blas_workspace != NULL)
        (void)LH_CUDA(cudaFree(device->stream.blas_workspace));
    if (device->stream.fault != NULL) (void)LH_CUDA(cudaFree(device->stream.fault));
    if (device->stream.stream != NULL) (void)LH_CUDA(cudaStreamDestroy(device->stream.stream));
    free(device);
}

/* The workspace of cuBLAS is ours, so that it is the same in every run and in a captured graph.
 * Parts of a sum whose result is bf16 are added in f32 as well. */
static lh_status open_blas(cuda_device *device) {
    const cublasMath_t mode =
        (cublasMath_t)(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    LH_CUDA_TRY(BLAS(cublasCreate(&device->stream.blas)));
    LH_CUDA_TRY(BLAS(cublasSetMathMode(device->stream.blas, mode)));
    LH_CUDA_TRY(LH_CUDA(cudaMalloc(&device->stream.blas_workspace, BLAS_WORKSPACE)));
    device->stream.blas_workspace_bytes = BLAS_WORKSPACE;
    device->stream.epilogues = lh_cuda_wants("LH_EPILOGUES");
    LH_CUDA_TRY(BLAS(cublasSetStream(device->stream.blas, device->stream.stream)));
    return BLAS(
        cublasSetWorkspace(device->stream.blas, device->stream.blas_workspace, BLAS_WORKSPACE));
}

static lh_status open_parts(cuda_device *device, int number) {
    int count = 0;
    size_t left = 0, all = 0;
    LH_CUDA_TRY(LH_CUDA(cudaGetDeviceCount(&count)));
    LH_CUDA_TRY(LH_CUDA(cudaSetDevice(number % count)));
    LH_CUDA_TRY(LH_CUDA(cudaGetDeviceProperties(&device->properties, number % count)));
    LH_CUDA_TRY(LH_CUDA(cudaMemGetInfo(&left, &all)));
    device->base.name = device->properties.name;
    device->base.memory_bytes = (int64_t)left;
    memcpy(device->base.uuid, device->properties.uuid.bytes, sizeof device->base.uuid);
    LH_CUDA_TRY(LH_CUDA(cudaStreamCreateWithFlags(&device->stream.stream, cudaStreamNonBlocking)));
    LH_CUDA_TRY(LH_CUDA(cudaMalloc((void **)&device->stream.fault, sizeof *device->stream.fault)));
    LH_CUDA_TRY(LH_CUDA(cudaMemsetAsync(device->stream.fault, 0, sizeof *device->stream.fault,
                                        device->stream.stream)));
    LH_CUDA_TRY(lh_cuda_recorder_open(&device->recorder, device->stream.stream));
    LH_CUDA_TRY(open_copies(device));
    return open_blas(device);
}

bool lh_cuda_present(void) {
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

lh_status lh_cuda_open(int number, lh_device **out) {
    cuda_device *device = (cuda_device *)calloc(1, sizeof *device);
    if (device == NULL) return LH_EMEMORY;
    device->base.kind = LH_CUDA;
    device->base.kernels = &lh_cuda_table;
    device->base.stream = &device->stream;
    device->base.allocate = allocate;
    device->base.release = release;
    device->base.upload = upload;
    device->base.download = download;
    device->base.synchronize = synchronize;
    device->base.begin_step = begin_step;
    device->base.end_step = end_step;
    device->base.copies = &copies;
    device->base.close = close_device;
    const lh_status status = open_parts(device, number);
    if (status != LH_OK) {
        close_device(&device->base);
        return status;
    }
    *out = &device->base;
    return LH_OK;
}
