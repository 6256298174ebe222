/* The functions of gates, written so that no exponential overflows into a NaN. */
#ifndef LH_KERNELS_CUDA_SIGMOID_CUH
#define LH_KERNELS_CUDA_SIGMOID_CUH

#include "kernels/cuda/launch.cuh"

/* expf(-x) may be infinite, which gives 0 as it should. */
__device__ static inline real lh_sigmoid(real x) {
    return 1.0f / (1.0f + expf(-x));
}

#endif
