/* Errors, limits of a launch, the device's own figures. */
#include "tests/cudasim/simulator.h"

#include <dlfcn.h>
#include <map>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

namespace {

cudaError_t last_error;
char fault_text[512];
bool launch_unchecked;
char last_launch[128];
int device_count = 1, current_device;
long launches;
std::map<const void *, cudaFuncAttributes> attributes_set;
bool asked_for_shared; /* how much a block of this card may have */

void record(cudaError_t error, const char *format, va_list arguments) {
    if (last_error != cudaSuccess) return;
    last_error = error;
    vsnprintf(fault_text, sizeof fault_text, format, arguments);
}

} // namespace

cudaFuncAttributes cudasim_attributes(const void *kernel) {
    const auto set = attributes_set.find(kernel);
    if (set != attributes_set.end()) return set->second;
    return {STATIC_SHARED, cudaSharedmemCarveoutDefault};
}

namespace {

/* What is wrong with the sizes of a launch, or NULL. */
const char *beyond_limits(const cudasim_call &call) {
    const dim3 g = call.grid, b = call.block;
    const size_t most = (size_t)cudasim_attributes(call.kernel).maxDynamicSharedSizeBytes;
    if (g.x == 0 || g.y == 0 || g.z == 0) return "an empty grid";
    if (b.x == 0 || b.y == 0 || b.z == 0) return "an empty block";
    if (g.x > INT32_MAX || g.y > UINT16_MAX || g.z > UINT16_MAX) return "too large a grid";
    if (b.x > MOST_THREADS || b.y > MOST_THREADS || b.z > 64) return "too long a block";
    if ((uint64_t)b.x * b.y * b.z > MOST_THREADS) return "too many threads in a block";
    return call.shared_bytes > most ? "too much dynamic shared memory" : nullptr;
}

} // namespace

void fault(cudaError_t error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(error, format, arguments);
    va_end(arguments);
}

bool faulted(void) {
    return last_error != cudaSuccess;
}

void trap(const char *format, ...) {
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    fault(cudaErrorLaunchFailure, "%s: block (%u, %u, %u), thread (%u, %u, %u): %s",
          running.call->name, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y,
          threadIdx.z, what);
    for (;;)
        block_wait(stand::barrier, "", 0);
}

/* A launch whose outcome nobody asked for would hide its failure. */
static void begin_launch(const cudasim_call &call) {
    if (launch_unchecked) {
        fault(cudaErrorLaunchFailure, "%s is launched although nobody checked the launch of %s",
              call.name, last_launch);
    }
    launch_unchecked = true;
    snprintf(last_launch, sizeof last_launch, "%s", call.name);
}

/* False when the call is beyond what a GPU can do. */
static bool launch_good(const cudasim_call &call) {
    const char *wrong = beyond_limits(call);
    if (wrong != nullptr)
        fault(cudaErrorInvalidConfiguration,
              "%s: %s: grid %u x %u x %u, block %u x %u x %u, %zu bytes", call.name, wrong,
              call.grid.x, call.grid.y, call.grid.z, call.block.x, call.block.y, call.block.z,
              call.shared_bytes);
    return !faulted();
}

void count_launch(void) {
    ++launches;
}

long cudasim_launches(void) {
    return launches;
}

/* Appends a kernel's symbol, and how much dynamic shared memory it was given, to the file that
 * LH_CUDASIM_SHARED names, whenever it is more than before. */
static void tell_shared(const cudasim_call &call) {
    static const char *path = getenv("LH_CUDASIM_SHARED");
    static std::map<const void *, size_t> most;
    Dl_info kernel;
    if (path == nullptr || call.shared_bytes <= most[call.kernel]) return;
    most[call.kernel] = call.shared_bytes;
    FILE *file = dladdr(call.kernel, &kernel) != 0 ? fopen(path, "a") : nullptr;
    if (file == nullptr) return;
    fprintf(file, "%s %zu\n", kernel.dli_sname != nullptr ? kernel.dli_sname : call.name,
            call.shared_bytes);
    fclose(file);
}

void cudasim_run(const cudasim_call &call, cudaStream_t stream,
                 std::shared_ptr<const void> arguments) {
    begin_launch(call);
    if (!launch_good(call)) return;
    tell_shared(call);
    count_launch();
    submit(stream, call.kernel, [call, arguments] {
        const device_scope scope;
        block_run(call);
        return last_error;
    });
}

cudaError_t cudaGetLastError(void) {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    launch_unchecked = false;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    launch_unchecked = false;
    return last_error;
}

const char *cudaGetErrorName(cudaError_t error) {
    switch (error) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorInvalidValue:
        return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
        return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidMemcpyDirection:
        return "cudaErrorInvalidMemcpyDirection";
    case cudaErrorNoDevice:
        return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
        return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle:
        return "cudaErrorInvalidResourceHandle";
    case cudaErrorLaunchFailure:
        return "cudaErrorLaunchFailure";
    case cudaErrorHostMemoryAlreadyRegistered:
        return "cudaErrorHostMemoryAlreadyRegistered";
    case cudaErrorStreamCaptureUnsupported:
        return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureUnjoined:
        return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation:
        return "cudaErrorStreamCaptureIsolation";
    case cudaErrorGraphExecUpdateFailure:
        return "cudaErrorGraphExecUpdateFailure";
    }
    return "unknown";
}

const char *cudaGetErrorString(cudaError_t error) {
    if (error == cudaErrorLaunchFailure || error == cudaErrorInvalidConfiguration)
        return fault_text;
    if (error == cudaErrorNoDevice) return "no CUDA-capable device is detected";
    return cudaGetErrorName(error);
}

void cudasim_set_devices(int count) {
    device_count = count;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = device_count;
    return device_count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= device_count) return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    if (device < 0 || device >= device_count) return cudaErrorInvalidDevice;
    *properties = {"simulated GPU", {{(char)('0' + device)}}};
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    asked_for_shared = asked_for_shared || attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin;
    *value = attribute == cudaDevAttrMultiProcessorCount            ? 4
             : attribute == cudaDevAttrComputeCapabilityMajor       ? 8
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? MOST_SHARED
                                                                    : 0;
    return cudaSuccess;
}

static bool may_be(cudaFuncAttribute attribute, int value) {
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        return value >= cudaSharedmemCarveoutDefault && value <= cudaSharedmemCarveoutMaxShared;
    return value >= 0 && value <= (asked_for_shared ? MOST_SHARED : LEAST_SHARED);
}

cudaError_t cudasim_set_attribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    if (!may_be(attribute, value)) return cudaErrorInvalidValue;
    cudaFuncAttributes &now =
        attributes_set.emplace(kernel, cudasim_attributes(kernel)).first->second;
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
        now.preferredShmemCarveout = value;
    else
        now.maxDynamicSharedSizeBytes = value;
    return cudaSuccess;
}
