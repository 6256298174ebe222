/* The order of an epoch. */
#ifndef LH_TASKS_SHUFFLE_H
#define LH_TASKS_SHUFFLE_H

#include "kernels/random.h"

/* Puts the numbers 0 .. count - 1 into `order` in a random order: Fisher and Yates' shuffle,
 * element i drawing word i of the key. */
void lh_shuffle(lh_random_key key, int32_t *order, int64_t count);

#endif
