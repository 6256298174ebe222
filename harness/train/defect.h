/* Defect detection: does a function in C have a defect? (Devign; Huang et al. 2023, section 4.3) */
#ifndef LH_TRAIN_DEFECT_H
#define LH_TRAIN_DEFECT_H

#include "harness/train/task.h"

extern const lh_task_class lh_defect_class;

#endif
