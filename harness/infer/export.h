/* A training run in files that another implementation can take up. */
#ifndef LH_INFER_EXPORT_H
#define LH_INFER_EXPORT_H

#include "harness/train/session.h"

/* What another implementation needs to take the session's next `batches` training steps, into a
 * folder that is there: run.json (options of model, task and training with all defaults,
 * vocabulary, data), weights.safetensors (as they stand now) and batches.safetensors, as F32 what a
 * batch of the task has of: tokens and target [batches][rows][length], starts [batches][rows],
 * source_tokens [batches][rows][the longest source] with source_count [batches][rows], vectors
 * [batches][rows][length][features], target_vectors [batches][rows][steps][features], and weights,
 * of target or target_vectors. The stream of batches then stands where it stood. Fails: LH_EIO. */
lh_status lh_session_export(lh_session *session, const char *folder, int64_t batches);

#endif
