/* The kernel contract: one argument struct and one promise per kernel, two twins (cpu/, cuda/).
 *
 * Rules that hold for all of them:
 *  - A kernel is pure: it reads its `in` arguments, writes every element of each `out`, touches
 *    nothing else; it neither allocates nor prints nor keeps state. The launch has workspace.
 *  - Sizes are elements; size 0 is legal and does nothing, a negative one gives LH_ESHAPE. Tensors
 *    are dense and row-major unless a stride is named (strides in elements).
 *  - Same arguments, same bits on one backend, whatever the number of threads or the grid.
 *  - An optional pointer that is NULL switches its part off. A NULL gradient output is not wanted.
 *  - Gradient outputs obey their lh_write: LH_SET overwrites, LH_ADD accumulates.
 *  - Activations and their gradients lie in memory as reals or as bf16 and say which (lh_act); all
 *    else is real. Those of one call have one dtype, but where LH_KERNEL names several.
 *    Arithmetic and sums are in f32 either way, the result is rounded once. A kernel that does not
 *    take bf16 on its backend (lh_kernels.takes_bf16) gives LH_EOPTION.
 *  - Sums over long axes accumulate in double on the CPU, in float with a fixed tree on CUDA.
 *  - NaN in gives NaN out for the rows concerned; a fully masked row gives zeros.
 *  - Return LH_OK; LH_ESHAPE or LH_EOPTION for arguments that break the contract. What can be seen
 *    of that without the data is in lh_<kernel>_check, beside the arguments, which the tables of
 * all backends ask first (kernels/entries.inc), so that all give the same status. A twin refuses
 * what its backend alone lacks: head vectors of a size, products in a precision. The op that
 * launches the kernel adds the message. What only the data show, such as an index out of range,
 *    CUDA reports when the device is next synchronised or read. */
#ifndef LH_KERNELS_KERNELS_H
#define LH_KERNELS_KERNELS_H

#include "kernels/contract/attention.h"
#include "kernels/contract/convolution.h"
#include "kernels/contract/cross_entropy.h"
#include "kernels/contract/elementwise.h"
#include "kernels/contract/gate.h"
#include "kernels/contract/heads.h"
#include "kernels/contract/lsh.h"
#include "kernels/contract/matmul.h"
#include "kernels/contract/move.h"
#include "kernels/contract/norm.h"
#include "kernels/contract/reduce.h"
#include "kernels/contract/rem.h"
#include "kernels/contract/scan.h"
#include "kernels/contract/update.h"

/* What a kernel runs with, beside its arguments. */
typedef struct lh_launch {
    void *stream;    /* lh_device.stream; NULL on the CPU */
    void *workspace; /* at least <name>_workspace(args) bytes, 64-byte aligned; undefined */
} lh_launch;

/* LH_KERNEL_<name>, in the order of kernels.def. */
typedef enum lh_kernel_id {
#define LH_KERNEL(k, dtypes)   LH_KERNEL_##k,
#define LH_KERNEL_W(k, dtypes) LH_KERNEL_##k,
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
    LH_KERNEL_COUNT
} lh_kernel_id;

/* The table that a backend fills. `run` and `workspace` entries are made from kernels.def. */
typedef struct lh_kernels {
    const char *name;       /* "cpu-avx512", "cuda" ... */
    const bool *takes_bf16; /* [LH_KERNEL_COUNT]: activations of these may lie in memory as bf16 */
#define LH_KERNEL(k, dtypes)   lh_status (*k)(const lh_launch *, const lh_##k##_args *);
#define LH_KERNEL_W(k, dtypes) LH_KERNEL(k, dtypes) size_t (*k##_workspace)(const lh_##k##_args *);
#include "kernels/kernels.def"
#undef LH_KERNEL
#undef LH_KERNEL_W
} lh_kernels;

#endif
