/* What small programs print. */
#ifndef LH_DATASETS_ALGORITHM_H
#define LH_DATASETS_ALGORITHM_H

#include "datasets/generate/episode.h"
#include "kernels/random.h"

/* See lh_digest_generated. */
enum { LH_ALGORITHM_VERSION = 1 };

/* Programs over a few variables, by the rules of the released generator; the label is what `print`
 * prints, at the end of its statement. Symbols: the numbers 1 .. largest, then = ++ -- print if < >
 * : ; END, then the variables. */
typedef struct lh_algorithm {
    int64_t variables, statements, largest;
} lh_algorithm;

enum { LH_ALGORITHM_VARIABLES = 5 };

/* How many symbols there are, and how long an episode may get. */
int64_t lh_algorithm_vocabulary(const lh_algorithm *rules);
int64_t lh_algorithm_longest(const lh_algorithm *rules);
void lh_algorithm_write(const lh_algorithm *rules, lh_random_key key, lh_episode *out);

#endif
