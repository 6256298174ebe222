#include "harness/train/shuffle.h"

void lh_shuffle(lh_random_key key, int32_t *order, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        order[i] = (int32_t)i;
    for (int64_t i = count - 1; i > 0; --i) {
        const uint64_t word = lh_random_word(key, (uint64_t)i);
        const int64_t j = (int64_t)((word * (uint64_t)(i + 1)) >> 32);
        const int32_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}
