/* The kernel table of one instruction set. */
#include "kernels/cpu/kernels_cpu.h"

#define LH_KERNEL(k)   .k = LH_CPU(k),
#define LH_KERNEL_W(k) .k = LH_CPU(k), .k##_workspace = LH_CPU(k##_workspace),

const lh_kernels LH_CPU(table) = {
    .name = LH_CPU_NAME,
#include "kernels/kernels.def"
};
