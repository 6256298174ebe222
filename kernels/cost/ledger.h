/* A device that computes nothing: its kernels note what they would cost, its memory is addresses
 * that nothing lies behind. So a training step of any size can be gone through with shapes only.
 * It stands for a GPU: ops choose as they do there. What is uploaded is dropped, what is downloaded
 * is zero. */
#ifndef LH_KERNELS_COST_LEDGER_H
#define LH_KERNELS_COST_LEDGER_H

#include "kernels/cost/cost.h"
#include "kernels/device.h"

typedef struct lh_ledger_call {
    lh_kernel_id kernel;
    lh_cost cost;
} lh_ledger_call;

/* The calls since it was cleared, in order. */
typedef struct lh_ledger {
    lh_ledger_call *call;
    int64_t count, capacity;
} lh_ledger;

/* Forgets the calls. */
void lh_ledger_clear(lh_ledger *ledger);
void lh_ledger_free(lh_ledger *ledger);

/* Its kernels write into the ledger that lh_launch.stream leads to. Fail: LH_EMEMORY. */
extern const lh_kernels lh_ledger_kernels;

/* Borrows the ledger. Gives a device; close it. Fails: LH_EMEMORY. */
lh_status lh_ledger_device(lh_ledger *ledger, lh_device **out);

/* "attention_forward" ... */
const char *lh_kernel_name(lh_kernel_id kernel);

#endif
