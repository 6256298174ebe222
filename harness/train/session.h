/* One training run: a model on a task under training options. The Lua library, the command line and
 * the benchmarks all go through this header. */
#ifndef LH_TRAIN_SESSION_H
#define LH_TRAIN_SESSION_H

#include "harness/engine/model.h"
#include "harness/train/communicator.h"
#include "harness/train/metrics.h"
#include "harness/train/task.h"

/* The training options: `steps`, `optimizer`, `rate`, `schedule`, `warmup`, `clip`,
 * `evaluate_every`, `checkpoint_every`, ... */
extern const lh_option_table lh_train_options[];

/* Everything is borrowed during create; options are copied. */
typedef struct lh_session_spec {
    const lh_model_class *model;
    const lh_options *model_options;
    const lh_task_class *task;
    const lh_options *task_options;
    const lh_options *train_options;
    uint64_t seed;
    const char *device;     /* "cpu" */
    lh_communicator *ranks; /* optional: trains together with these; every rank makes the session */
    /* Says whether the highest of a metric is the best, or fails. Asked where keep_best names one,
     * else not needed. */
    lh_status (*is_highest_best)(void *context, const char *metric, bool *highest);
    void *context;
} lh_session_spec;

typedef struct lh_session lh_session;

/* Opens data, allocates and initialises the model. Gives; destroy it. */
lh_status lh_session_create(const lh_session_spec *spec, lh_session **out);
void lh_session_destroy(lh_session *session);

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

/* Return false to stop the run cleanly after a checkpoint (LH_EINTERRUPT). */
typedef bool (*lh_observer)(void *context, const lh_progress *progress);

/* Trains from where the session stands to the planned number of steps, or to where `patience` ends
 * the run. Of several ranks the first
 * one writes, and what stops one stops all after the same step. Writes a checkpoint to
 * `checkpoint_path` (NULL: none) every checkpoint_every steps, every checkpoint_seconds, and after
 * the last step. SIGINT and SIGTERM, caught meanwhile, stop the run after its step or evaluation
 * batch with a checkpoint. Fails: LH_EINTERRUPT when stopped by a signal or the observer;
 * LH_EINTERNAL naming the step whose loss is not finite (no checkpoint is written then). */
lh_status lh_session_train(lh_session *session, const char *checkpoint_path, lh_observer observer,
                           void *context);

/* Whole state, bit for bit: parameters, moments, carried state, data position, step. Atomic write.
 * Of several ranks the first one writes the rows of all, so that any number of ranks goes on. */
lh_status lh_session_save(lh_session *session, const char *path);
/* Fails: LH_EFORMAT when it is damaged or belongs to another run: names the first difference in
 * model, task, data, seed or options. Of the training options log_every, checkpoint_every and
 * checkpoint_seconds may differ, evaluate_every without patience and evaluate_test, and steps where
 * the schedule lacks it. */
lh_status lh_session_restore(lh_session *session, const char *path);

/* Evaluates over whole documents of the split with carried state of its own; training goes on
 * undisturbed afterwards. Sets bits_per_token, perplexity, accuracy, error_percent,
 * predicted_tokens, and bits_per_byte and word_perplexity where the raw size is known; of a task
 * with target vectors mse, mae, zero_mse (of predicting zero) and predicted_values and, where these
 * are answers of yes or no, of whole strings accuracy, error_percent and, of a split with strings
 * of several of the task's groups, accuracy_<group> for each. A signal that stopped training stops
 * it too: LH_EINTERRUPT. Fails: LH_EINTERNAL when a metric is not a number, naming it, split and
 * step; one that is infinite stands. */
lh_status lh_session_evaluate(lh_session *session, lh_split split, lh_metrics *out);

/* Sets *bytes to the most that the pool lends at once in an evaluation of two successive training
 * batches: parameters, carried state, the batch and the activations without a tape; no gradients
 * and nothing of the optimiser. The same bytes at any step of training, which goes on
 * undisturbed. */
lh_status lh_session_inference_memory(lh_session *session, int64_t *bytes);

/* Step time by the protocol: `warmup` steps each, then `steps` rounds in which every session does
 * one full training step (forward, backward, update) in turn; median and quartiles per session.
 * Trains the models. */
typedef struct lh_step_time {
    double median_ms, q1_ms, q3_ms;
    double tokens_per_step;
    int64_t peak_memory_bytes;        /* of the pool during its steps */
    int64_t allocations_after_warmup; /* must be 0 */
} lh_step_time;

lh_status lh_session_time_steps(lh_session *const *sessions, int count, int warmup, int steps,
                                lh_step_time *out);

/* FLOP/s of a large matrix product on the session's device, threads and precision
 * (matrix_rate.h). */
lh_status lh_session_matrix_rate(const lh_session *session, double *out);

const lh_model *lh_session_model(const lh_session *session);
const lh_task *lh_session_task(const lh_session *session);
lh_communicator *lh_session_ranks(const lh_session *session); /* NULL: alone */
int64_t lh_session_step(const lh_session *session);
double lh_session_seconds(const lh_session *session); /* of training, over restarts */
int64_t lh_session_peak_memory(const lh_session *session);
double lh_session_flops_per_token(const lh_session *session); /* forward, with head */
/* partly: parameters that the file lacks keep their values. */
lh_status lh_session_load_weights(lh_session *session, const char *path, bool partly);
/* published: under the names of the files that others publish; LH_EOPTION when there are none. */
lh_status lh_session_save_weights(lh_session *session, const char *path, bool published);

/* What another implementation needs to take the session's next `batches` training steps, into a
 * folder that is there: run.json (options of model and training with all defaults, vocabulary,
 * data), weights.safetensors (as they stand now) and batches.safetensors (F32: tokens, target and
 * weights [batches][rows][length], starts [batches][rows]). The stream of batches then stands where
 * it stood. Fails: LH_ETYPE for a task without a token to predict at every position; LH_EIO. */
lh_status lh_session_export(lh_session *session, const char *folder, int64_t batches);

#endif
