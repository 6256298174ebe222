/* A word and its copy, symbol by symbol. */
#include "datasets/generate/duplication.h"

#include "harness/engine/draw.h"

int64_t lh_duplication_length(const lh_duplication *rules) {
    return 2 * (rules->word + 1);
}

void lh_duplication_write(const lh_duplication *rules, lh_random_key key, int32_t *out) {
    int32_t *copy = out + rules->word + 1;
    out[0] = copy[0] = 0;
    for (int64_t t = 1; t <= rules->word; ++t) {
        out[t] = copy[t] =
            1 + (int32_t)lh_random_below(key, (uint64_t)t, (uint64_t)rules->alphabet);
    }
}
