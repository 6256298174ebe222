/* Activations in memory, f32 or bf16: kernels are templates of their element, which is loaded to a
 * real and stored from one. */
#ifndef LH_KERNELS_CUDA_ELEMENT_CUH
#define LH_KERNELS_CUDA_ELEMENT_CUH

#include <cuda_bf16.h>

#include "kernels/cuda/launch.cuh"

__device__ static inline real lh_load(const real *x) {
    return *x;
}

__device__ static inline real lh_load(const __nv_bfloat16 *x) {
    return __bfloat162float(*x);
}

/* Beside that of a real in launch.cuh; rounds once, to nearest even. */
__device__ static inline void lh_store(__nv_bfloat16 *y, lh_write write, real value) {
    *y = __float2bfloat16_rn(write == LH_ADD ? lh_load(y) + value : value);
}

/* An operand marked `act` as what it is. */
template <typename element> LH_INLINE const element *lh_elements(const real *x) {
    return reinterpret_cast<const element *>(x);
}

template <typename element> LH_INLINE element *lh_elements(real *x) {
    return reinterpret_cast<element *>(x);
}

/* The same where the dtype is known to the call alone, for elements that are few or far between. */
__device__ static inline real lh_load_as(lh_dtype dtype, const real *x, int64_t i) {
    return dtype == LH_BF16 ? lh_load(lh_elements<__nv_bfloat16>(x) + i) : x[i];
}

__device__ static inline void lh_store_as(lh_dtype dtype, real *y, int64_t i, lh_write write,
                                          real value) {
    if (dtype == LH_BF16)
        lh_store(lh_elements<__nv_bfloat16>(y) + i, write, value);
    else
        lh_store(y + i, write, value);
}

/* Calls the instance of a function template for a dtype; gives its lh_status. */
#define LH_FOR_ELEMENT(dtype, function, ...)                                                       \
    ((dtype) == LH_REAL   ? function<real>(__VA_ARGS__)                                            \
     : (dtype) == LH_BF16 ? function<__nv_bfloat16>(__VA_ARGS__)                                   \
                          : LH_EOPTION)

#endif
