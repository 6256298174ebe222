/* Names of the CPU entries. Every file of kernels/cpu is compiled once per instruction set, with
 * -DLH_CPU_ISA=scalar, avx2 or avx512, so LH_CPU(copy) is lh_cpu_avx512_copy and so on. */
#ifndef LH_KERNELS_CPU_ISA_H
#define LH_KERNELS_CPU_ISA_H

#ifndef LH_CPU_ISA
#error "compile kernels/cpu with -DLH_CPU_ISA=scalar, avx2 or avx512"
#endif

#define LH_CPU_JOIN_EXPANDED(isa, name) lh_cpu_##isa##_##name
#define LH_CPU_JOIN(isa, name)          LH_CPU_JOIN_EXPANDED(isa, name)
#define LH_CPU(name)                    LH_CPU_JOIN(LH_CPU_ISA, name)

#define LH_CPU_TEXT_EXPANDED(isa) #isa
#define LH_CPU_TEXT(isa)          LH_CPU_TEXT_EXPANDED(isa)
#define LH_CPU_NAME               "cpu-" LH_CPU_TEXT(LH_CPU_ISA)

/* For a helper whose constant arguments (an operator, a write mode) should each give their own
 * vectorised loop. */
#define LH_SPECIALIZED static inline __attribute__((always_inline))

#endif
