/* What every CUDA kernel is written with: the launch, the check, shared memory, the usual grids.
 *
 * The same sources run on a GPU and, through tests/cudasim, on any machine. So a kernel keeps to
 * what both know: LH_LAUNCH in place of <<<>>>, LH_SHARED in place of __shared__; every thread of a
 * block comes to every __syncthreads; whole warps take part in an exchange.
 *
 *   lh_status lh_cuda_fill(const lh_launch *launch, const lh_fill_args *args) {
 *       const lh_fill_args a = *args;
 *       return lh_each(launch, a.count, [=] __device__(int64_t i) { a.x[i] = a.value; });
 *   }
 *
 * Nothing here waits for the GPU: a mistake in the data (an index out of range) is left in the
 * stream's fault word, and the device reports it when it is next synchronised or read. */
#ifndef LH_KERNELS_CUDA_LAUNCH_CUH
#define LH_KERNELS_CUDA_LAUNCH_CUH

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/kernels_cuda.h"

static_assert(sizeof(real) == sizeof(float), "the GPU computes in float");

struct cublasContext;

/* What lh_launch.stream leads to. */
typedef struct lh_cuda_stream {
    cudaStream_t stream;
    struct cublasContext *blas;
    void *blas_workspace; /* of one product at a time */
    size_t blas_workspace_bytes;
    bool epilogues; /* unless LH_EPILOGUES=0 */
    int32_t *fault; /* on the device: 0, or 1 + the lh_kernel_id that met bad data */
} lh_cuda_stream;

/* The launch's stream, with the handle of cuBLAS and the fault word. */
static inline const lh_cuda_stream *lh_stream_of(const lh_launch *launch) {
    return (const lh_cuda_stream *)launch->stream;
}

/* Unless the environment says NAME=0. */
static inline bool lh_cuda_wants(const char *name) {
    const char *value = getenv(name);
    return value == NULL || strcmp(value, "0") != 0;
}

/* ---- Checks ---- */

/* LH_OK, or the status that belongs to the error; what failed and where is then the device's error
 * text (lh_device_error). */
lh_status lh_cuda_check(cudaError_t error, const char *what, const char *file, int line);

#define LH_CUDA(call) lh_cuda_check((call), #call, __FILE__, __LINE__)
#define LH_CUDA_TRY(status)                                                                        \
    do {                                                                                           \
        const lh_status lh_cuda_status = (status);                                                 \
        if (lh_cuda_status != LH_OK) return lh_cuda_status;                                        \
    } while (0)

/* ---- Launches ---- */

#ifndef LH_LAUNCH_SYNTAX
#define LH_LAUNCH_SYNTAX(kernel, grid, block, shared_bytes, stream, ...)                           \
    (kernel)<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
#define LH_SHARED(type, name, dimensions) __shared__ type name dimensions
#define LH_SHARED_DYNAMIC(type, name)                                                              \
    extern __shared__ __align__(32) unsigned char lh_dynamic_shared[];                             \
    type *name = reinterpret_cast<type *>(lh_dynamic_shared)
#endif

/* Before a loop: all of it written out, or none, where registers depend on it. */
#ifdef __CUDACC__
#define LH_UNROLL    _Pragma("unroll")
#define LH_NO_UNROLL _Pragma("unroll 1")
#else
#define LH_UNROLL
#define LH_NO_UNROLL
#endif

/* A kernel may then be given so much dynamic shared memory: more than 48 KiB have to be asked for.
 * What it may have is never made less, since launches in graphs count on it. Of what a
 * multiprocessor has for caching and sharing such a kernel prefers to share all, for several blocks
 * side by side: left to itself, the driver may choose just enough for one. */
template <typename kernel_type>
static inline cudaError_t lh_ask_shared(kernel_type *kernel, size_t bytes) {
    cudaFuncAttributes now;
    if (bytes == 0) return cudaSuccess;
    cudaError_t error = cudaFuncGetAttributes(&now, kernel);
    if (error != cudaSuccess || bytes <= (size_t)now.maxDynamicSharedSizeBytes) return error;
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) return error;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                cudaSharedmemCarveoutMaxShared);
}

/* Whether a block of the current GPU may have so much: 99 KiB all from 8.0 on have, which need not
 * be asked about; those of data centres have more. */
static inline bool lh_has_shared(size_t bytes) {
    int device = 0, most = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
               cudaSuccess &&
           bytes <= (size_t)most;
}

/* Launches and gives the lh_status. A template goes in parentheses: LH_LAUNCH((rows<true>), ...).
 * LH_SHARED(float, tile, [32][33]) declares shared memory; dynamic memory has one array for all. */
#define LH_LAUNCH(kernel, grid, block, shared_bytes, launch, ...)                                  \
    (lh_cuda_check(lh_ask_shared(kernel, shared_bytes), #kernel, __FILE__, __LINE__) != LH_OK      \
         ? LH_EDEVICE                                                                              \
         : (LH_LAUNCH_SYNTAX(kernel, grid, block, shared_bytes, lh_stream_of(launch)->stream,      \
                             __VA_ARGS__),                                                         \
            lh_cuda_check(cudaGetLastError(), #kernel, __FILE__, __LINE__)))

enum {
    LH_WARP = 32,
    LH_THREADS = 256, /* a block, unless a kernel knows better */
    LH_MOST_BLOCKS = 1 << 15
};

/* Blocks of `size` for `count`: no more than fill any GPU many times, the rest is a loop. */
static inline unsigned lh_blocks(int64_t count, int64_t size) {
    return (unsigned)lh_max(1, lh_min(lh_chunk_count(count, size), LH_MOST_BLOCKS));
}

/* The next part of a workspace: `count` elements from *at on, which moves behind them. Gives the
 * part's bytes, which are all that counts while there is no workspace yet. */
template <typename element> static size_t lh_take(char **at, int64_t count, element **out) {
    const size_t bytes = lh_round_up((size_t)count * sizeof(element), 64);
    *out = (element *)*at;
    *at += bytes;
    return bytes;
}

/* ---- One thread for each of many ---- */

/* The grid of lh_each, by strides: each index goes to one thread. */
template <typename work>
__global__ void __launch_bounds__(LH_THREADS) lh_each_kernel(int64_t count, work body) {
    const int64_t step = (int64_t)gridDim.x * LH_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * LH_THREADS + threadIdx.x; i < count; i += step)
        body(i);
}

/* Calls body(i), a __device__ lambda, for 0 <= i < count in any order. */
template <typename work>
static inline lh_status lh_each(const lh_launch *launch, int64_t count, work body) {
    if (count <= 0) return LH_OK;
    return LH_LAUNCH((lh_each_kernel<work>), lh_blocks(count, LH_THREADS), LH_THREADS, 0, launch,
                     count, body);
}

/* ---- Writing ---- */

/* One element; an LH_ADD is no atomic, so that a thread must be the only one that writes it. */
__device__ static inline void lh_store(real *y, lh_write write, real value) {
    *y = write == LH_ADD ? *y + value : value;
}

/* ---- Mistakes in the data ---- */

/* Tells that `kernel` met an index out of range; the first to tell is remembered. */
__device__ static inline void lh_raise(int32_t *fault, lh_kernel_id kernel) {
    atomicCAS(fault, 0, 1 + (int32_t)kernel);
}

#endif
