/* In which order a stream hands out what a split has. */
#ifndef LH_TASKS_ORDER_H
#define LH_TASKS_ORDER_H

#include "harness/engine/error.h"

enum { LH_WITHOUT_END = -1 };

/* Items 0 .. count - 1. A training stream is endless: every epoch has a new order, a function of
 * (seed, epoch). A pass hands each item out once, in order. Of a source without end (count
 * LH_WITHOUT_END) each item comes once, in order. */
typedef struct lh_order {
    int64_t count;
    bool endless;
    uint64_t seed;
    int64_t epoch, taken; /* handed out in this epoch */
    int32_t *index;       /* [count]: the epoch's order */
} lh_order;

/* Starts at the first item of the first epoch; close it, also after a failure. */
lh_status lh_order_open(lh_order *order, int64_t count, bool endless, uint64_t seed);
void lh_order_close(lh_order *order);

/* The next item, or -1 at the end of a pass. */
int64_t lh_order_next(lh_order *order);

/* Goes to where `taken` items of `epoch` have been handed out. */
void lh_order_seek(lh_order *order, int64_t epoch, int64_t taken);
bool lh_order_has(const lh_order *order, int64_t epoch, int64_t taken);

#endif
