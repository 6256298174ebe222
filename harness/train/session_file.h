/* Checkpoints and weight files of a session. */
#ifndef LH_TRAIN_SESSION_FILE_H
#define LH_TRAIN_SESSION_FILE_H

#include "harness/train/session.h"

/* Whole state, bit for bit: parameters, moments, carried state, data position, step. Atomic write.
 * Of several ranks the first one writes the rows of all, so that any number of ranks goes on. */
lh_status lh_session_save(lh_session *session, const char *path);
/* Fails: LH_EFORMAT when it is damaged or belongs to another run: names the first difference in
 * model, task, data, seed or options. Those training options may differ that are no part of a run's
 * identity (lh_train_option_is_identity). */
lh_status lh_session_restore(lh_session *session, const char *path);

/* partly: parameters that the file lacks keep their values. */
lh_status lh_session_load_weights(lh_session *session, const char *path, bool partly);
/* Tensors, and in the file's metadata what they are of: `longhaul.model`, `.model_options`,
 * `.task`,
 * `.task_options`, `.vocabulary` and, where vocabulary_digest is not NULL, that. published: under
 * the names of the files that others publish; LH_EOPTION when there are none. */
lh_status lh_session_save_weights(lh_session *session, const char *path, bool published,
                                  const char *vocabulary_digest);

#endif
