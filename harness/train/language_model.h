/* Language modelling: predict the next token of documents. */
#ifndef LH_TRAIN_LANGUAGE_MODEL_H
#define LH_TRAIN_LANGUAGE_MODEL_H

#include "harness/train/task.h"

/* The class "language_model". Its options are its own (segment, batch, predict_across, overlap,
 * evaluate_documents, evaluate_batches) followed by those of its corpus. */
extern const lh_task_class lh_language_model_class;

#endif
