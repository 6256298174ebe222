/* Prototypes of all CPU entries of one instruction set, made from kernels.def, and its table. */
#ifndef LH_KERNELS_CPU_KERNELS_CPU_H
#define LH_KERNELS_CPU_KERNELS_CPU_H

#include "kernels/cpu/isa.h"
#include "kernels/kernels.h"

#define LH_KERNEL(k, dtypes)                                                                       \
    lh_status lh_cpu_##k(const lh_launch *launch, const lh_##k##_args *args);
#define LH_KERNEL_W(k, dtypes)                                                                     \
    LH_KERNEL(k, dtypes)                                                                           \
    size_t lh_cpu_##k##_workspace(const lh_##k##_args *args);
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

extern const lh_kernels LH_CPU_TABLE;

#endif
