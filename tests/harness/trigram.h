/* A tiny model and a tiny task, so that the trainer is tested without any paper's model.
 *
 * The model predicts from the last two tokens: hidden_t = E[x_t] A + E[x_(t-1)] B, with dropout.
 * The embedding of a segment's last token is carried, so that a split changes nothing. */
#ifndef LH_TESTS_HARNESS_TRAIN_TRIGRAM_H
#define LH_TESTS_HARNESS_TRAIN_TRIGRAM_H

#include "harness/tasks/batcher.h"
#include "harness/train/session.h"

enum { TRIGRAM_VOCABULARY = 11 };

/* Options: width, dropout. */
extern const lh_model_class trigram_class;

/* Options: segment, batch, across, overlap, past. Seven documents of 2 to 60 tokens with a pattern
 * in them; the last two are the validation split. One token is two bytes, five tokens are a word.
 */
extern const lh_task_class pattern_class;

/* Of the last document, one to validate (lh_document). */
extern double pattern_unspelled;

/* The documents of a split, without the task. */
lh_document_source pattern_source(lh_split split);

/* A session of any model on any task, on the pattern task, or of the trigram on it; the texts are
 * option texts as for lh_options_parse. Gives. */
lh_status any_session(const lh_model_class *model, const char *model_text,
                      const lh_task_class *task, const char *task_text, const char *train,
                      uint64_t seed, lh_session **out);
lh_status pattern_session(const lh_model_class *class, const char *model, const char *task,
                          const char *train, uint64_t seed, lh_session **out);
lh_status trigram_session(const char *model, const char *task, const char *train, uint64_t seed,
                          lh_session **out);
/* On the pattern task, as one of the ranks; of default options. */
lh_status shared_session(const lh_model_class *model, const char *train, lh_communicator *ranks,
                         lh_session **out);

/* The first of two ranks, whose other one adds zeros and agrees to everything. */
lh_communicator first_rank(void);

/* Two sessions' parameters, bit for bit. */
bool same_values(const lh_session *a, const lh_session *b);

#endif
