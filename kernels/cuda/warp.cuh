/* Sums and maxima over the lanes of a warp, in one fixed tree; every lane gets the result. A row of
 * a matrix goes to one warp. */
#ifndef LH_KERNELS_CUDA_WARP_CUH
#define LH_KERNELS_CUDA_WARP_CUH

#include "kernels/cuda/launch.cuh"

enum { LH_WARPS = LH_THREADS / LH_WARP };

/* The sum of the lanes' numbers; all lanes of the warp call it together, as lh_warp_max. */
template <typename number> __device__ static inline number lh_warp_sum(number x) {
    for (int bits = LH_WARP / 2; bits > 0; bits /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, bits);
    return x;
}

/* Bit 0 becomes bit 31. */
__device__ static inline uint32_t lh_reverse_bits(uint32_t x) {
#ifdef __CUDACC__
    return __brev(x);
#else
    for (int bits = 1; bits < 32; bits *= 2) {
        const uint32_t low = ~(uint32_t)0 / ((1u << bits) + 1);
        x = (x & low) << bits | (x >> bits & low);
    }
    return x;
#endif
}

/* Not a number wins. */
__device__ static inline real lh_larger(real a, real b) {
#ifdef __CUDACC__
    real larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
#else
    return isnan(a) || a >= b ? a : b;
#endif
}

/* The greatest of them, or not a number if one is. */
__device__ static inline real lh_warp_max(real x) {
    for (int bits = LH_WARP / 2; bits > 0; bits /= 2)
        x = lh_larger(x, __shfl_xor_sync(0xffffffffu, x, bits));
    return x;
}

/* The grid of lh_each_row, by strides: each row goes to one warp. */
template <typename work>
__global__ void __launch_bounds__(LH_THREADS) lh_each_row_kernel(int64_t rows, work body) {
    const int lane = (int)(threadIdx.x % LH_WARP);
    const int64_t step = (int64_t)gridDim.x * LH_WARPS;
    for (int64_t r = (int64_t)blockIdx.x * LH_WARPS + threadIdx.x / LH_WARP; r < rows; r += step)
        body(r, lane);
}

/* Calls body(row, lane), a __device__ lambda, with the lanes of one warp together for each row. */
template <typename work>
static inline lh_status lh_each_row(const lh_launch *launch, int64_t rows, work body) {
    if (rows <= 0) return LH_OK;
    return LH_LAUNCH((lh_each_row_kernel<work>), lh_blocks(rows, LH_WARPS), LH_THREADS, 0, launch,
                     rows, body);
}

#endif
