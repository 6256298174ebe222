/* Where an agent stands that turns and moves on a grid. */
#ifndef LH_DATASETS_RANDOM_WALK_H
#define LH_DATASETS_RANDOM_WALK_H

#include "datasets/generate/episode.h"
#include "kernels/random.h"

/* See lh_digest_generated. */
enum { LH_RANDOM_WALK_VERSION = 1 };

/* An agent on a square grid turns or moves; the label is the cell it stands on. Symbols: reset,
 * forward, left, right, then the cells row by row. An episode is a reset, which puts the agent into
 * the first cell facing the last row, and `steps` uniform actions; a move off the grid does
 * nothing. */
typedef struct lh_random_walk {
    int64_t grid, steps;
} lh_random_walk;

/* How many symbols there are, and how long an episode is. */
int64_t lh_random_walk_vocabulary(const lh_random_walk *rules);
int64_t lh_random_walk_longest(const lh_random_walk *rules);
void lh_random_walk_write(const lh_random_walk *rules, lh_random_key key, lh_episode *out);

#endif
