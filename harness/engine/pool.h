/* The caching memory pool of one device, with exact byte counts.
 *
 * Blocks are rounded up to size classes and kept for reuse when released, so that a steady-state
 * training step asks the device for nothing. Bytes in use count the rounded sizes of the blocks
 * that are handed out. */
#ifndef LH_ENGINE_POOL_H
#define LH_ENGINE_POOL_H

#include "harness/engine/error.h"
#include "kernels/device.h"

typedef struct lh_pool lh_pool;

typedef struct lh_pool_stats {
    int64_t used_bytes;         /* handed out now */
    int64_t peak_bytes;         /* largest used_bytes since the last reset */
    int64_t workspace_bytes;    /* of kernels, beside these */
    int64_t device_allocations; /* calls to the device's allocator so far */
} lh_pool_stats;

/* lh_device_open with a message: the device's name and what it says of the cause. */
lh_status lh_pool_open_device(const char *name, lh_device **out);

/* Borrows the device. Gives; destroy it after every block has been returned. */
lh_status lh_pool_create(lh_device *device, lh_pool **out);
void lh_pool_destroy(lh_pool *pool);

/* Gives *out, 64-byte aligned, contents undefined (NaN patterns under LH_CHECK=poison). 0 bytes
 * give a valid pointer. Fails: LH_EMEMORY, naming the request and what is in use; the cache is
 * emptied and the request tried again before that. LH_EDEVICE, with the device's words. */
lh_status lh_pool_take(lh_pool *pool, size_t bytes, void **out);
void lh_pool_return(lh_pool *pool, void *memory, size_t bytes);

/* The device workspace: one block that grows. Lends until the next call. Fails as lh_pool_take. */
lh_status lh_pool_workspace(lh_pool *pool, size_t bytes, void **out);

/* Host memory for the headers of tensors, storage and gradients: fixed-size cells from slabs, so
 * that a step makes no malloc. NULL plus LH_EMEMORY. */
enum { LH_POOL_CELL = 160 };
void *lh_pool_take_cell(lh_pool *pool);
void lh_pool_return_cell(lh_pool *pool, void *cell);

/* Exact byte counts; resetting sets the peak to what is in use now. */
lh_pool_stats lh_pool_get_stats(const lh_pool *pool);
void lh_pool_reset_peak(lh_pool *pool);
lh_device *lh_pool_device(const lh_pool *pool);

/* What matrix products and attention round their operands to, f32 at first. Fails: LH_EOPTION where
 * the device or this build lacks it; the message says what. */
lh_status lh_pool_set_precision(lh_pool *pool, lh_precision precision);
lh_precision lh_pool_precision(const lh_pool *pool);
/* What activations are in memory: bf16 in bf16, else real. Statistics, parameters and their
 * gradients, losses and carried states are real in any case. */
lh_dtype lh_pool_activation(const lh_pool *pool);

/* ---- launching kernels (run_kernel.h) ---- */

/* Gets `bytes` of workspace ready for the next launch; false after LH_EMEMORY. */
bool lh_pool_prepare(lh_pool *pool, size_t bytes);
const lh_launch *lh_pool_launch(const lh_pool *pool);
const lh_kernels *lh_pool_kernels(const lh_pool *pool);
/* Leaves a message for a status other than LH_OK, and returns it: that the kernel refused its
 * arguments, or what the device says. */
lh_status lh_pool_launched(const char *kernel, lh_status status);
/* The same of the device's own functions, each call of which goes through it: "download" ... An
 * error of the work before is told by whichever comes next. */
lh_status lh_pool_called(const char *function, lh_status status);

#endif
