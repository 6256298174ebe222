/* What a session has learned, as numbers: passes over a split without a gradient. */
#ifndef LH_TRAIN_EVALUATE_H
#define LH_TRAIN_EVALUATE_H

#include "harness/train/session.h"

/* Evaluates over whole documents of the split with carried state of its own; training goes on
 * undisturbed afterwards. Sets bits_per_token, perplexity, accuracy, error_percent,
 * predicted_tokens, and bits_per_byte and word_perplexity where the raw size is known; of a task
 * with target vectors mse, mae, zero_mse (of predicting zero) and predicted_values and, where these
 * are answers of yes or no, of whole strings accuracy, error_percent and, of a split with strings
 * of several of the task's groups, accuracy_<group> for each. A signal that stopped training stops
 * it too: LH_EINTERRUPT. Fails: LH_EINTERNAL when a metric is not a number, naming it, split and
 * step; one that is infinite stands. */
lh_status lh_session_evaluate(lh_session *session, lh_split split, lh_metrics *out);

/* Reads a split until something of it is to be predicted. Fails as an evaluation would, before
 * anything is trained: LH_EFORMAT where there is nothing. The second for a task without a session.
 */
lh_status lh_session_check_split(const lh_session *session, lh_split split);
lh_status lh_task_check_split(const lh_task *task, const lh_model_setup *setup, lh_split split);

/* What a pass over a split reads: tokens in batches as models see them, and the bytes and words of
 * the raw text behind those that are predicted (lh_host_batch). */
typedef struct lh_split_size {
    int64_t tokens;
    double bytes, words; /* of a split as a whole NaN where its tokens do not spell it */
    double unspelled;    /* lh_tokenizer_unspelled */
} lh_split_size;

/* Reads a split, no longer than so many seconds. */
lh_status lh_task_measure_split(const lh_task *task, lh_split split, double seconds,
                                lh_split_size *out);
lh_status lh_session_measure_split(const lh_session *session, lh_split split, lh_split_size *out);

/* Every evaluation of the session from now on tells `observer`; NULL: nobody. */
void lh_session_watch_evaluations(lh_session *session, lh_evaluation_observer observer,
                                  void *context);

/* Sets *bytes to the most that the pool lends at once in an evaluation of two successive training
 * batches: parameters, carried state, the batch and the activations without a tape; no gradients
 * and nothing of the optimizer. The same bytes at any step of training, which goes on
 * undisturbed. */
lh_status lh_session_inference_memory(lh_session *session, int64_t *bytes);

#endif
