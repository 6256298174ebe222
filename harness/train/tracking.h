/* State tracking: predict the label of every symbol that has one (Ju et al. 2022, section 4.1). */
#ifndef LH_TRAIN_TRACKING_H
#define LH_TRAIN_TRACKING_H

#include "harness/train/task.h"

/* The classes "random_walk" and "algorithm". Each batch row reads one endless stream of episodes;
 * nothing is cleared between them, as in the released trainer. */
extern const lh_task_class lh_random_walk_class;
extern const lh_task_class lh_algorithm_class;

#endif
