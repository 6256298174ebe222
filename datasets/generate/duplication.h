/* Words that are said twice (Kitaev et al. 2020, section 2.1). */
#ifndef LH_DATASETS_DUPLICATION_H
#define LH_DATASETS_DUPLICATION_H

#include "kernels/random.h"

/* See lh_digest_generated. */
enum { LH_DUPLICATION_VERSION = 1 };

/* 0w0w, w a word of uniform symbols 1 .. alphabet. */
typedef struct lh_duplication {
    int64_t word, alphabet;
} lh_duplication;

int64_t lh_duplication_length(const lh_duplication *rules); /* 2 (word + 1) */
/* `out` has room for a sequence. The same key gives the same word. */
void lh_duplication_write(const lh_duplication *rules, lh_random_key key, int32_t *out);

#endif
