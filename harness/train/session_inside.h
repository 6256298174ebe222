/* What a session is made of: for the files of this folder alone. */
#ifndef LH_TRAIN_SESSION_INSIDE_H
#define LH_TRAIN_SESSION_INSIDE_H

#include "harness/engine/state.h"
#include "harness/engine/swap.h"
#include "harness/train/batch.h"
#include "harness/train/buckets.h"
#include "harness/train/snapshot.h"
#include "harness/train/train_options.h"

/* Some of this rank's rows, which go through the model together (train_step.c). */
typedef struct lh_step_part {
    lh_state *state; /* of these rows, a view; the whole state where there is one part only */
    lh_state *own;   /* in a step of other rows: theirs, until it has ended */
} lh_step_part;

/* A segment of the step: a batch, and the memory that it lies in where the task has gone on. */
typedef struct lh_step_segment {
    lh_host_batch host;
    void *memory; /* NULL: the task's own */
} lh_step_segment;

struct lh_session {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_task *task;
    lh_model *model;      /* its parameters in the pool, or in `host` when they are swapped */
    lh_device *processor; /* with swapping only, like the two below */
    lh_pool *host;
    lh_swap *swap;
    lh_state *state;          /* carried through training */
    lh_step_part *part;       /* [plan.accumulate] */
    lh_step_segment *segment; /* [plan.segments_per_step] */
    lh_optimizer *optimizer;
    lh_options *train_options;
    lh_train_plan plan;
    lh_keep_rule keep_rule;
    lh_model_setup setup;
    int64_t rows, length;   /* of a training batch, of all ranks */
    lh_communicator *ranks; /* NULL: alone */
    lh_share share;         /* of `rows`: what is carried */
    lh_buckets buckets;     /* with ranks only */
    uint64_t seed;
    char *identity; /* lines "name=value": which run a checkpoint belongs to */
    lh_batch batch; /* on the device, reused */

    /* Losses of the latest steps wait on the device until somebody needs them. */
    lh_tensor *pending_loss; /* [log_every] */
    double *pending_weight;  /* [log_every] */
    int64_t pending;

    /* An lh_evaluation_observer (session.h); NULL: nobody listens. */
    void (*evaluation_observer)(void *context, lh_split split, int64_t tokens);
    void *evaluation_context;

    /* Largest memory in use before the peak was last reset, or the run last stopped. */
    int64_t earlier_peak;

    /* step, time, and what has passed since the last point of the loss curve. */
    lh_snapshot_record record;
};

/* Counts the peak of memory anew; the session's own stays. */
void lh_session_reset_peak(struct lh_session *session);

#endif
