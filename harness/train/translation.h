/* Translation of parallel text: cross-entropy of the target given the source, and BLEU of beam
 * searched translations of the test split. */
#ifndef LH_TRAIN_TRANSLATION_H
#define LH_TRAIN_TRANSLATION_H

#include "harness/train/task.h"

extern const lh_task_class lh_translation_class;

#endif
