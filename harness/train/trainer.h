/* The training loop: steps, evaluations, points of the loss curve and checkpoints, to the end of a
 * run or to where somebody stops it. */
#ifndef LH_TRAIN_TRAINER_H
#define LH_TRAIN_TRAINER_H

#include "harness/train/session.h"

/* What an observer sees: every log_every steps, after the last step, and after an evaluation (once
 * when they coincide). Absent numbers are NaN. */
typedef struct lh_progress {
    int64_t step, steps; /* done, planned */
    int64_t tokens;      /* trained on, as tokens_per_second counts them */
    double loss_bits;    /* training loss of the last logged interval, bits per token */
    double mse;          /* the same of a task with target vectors */
    double rate;
    double tokens_per_second;
    double seconds; /* since the run began, over restarts */
    double gradient_norm;
    lh_metrics valid, test; /* after an evaluation, test with evaluate_test; else empty */
    bool is_best; /* that evaluation is better than all before it, by what keep_best names */
} lh_progress;

/* What an observer asks for. */
typedef enum lh_wish {
    LH_GO_ON,
    LH_STOP,   /* end the run cleanly after a checkpoint */
    LH_ABANDON /* end it as its last checkpoint stands: what was to be kept of this point was not */
} lh_wish;

typedef lh_wish (*lh_observer)(void *context, const lh_progress *progress);

/* Trains from where the session stands to the planned number of steps, or to where `patience` ends
 * the run. Of several ranks the first one writes, and what stops one stops all after the same step.
 * Writes a checkpoint to `checkpoint_path` (NULL: none) every checkpoint_every steps, every
 * checkpoint_seconds, and after the last step. Signals (interrupt.h), caught meanwhile, stop the
 * run after its step or evaluation batch with a checkpoint. Fails: LH_EINTERRUPT when ended by a
 * signal or the observer; LH_EINTERNAL naming the step whose loss is not finite (no checkpoint is
 * written then). */
lh_status lh_session_train(lh_session *session, const char *checkpoint_path, lh_observer observer,
                           void *context);

#endif
