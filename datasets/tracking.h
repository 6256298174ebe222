/* State-tracking tasks (Fan et al. 2020; Ju et al. 2022, section 4.1): sequences of symbols with a
 * label at the same position, which only who follows every step can tell. Episodes are made when
 * they are read; the same key gives the same episode. */
#ifndef LH_DATASETS_TRACKING_H
#define LH_DATASETS_TRACKING_H

#include "kernels/random.h"

enum { LH_UNLABELLED = -1 };

/* See lh_digest_generated. */
enum { LH_RANDOM_WALK_VERSION = 1, LH_ALGORITHM_VERSION = 1 };

/* Room for the longest episode, `length` of it in use. Arrays are the caller's. */
typedef struct lh_episode {
    int32_t *tokens, *labels; /* a label is a symbol, or LH_UNLABELLED */
    int64_t length;
} lh_episode;

/* An agent on a square grid turns or moves; the label is the cell it stands on. Symbols: reset,
 * forward, left, right, then the cells row by row. An episode is a reset, which puts the agent into
 * the first cell facing the last row, and `steps` uniform actions; a move off the grid does
 * nothing. */
typedef struct lh_random_walk {
    int64_t grid, steps;
} lh_random_walk;

/* Programs over a few variables, by the rules of the released generator; the label is what `print`
 * prints, at the end of its statement. Symbols: the numbers 1 .. largest, then operators, then
 * variables. */
typedef struct lh_algorithm {
    int64_t variables, statements, largest;
} lh_algorithm;

enum { LH_ALGORITHM_VARIABLES = 5 };

int64_t lh_random_walk_vocabulary(const lh_random_walk *rules);
int64_t lh_random_walk_longest(const lh_random_walk *rules);
void lh_random_walk_write(const lh_random_walk *rules, lh_random_key key, lh_episode *out);

int64_t lh_algorithm_vocabulary(const lh_algorithm *rules);
int64_t lh_algorithm_longest(const lh_algorithm *rules);
void lh_algorithm_write(const lh_algorithm *rules, lh_random_key key, lh_episode *out);
/* The text of a symbol, for people. Lends. */
const char *lh_algorithm_symbol(const lh_algorithm *rules, int32_t symbol);

#endif
