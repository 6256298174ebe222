/* The kernel table of one instruction set. */
#include "kernels/cpu/kernels_cpu.h"

/* The kernels that know activations in bf16, as [LH_KERNEL_copy] = true. */
static const bool takes_bf16[LH_KERNEL_COUNT] = {
    [LH_KERNEL_copy] = true,
    [LH_KERNEL_linear_combination] = true,
    [LH_KERNEL_unary_forward] = true,
    [LH_KERNEL_unary_backward] = true,
    [LH_KERNEL_reduce] = true,
    [LH_KERNEL_matmul] = true,
    [LH_KERNEL_gather] = true,
    [LH_KERNEL_scatter_add] = true,
    [LH_KERNEL_layer_norm_forward] = true,
    [LH_KERNEL_layer_norm_backward] = true,
    [LH_KERNEL_rms_norm_forward] = true,
    [LH_KERNEL_rms_norm_backward] = true,
    [LH_KERNEL_unit_norm_forward] = true,
    [LH_KERNEL_unit_norm_backward] = true,
    [LH_KERNEL_dropout] = true,
    [LH_KERNEL_cross_entropy] = true,
    [LH_KERNEL_attention_forward] = true,
    [LH_KERNEL_attention_backward] = true,
    [LH_KERNEL_lsh_hash] = true,
    [LH_KERNEL_lsh_attention_forward] = true,
    [LH_KERNEL_lsh_attention_backward] = true,
};

#define LH_TWIN(k)           lh_cpu_##k
#define LH_TWIN_WORKSPACE(k) lh_cpu_##k##_workspace
#include "kernels/entries.inc"

#define LH_KERNEL(k, dtypes)   .k = run_##k,
#define LH_KERNEL_W(k, dtypes) .k = run_##k, .k##_workspace = workspace_##k,

const lh_kernels LH_CPU_TABLE = {
    .name = LH_CPU_NAME,
    .takes_bf16 = takes_bf16,
#include "kernels/kernels.def"
};
