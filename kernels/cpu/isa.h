/* Every file of kernels/cpu is compiled once per instruction set, with -DLH_CPU_ISA=scalar, avx2 or
 * avx512. The objects of one set are then joined into one, which shows nothing but its table (see
 * the Makefile), so that functions have the same plain names in all of them. */
#ifndef LH_KERNELS_CPU_ISA_H
#define LH_KERNELS_CPU_ISA_H

#ifndef LH_CPU_ISA
#error "compile kernels/cpu with -DLH_CPU_ISA=scalar, avx2 or avx512"
#endif

#define LH_CPU_TEXT_EXPANDED(isa) #isa
#define LH_CPU_TEXT(isa)          LH_CPU_TEXT_EXPANDED(isa)
#define LH_CPU_NAME               "cpu-" LH_CPU_TEXT(LH_CPU_ISA)

#define LH_CPU_TABLE_EXPANDED(isa) lh_cpu_##isa##_table
#define LH_CPU_TABLE_OF(isa)       LH_CPU_TABLE_EXPANDED(isa)
#define LH_CPU_TABLE               LH_CPU_TABLE_OF(LH_CPU_ISA)

/* For a helper whose constant arguments (an operator, a write mode) should each give their own
 * vectorised loop. */
#define LH_SPECIALIZED static inline __attribute__((always_inline))

#endif
