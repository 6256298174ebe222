/* Tasks over sequences of one length, read whole and each by itself: duplication and images. */
#ifndef LH_TRAIN_SEQUENCES_H
#define LH_TRAIN_SEQUENCES_H

#include "harness/train/task.h"

extern const lh_task_class lh_duplication_class, lh_imagenet64_class;

#endif
