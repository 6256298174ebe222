/* State-tracking tasks (Fan et al. 2020; Ju et al. 2022, section 4.1): sequences of symbols with a
 * label at the same position, which only who follows every step can tell. Episodes are made when
 * they are read; the same key gives the same episode. */
#ifndef LH_DATASETS_EPISODE_H
#define LH_DATASETS_EPISODE_H

#include "kernels/base.h"

enum { LH_UNLABELLED = -1 };

/* Room for the longest episode, `length` of it in use. Arrays are the caller's. */
typedef struct lh_episode {
    int32_t *tokens, *labels; /* a label is a symbol, or LH_UNLABELLED */
    int64_t length;
} lh_episode;

#endif
