/* One training step, and the losses that it leaves on the device. */
#ifndef LH_TRAIN_TRAINER_H
#define LH_TRAIN_TRAINER_H

#include "harness/train/session.h"

/* Batch, forward, loss, backward, clip, update, carried state: then the step counts. Allocates
 * nothing once the sizes have been seen. */
lh_status lh_trainer_step(lh_session *session);

/* Reads the pending losses into the record. Fails: LH_EINTERNAL naming the step whose loss is not
 * finite. */
lh_status lh_trainer_flush(lh_session *session);

/* Seconds of a clock that only goes forward. */
double lh_clock_seconds(void);

#endif
