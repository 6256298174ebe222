/* One training step of a session, and the losses that it leaves on the device. */
#ifndef LH_TRAIN_TRAIN_STEP_H
#define LH_TRAIN_TRAIN_STEP_H

#include "harness/train/session.h"

/* Batch, forward, loss, backward, clip, update, carried state: then the step counts. Allocates
 * nothing once the sizes have been seen. */
lh_status lh_train_step(lh_session *session);

/* Reads the losses that wait on the device into the record. Fails: LH_EINTERNAL naming the step
 * whose loss is not finite. */
lh_status lh_train_flush(lh_session *session);

#endif
