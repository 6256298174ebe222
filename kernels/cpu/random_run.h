/* Runs of neighbouring random words: the same as lh_random_word gives, but many Philox blocks side
 * by side in vector registers. */
#ifndef LH_KERNELS_CPU_RANDOM_RUN_H
#define LH_KERNELS_CPU_RANDOM_RUN_H

#include "kernels/cpu/parallel.h"
#include "kernels/random.h"

enum { LH_RANDOM_LANES = 16, LH_RANDOM_GROUP = 4 * LH_RANDOM_LANES };

static inline void lh_random_group(lh_random_key key, uint64_t block, uint32_t *word) {
    uint32_t w0[LH_RANDOM_LANES], w1[LH_RANDOM_LANES], w2[LH_RANDOM_LANES], w3[LH_RANDOM_LANES];
#pragma omp simd
    for (int l = 0; l < LH_RANDOM_LANES; ++l) {
        const lh_random_block drawn = lh_random_words(key, block + (uint64_t)l);
        w0[l] = drawn.word[0];
        w1[l] = drawn.word[1];
        w2[l] = drawn.word[2];
        w3[l] = drawn.word[3];
    }
    for (int l = 0; l < LH_RANDOM_LANES; ++l) {
        word[4 * l] = w0[l];
        word[4 * l + 1] = w1[l];
        word[4 * l + 2] = w2[l];
        word[4 * l + 3] = w3[l];
    }
}

/* Words [first, first + count) of `key`, `first` a multiple of 4. Writes whole groups: `word` has
 * room for `count` rounded up to a multiple of LH_RANDOM_GROUP. */
static inline void lh_random_run(lh_random_key key, uint64_t first, int64_t count, uint32_t *word) {
    for (int64_t i = 0; i < count; i += LH_RANDOM_GROUP)
        lh_random_group(key, (first + (uint64_t)i) >> 2, word + i);
}

#endif
