/* Rows of activations by runs of neighbours (element.cuh), a warp to a row. */
#ifndef LH_KERNELS_CUDA_ROW_RUNS_CUH
#define LH_KERNELS_CUDA_ROW_RUNS_CUH

#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"

/* Calls body(begin) for a lane's runs of a row. What it reads is found in the cache by a second
 * such pass of its warp. */
template <typename work>
__device__ static inline void lh_each_lane_run(int64_t width, int lane, const work &body) {
    for (int64_t begin = (int64_t)lane * LH_RUN; begin < width; begin += LH_WARP * LH_RUN)
        body(begin);
}

#endif
