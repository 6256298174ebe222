/* Regular languages: tell after each letter what may follow, or whether the string so far is in the
 * language (Huang et al. 2023, section 4.2; Bhattamishra et al. 2020). */
#ifndef LH_TRAIN_REGULAR_LANGUAGE_H
#define LH_TRAIN_REGULAR_LANGUAGE_H

#include "harness/train/task.h"

/* The class "regular_language". A batch row is one string, filled up with positions of weight 0;
 * the vocabulary is the two letters, and targets are one yes or no per letter (target_vectors).
 * Training strings are read in one order again and again; the last batch of an epoch may have empty
 * rows. The test split is bin 0, strings as long as those of training, then bin 1, longer ones. */
extern const lh_task_class lh_regular_language_class;

#endif
