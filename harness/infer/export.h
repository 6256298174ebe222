/* A training run in files that another implementation can take up. */
#ifndef LH_INFER_EXPORT_H
#define LH_INFER_EXPORT_H

#include "harness/train/session.h"

/* What another implementation needs to take the session's next `batches` training steps, into a
 * folder that is there: run.json (options of model and training with all defaults, vocabulary,
 * data), weights.safetensors (as they stand now) and batches.safetensors (F32: tokens, target and
 * weights [batches][rows][length], starts [batches][rows]). The stream of batches then stands where
 * it stood. Fails: LH_ETYPE for a task without a token to predict at every position; LH_EIO. */
lh_status lh_session_export(lh_session *session, const char *folder, int64_t batches);

#endif
