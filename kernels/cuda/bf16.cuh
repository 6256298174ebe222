/* What the tensor cores multiply: runs of elements in bf16, rounded where they lie in memory as
 * f32. */
#ifndef LH_KERNELS_CUDA_BF16_CUH
#define LH_KERNELS_CUDA_BF16_CUH

#include "kernels/cuda/element.cuh"

/* Neighbours that are loaded and stored together. */
typedef lh_packed_run<__nv_bfloat16> lh_bf16_run;

/* Whether rows that are `pitch` apart all begin where four elements may be loaded at once. */
template <typename element> LH_INLINE bool lh_loads_runs(const element *x, int64_t pitch) {
    return (uintptr_t)x % (LH_RUN * sizeof(element)) == 0 && pitch % LH_RUN == 0;
}

/* Elements [begin, begin + 4) of a row of `width`, rounded to nearest even; 0 past its end. */
__device__ static inline lh_bf16_run lh_bf16_load(const real *row, int64_t begin, int64_t width,
                                                  bool whole) {
    float4 x = {0, 0, 0, 0};
    if (whole && begin + LH_RUN <= width) {
        x = *reinterpret_cast<const float4 *>(row + begin);
    } else {
        x.x = begin < width ? row[begin] : 0;
        x.y = begin + 1 < width ? row[begin + 1] : 0;
        x.z = begin + 2 < width ? row[begin + 2] : 0;
        x.w = begin + 3 < width ? row[begin + 3] : 0;
    }
    return {{__float2bfloat16_rn(x.x), __float2bfloat16_rn(x.y), __float2bfloat16_rn(x.z),
             __float2bfloat16_rn(x.w)}};
}

/* The same of a row in bf16, as it is. */
__device__ static inline lh_bf16_run lh_bf16_load(const __nv_bfloat16 *row, int64_t begin,
                                                  int64_t width, bool whole) {
    if (whole && begin + LH_RUN <= width)
        return *reinterpret_cast<const lh_bf16_run *>(row + begin);
    lh_bf16_run x;
    LH_UNROLL
    for (int i = 0; i < LH_RUN; ++i)
        x.at[i] = begin + i < width ? row[begin + i] : __float2bfloat16_rn(0);
    return x;
}

#endif
