/* Prototypes of all CPU entries of one instruction set, made from kernels.def, and its table. */
#ifndef LH_KERNELS_CPU_KERNELS_CPU_H
#define LH_KERNELS_CPU_KERNELS_CPU_H

#include "kernels/cpu/isa.h"
#include "kernels/kernels.h"

#define LH_KERNEL(k) lh_status LH_CPU(k)(const lh_launch *launch, const lh_##k##_args *args);
#define LH_KERNEL_W(k)                                                                             \
    LH_KERNEL(k)                                                                                   \
    size_t LH_CPU(k##_workspace)(const lh_##k##_args *args);
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W

extern const lh_kernels LH_CPU(table);

#endif
