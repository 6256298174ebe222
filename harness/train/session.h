/* One training run: a model on a task under training options. How it is trained, evaluated, timed
 * and kept in files is told in trainer.h, evaluate.h, step_timer.h and session_file.h. */
#ifndef LH_TRAIN_SESSION_H
#define LH_TRAIN_SESSION_H

#include "harness/engine/model.h"
#include "harness/train/communicator.h"
#include "harness/train/task.h"

/* Everything is borrowed during create; options are copied. */
typedef struct lh_session_spec {
    const lh_model_class *model;
    const lh_options *model_options;
    const lh_task_class *task;
    const lh_options *task_options;
    const lh_options *train_options;
    uint64_t seed;
    const char *device;     /* "cpu" */
    lh_device *opened;      /* optional, in place of `device`: taken over, whatever comes of it */
    lh_communicator *ranks; /* optional: trains together with these; every rank makes the session */
    /* Says whether the highest of a metric is the best, or fails. Asked where keep_best names one,
     * else not needed. */
    lh_status (*is_highest_best)(void *context, const char *metric, bool *highest);
    void *context;
} lh_session_spec;

typedef struct lh_session lh_session;

/* What hears of an evaluation (evaluate.h) after each of its batches: the tokens that were read so
 * far, of all ranks. */
typedef void (*lh_evaluation_observer)(void *context, lh_split split, int64_t tokens);

/* Opens data, allocates and initialises the model. Gives; destroy it. */
lh_status lh_session_create(const lh_session_spec *spec, lh_session **out);
void lh_session_destroy(lh_session *session);

const lh_model *lh_session_model(const lh_session *session);
const lh_task *lh_session_task(const lh_session *session);
lh_scored lh_session_scored(const lh_session *session); /* its model, lent to a task */
int64_t lh_session_step(const lh_session *session);
double lh_session_seconds(const lh_session *session); /* of training, over restarts */
int64_t lh_session_peak_memory(const lh_session *session);
double lh_session_flops_per_token(const lh_session *session); /* forward, with head */
/* Of all segments of a training step, and all ranks. */
int64_t lh_session_tokens_per_step(const lh_session *session);
uint64_t lh_session_seed(const lh_session *session);
const lh_options *lh_session_train_options(const lh_session *session); /* lends */

#endif
