/* The kernel table of the GPU, in the order of its fields. */
#include "kernels/cuda/kernels_cuda.h"

#ifdef LH_CUDASIM
#define LH_CUDA_NAME "cudasim"
#else
#define LH_CUDA_NAME "cuda"
#endif

/* All that have activations. */
#define LH_KERNEL(k, dtypes)   true,
#define LH_KERNEL_W(k, dtypes) true,
static const bool takes_bf16[LH_KERNEL_COUNT] = {
#include "kernels/kernels.def"
};
#undef LH_KERNEL
#undef LH_KERNEL_W

#define LH_TWIN(k)           lh_cuda_##k
#define LH_TWIN_WORKSPACE(k) lh_cuda_##k##_workspace
#include "kernels/entries.inc"

#define LH_KERNEL(k, dtypes)   run_##k,
#define LH_KERNEL_W(k, dtypes) run_##k, workspace_##k,

const lh_kernels lh_cuda_table = {
    LH_CUDA_NAME,
    takes_bf16,
#include "kernels/kernels.def"
};
