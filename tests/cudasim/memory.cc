/* Device memory: host memory that is closed to everyone but kernels and copies. */
#include "tests/cudasim/simulator.h"

#include <map>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(address, bytes)   ((void)(address), (void)(bytes))
#define __asan_unpoison_memory_region(address, bytes) ((void)(address), (void)(bytes))
#endif

namespace {

enum { POISON = 0xff, ALIGNMENT = 256, PAGE = 4096 };

std::map<const char *, size_t> allocations, pinned;
std::map<const char *, std::pair<uintptr_t, uintptr_t>>
    locked; /* first and last page, by address */
size_t in_use, capacity = (size_t)1 << 30;
int open_scopes;

/* The bytes from `memory` to the end of its allocation; 0 for other memory. */
size_t reachable(const void *memory, const std::map<const char *, size_t> &among = allocations) {
    const char *at = static_cast<const char *>(memory);
    auto after = among.upper_bound(at);
    if (after == among.begin()) return 0;
    --after;
    const size_t offset = (size_t)(at - after->first);
    return offset < after->second ? after->second - offset : 0;
}

bool on_device(const void *memory, size_t bytes) {
    return bytes == 0 || reachable(memory) >= bytes;
}

} // namespace

device_scope::device_scope() {
    if (open_scopes++ > 0) return;
    for (const auto &one : allocations)
        __asan_unpoison_memory_region(one.first, one.second);
}

device_scope::~device_scope() {
    if (--open_scopes > 0) return;
    for (const auto &one : allocations)
        __asan_poison_memory_region(one.first, one.second);
}

void cudasim_set_memory(size_t bytes) {
    capacity = bytes;
}

void cudasim_check_pointer(const char *kernel, const void *pointer) {
    if (pointer != nullptr && reachable(pointer) == 0)
        fault(cudaErrorInvalidValue, "%s: an argument points to host memory", kernel);
}

/* Programs, heaps and stacks lie above, numbers and the sanitizers' own tables below. */
static const uintptr_t LEAST_ADDRESS = (uintptr_t)0x5000 << 32,
                       MOST_ADDRESS = (uintptr_t)0x8000 << 32;

/* A small number before a gap in which the upper half of an address was left: gcc 12 does not clear
 * the gaps behind an array of structures. Of 2^20 addresses one looks like that. */
static bool number_and_gap(uintptr_t word) {
    return (word & UINT32_MAX) < PAGE;
}

static bool on_host(uintptr_t word) {
    unsigned char there = 0;
    if (word < LEAST_ADDRESS || word >= MOST_ADDRESS || number_and_gap(word)) return false;
    const void *at = reinterpret_cast<const void *>(word);
    const void *before = reinterpret_cast<const void *>(word - 1); /* an end is no mistake */
    if (reachable(at) > 0 || reachable(before) > 0) return false;
    return mincore(reinterpret_cast<void *>(word / PAGE * PAGE), PAGE, &there) == 0;
}

void cudasim_check_words(const char *kernel, const void *argument, size_t bytes) {
    for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
        uintptr_t word = 0;
        memcpy(&word, static_cast<const char *>(argument) + at, sizeof word);
        if (on_host(word))
            fault(cudaErrorInvalidValue, "%s: byte %zu of an argument is an address of the host",
                  kernel, at);
    }
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    *memory = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > capacity - in_use) {
        fault(cudaErrorMemoryAllocation, "out of memory");
        return cudaErrorMemoryAllocation;
    }
    const size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (posix_memalign(memory, ALIGNMENT, bytes) != 0) return cudaErrorMemoryAllocation;
    memset(*memory, POISON, bytes);
    allocations[static_cast<char *>(*memory)] = bytes;
    in_use += rounded;
    __asan_poison_memory_region(*memory, bytes);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory) {
    if (memory == nullptr) return cudaSuccess;
    drain_all();
    const auto found = allocations.find(static_cast<char *>(memory));
    if (found == allocations.end()) return cudaErrorInvalidValue;
    in_use -= (found->second + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    __asan_unpoison_memory_region(memory, found->second);
    allocations.erase(found);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    *memory = malloc(bytes + 1);
    if (*memory == nullptr) return cudaErrorMemoryAllocation;
    pinned[static_cast<char *>(*memory)] = bytes;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory) {
    drain_all();
    if (memory != nullptr && pinned.erase(static_cast<char *>(memory)) == 0)
        return cudaErrorInvalidValue;
    free(memory);
    return cudaSuccess;
}

/* The driver locks whole pages, each of them once. */
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned) {
    char *const begin = static_cast<char *>(memory);
    const uintptr_t at = reinterpret_cast<uintptr_t>(memory);
    if (bytes == 0 || reachable(memory) > 0) return cudaErrorInvalidValue;
    const std::pair<uintptr_t, uintptr_t> pages(at / PAGE, (at + bytes - 1) / PAGE);
    for (const auto &other : locked)
        if (other.second.first <= pages.second && pages.first <= other.second.second)
            return cudaErrorHostMemoryAlreadyRegistered;
    locked[begin] = pages;
    pinned[begin] = bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *memory) {
    char *const begin = static_cast<char *>(memory);
    drain_all();
    if (locked.erase(begin) == 0) return cudaErrorInvalidValue;
    pinned.erase(begin);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total) {
    *available = capacity - in_use;
    *total = capacity;
    return cudaSuccess;
}

static bool copy_good(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (to_device ? !on_device(to, bytes) : reachable(to) > 0) return false;
    return from_device ? on_device(from, bytes) : reachable(from) == 0;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return cudaSuccess;
    if (!copy_good(to, from, bytes, kind)) return cudaErrorInvalidValue;
    const device_scope scope;
    memmove(to, from, bytes);
    return cudaSuccess;
}

/* What lies in pinned memory is fetched when the copy's turn comes, other memory before the call
 * returns. A graph runs when other memory may be gone. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    const void *const what = reinterpret_cast<const void *>(cudaMemcpyAsync);
    const bool on_gpu = kind == cudaMemcpyDeviceToDevice;
    const void *host = kind == cudaMemcpyHostToDevice ? from : to;
    if (bytes > 0 && !copy_good(to, from, bytes, kind)) return cudaErrorInvalidValue;
    if (on_gpu || reachable(host, pinned) >= bytes) {
        submit(stream, what, [=] { return cudaMemcpy(to, from, bytes, kind); });
        return cudaSuccess;
    }
    if (capturing(stream)) return cudaErrorStreamCaptureUnsupported;
    if (kind == cudaMemcpyHostToDevice) {
        const char *begin = static_cast<const char *>(from);
        const std::vector<char> taken(begin, begin + bytes);
        submit(stream, what, [=] { return cudaMemcpy(to, taken.data(), bytes, kind); });
        return cudaSuccess;
    }
    if (stream != nullptr) drain(stream);
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    if (!on_device(memory, bytes)) return cudaErrorInvalidValue;
    const device_scope scope;
    if (bytes > 0) memset(memory, value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    if (!on_device(memory, bytes)) return cudaErrorInvalidValue;
    submit(stream, reinterpret_cast<const void *>(cudaMemsetAsync),
           [=] { return cudaMemset(memory, value, bytes); });
    return cudaSuccess;
}
