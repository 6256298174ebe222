/* Uniform integers, and draws one after the other under one key, as generators make them. */
#ifndef LH_ENGINE_DRAW_H
#define LH_ENGINE_DRAW_H

#include "kernels/random.h"

/* Element `index` of the stream of integers 0 .. count - 1, count at most 2^32; they are uniform to
 * within count / 2^32. */
static inline uint64_t lh_random_below(lh_random_key key, uint64_t index, uint64_t count) {
    return (uint64_t)lh_random_word(key, index) * count >> 32;
}

typedef struct lh_draws {
    lh_random_key key;
    uint64_t drawn; /* so far */
} lh_draws;

/* The next one, uniform in 0 .. count - 1. */
static inline int64_t lh_draw(lh_draws *draws, int64_t count) {
    return (int64_t)lh_random_below(draws->key, draws->drawn++, (uint64_t)count);
}

/* The next one of N(0, 1). */
static inline double lh_draw_normal(lh_draws *draws) {
    return lh_random_normal(draws->key, draws->drawn++);
}

#endif
