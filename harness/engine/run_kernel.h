/* Running kernels: for ops, and for what of the engine and of training works on whole tensors. */
#ifndef LH_ENGINE_RUN_KERNEL_H
#define LH_ENGINE_RUN_KERNEL_H

#include "harness/engine/pool.h"
#include "kernels/kernels.h"

/* Runs one kernel of the contract; an lh_status. */
#define LH_RUN(pool, kernel, args)                                                                 \
    lh_pool_launched(#kernel, lh_pool_kernels(pool)->kernel(lh_pool_launch(pool), (args)))

/* The same for a kernel that needs workspace. */
#define LH_RUN_W(pool, kernel, args)                                                               \
    lh_pool_launched(#kernel,                                                                      \
                     lh_pool_prepare((pool), lh_pool_kernels(pool)->kernel##_workspace(args))      \
                         ? lh_pool_kernels(pool)->kernel(lh_pool_launch(pool), (args))             \
                         : LH_EMEMORY)

#endif
