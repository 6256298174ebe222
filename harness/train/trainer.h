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
typedef double (*lh_clock)(void);
double lh_clock_seconds(void);

/* Of values that get sorted; interpolated between neighbours. At least one. */
typedef struct lh_quartiles {
    double q1, median, q3;
} lh_quartiles;

lh_quartiles lh_quartiles_of(double *values, int count);

/* lh_session_time_steps by a given clock, which is read before and after every measured step. */
lh_status lh_session_time_steps_by(lh_session *const *sessions, int count, int warmup, int steps,
                                   lh_clock clock, lh_step_time *out);

#endif
