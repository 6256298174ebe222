/* Philox 4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").
 *
 * A draw is a pure function of (seed, stream, step, op, element), so the CPU, the GPU and every
 * recomputation see the same numbers, and a resumed run draws what an uninterrupted one would. */
#ifndef LH_KERNELS_RANDOM_H
#define LH_KERNELS_RANDOM_H

#include <math.h>

#include "kernels/base.h"

/* What one random op draws from. The trainer advances `step`; the tape numbers the ops. */
typedef struct lh_random_key {
    uint64_t seed;
    uint64_t step;
    uint32_t stream; /* LH_STREAM_...: independent users of one seed */
    uint32_t op;     /* ordinal of the random op within the step */
} lh_random_key;

enum { LH_STREAM_INIT = 1, LH_STREAM_DROPOUT, LH_STREAM_DATA, LH_STREAM_HASH, LH_STREAM_SAMPLE };

typedef struct lh_random_block {
    uint32_t word[4];
} lh_random_block;

LH_INLINE void lh_philox_round(uint32_t c[4], uint32_t k0, uint32_t k1) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
    const uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
    const uint32_t hi0 = (uint32_t)(p0 >> 32), lo0 = (uint32_t)p0;
    const uint32_t hi1 = (uint32_t)(p1 >> 32), lo1 = (uint32_t)p1;
    const uint32_t c1 = c[1], c3 = c[3];
    c[0] = hi1 ^ c1 ^ k0;
    c[1] = lo1;
    c[2] = hi0 ^ c3 ^ k1;
    c[3] = lo0;
}

/* Four uniform 32-bit words for counter `index` under `key`. */
LH_INLINE lh_random_block lh_random_words(lh_random_key key, uint64_t index) {
    lh_random_block out;
    const uint64_t mixed = key.seed ^ ((uint64_t)key.stream * 0x9E3779B97F4A7C15u);
    uint32_t k0 = (uint32_t)mixed, k1 = (uint32_t)(mixed >> 32);
    uint32_t c[4];
    c[0] = (uint32_t)index;
    c[1] = (uint32_t)(index >> 32) ^ (uint32_t)(key.step >> 32);
    c[2] = (uint32_t)key.step;
    c[3] = key.op;
    for (int round = 0; round < 10; ++round) {
        lh_philox_round(c, k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; ++i)
        out.word[i] = c[i];
    return out;
}

/* Element `index` of the stream of words under `key`: four neighbours share one block. */
LH_INLINE uint32_t lh_random_word(lh_random_key key, uint64_t index) {
    return lh_random_words(key, index >> 2).word[index & 3u];
}

/* Elements index .. index + 3 of that stream: one block, or two where index is no multiple of 4. */
LH_INLINE lh_random_block lh_random_four(lh_random_key key, uint64_t index) {
    lh_random_block run = lh_random_words(key, index >> 2);
    const unsigned past = (unsigned)(index & 3u);
    if (past == 0) return run;
    const lh_random_block next = lh_random_words(key, (index >> 2) + 1);
    for (unsigned n = 0; n < 3; ++n) {
        if (n >= past) break;
        run.word[0] = run.word[1];
        run.word[1] = run.word[2];
        run.word[2] = run.word[3];
        run.word[3] = next.word[n];
    }
    return run;
}

/* Uniform in [0, 1) with 24 bits, exact in float. */
LH_INLINE float lh_random_unit(uint32_t word) {
    return (float)(word >> 8) * (1.0f / 16777216.0f);
}

/* Uniform in (0, 1). */
LH_INLINE double lh_random_open_unit(uint32_t word) {
    return ((double)word + 0.5) / 4294967296.0;
}

/* One draw of N(0, 1) by Box and Muller 1958 from words 2 i and 2 i + 1, which share a block. */
LH_INLINE double lh_random_normal(lh_random_key key, uint64_t index) {
    const lh_random_block block = lh_random_words(key, index >> 1);
    const double u = lh_random_open_unit(block.word[2 * (index & 1u)]);
    const double v = lh_random_open_unit(block.word[2 * (index & 1u) + 1]);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Dropout keeps an element when its word reaches this threshold. */
LH_INLINE uint32_t lh_dropout_threshold(double rate) {
    return (uint32_t)(rate * 4294967296.0 > 4294967295.0 ? 4294967295.0 : rate * 4294967296.0);
}

#endif
