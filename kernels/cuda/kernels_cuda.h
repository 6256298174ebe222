/* Prototypes of all CUDA entries, made from kernels.def, and what kernels/backends.c needs of this
 * folder. */
#ifndef LH_KERNELS_CUDA_KERNELS_CUDA_H
#define LH_KERNELS_CUDA_KERNELS_CUDA_H

#include "kernels/device.h"
#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LH_KERNEL(k, dtypes)                                                                       \
    lh_status lh_cuda_##k(const lh_launch *launch, const lh_##k##_args *args);
#define LH_KERNEL_W(k, dtypes)                                                                     \
    LH_KERNEL(k, dtypes)                                                                           \
    size_t lh_cuda_##k##_workspace(const lh_##k##_args *args);
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

extern const lh_kernels lh_cuda_table;

/* Whether this machine has a GPU that the driver can use. */
bool lh_cuda_present(void);

/* GPU number % count of those that CUDA shows. Fails: LH_EDEVICE when there is none, LH_EMEMORY.
 * Gives a device; close it. */
lh_status lh_cuda_open(int number, lh_device **out);

#ifdef __cplusplus
}
#endif

#endif
