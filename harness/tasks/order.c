/* Epochs one after the other, each in an order of its own. */
#include "harness/tasks/order.h"

#include <stdlib.h>

#include "harness/tasks/shuffle.h"
#include "harness/train/task.h"

static void arrange(lh_order *order) {
    const lh_random_key key = {
        .seed = order->seed, .step = (uint64_t)order->epoch, .stream = LH_STREAM_DATA};
    if (order->endless) {
        lh_shuffle(key, order->index, order->count);
    } else {
        for (int64_t i = 0; i < order->count; ++i)
            order->index[i] = (int32_t)i;
    }
}

lh_status lh_order_open(lh_order *order, int64_t count, bool endless, uint64_t seed) {
    *order = (lh_order){.count = count, .endless = endless, .seed = seed};
    order->index = lh_allocate_zeroed((size_t)(count > 0 ? count : 1), sizeof *order->index);
    if (order->index == NULL) return LH_EMEMORY;
    arrange(order);
    return LH_OK;
}

void lh_order_close(lh_order *order) {
    free(order->index);
    order->index = NULL;
}

int64_t lh_order_next(lh_order *order) {
    if (order->count == LH_WITHOUT_END) return order->taken++;
    if (order->taken == order->count) {
        if (!order->endless) return -1;
        lh_order_seek(order, order->epoch + 1, 0);
    }
    return order->index[order->taken++];
}

void lh_order_seek(lh_order *order, int64_t epoch, int64_t taken) {
    order->epoch = epoch;
    order->taken = taken;
    arrange(order);
}

bool lh_order_has(const lh_order *order, int64_t epoch, int64_t taken) {
    return lh_is_count(epoch) && lh_is_count(taken) &&
           (order->count == LH_WITHOUT_END || taken <= order->count);
}
