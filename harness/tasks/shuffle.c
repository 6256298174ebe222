/* Fisher and Yates' shuffle by counter-based random numbers. */
#include "harness/tasks/shuffle.h"

#include "harness/engine/draw.h"

void lh_shuffle(lh_random_key key, int32_t *order, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        order[i] = (int32_t)i;
    for (int64_t i = count - 1; i > 0; --i) {
        const uint64_t j = lh_random_below(key, (uint64_t)i, (uint64_t)i + 1);
        const int32_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}
