/* The kernel table of the GPU, in the order of its fields. */
#include "kernels/cuda/kernels_cuda.h"

#ifdef LH_CUDASIM
#define LH_CUDA_NAME "cudasim"
#else
#define LH_CUDA_NAME "cuda"
#endif

#define LH_KERNEL(k)   lh_cuda_##k,
#define LH_KERNEL_W(k) lh_cuda_##k, lh_cuda_##k##_workspace,

const lh_kernels lh_cuda_table = {
    LH_CUDA_NAME,
#include "kernels/kernels.def"
};
