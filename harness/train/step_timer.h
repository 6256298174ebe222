/* How long training steps take, and how fast the device multiplies matrices at best. */
#ifndef LH_TRAIN_STEP_TIMER_H
#define LH_TRAIN_STEP_TIMER_H

#include "harness/engine/clock.h"
#include "harness/train/session.h"

/* Step time by the protocol: `warmup` steps each, then `steps` rounds in which every session does
 * one full training step (forward, backward, update) in turn; median and quartiles per session.
 * Trains the models. */
typedef struct lh_step_time {
    double median_ms, q1_ms, q3_ms;
    double tokens_per_step;
    int64_t peak_memory_bytes;        /* of the pool during its steps */
    int64_t workspace_bytes;          /* of kernels, beside it */
    int64_t allocations_after_warmup; /* must be 0 */
    int64_t graphs_after_warmup;      /* that a GPU's driver made anew; slow, unless 0 */
} lh_step_time;

/* Fills out [count], one for each of sessions [count]. Fails: LH_EOPTION without a session or a
 * measured step; what a step fails with. */
lh_status lh_session_time_steps(lh_session *const *sessions, int count, int warmup, int steps,
                                lh_step_time *out);

/* The same by a given clock, which is read before and after every measured step. */
lh_status lh_session_time_steps_by(lh_session *const *sessions, int count, int warmup, int steps,
                                   lh_clock clock, lh_step_time *out);

/* FLOP/s of a large matrix product on the session's device, threads and precision
 * (matrix_rate.h). */
lh_status lh_session_matrix_rate(const lh_session *session, double *out);

#endif
