/* Tasks: where data and models meet. A task yields batches and scores predictions. A trainer knows
 * it by this interface alone; which tasks there are stands in harness/tasks/tasks.h. */
#ifndef LH_TRAIN_TASK_H
#define LH_TRAIN_TASK_H

#include "harness/engine/model.h"
#include "harness/engine/split.h"
#include "harness/train/communicator.h"
#include "harness/train/metrics.h"

/* Major: a change that breaks plug-ins, so also a function that goes from an installed header
 * (Makefile, header_files) and a field that moves in a struct of one. Minor: fields appended to
 * lh_task_class. */
#define LH_TASK_ABI_MAJOR 3
#define LH_TASK_ABI_MINOR 1

/* A batch on the host; the session moves it to the device. Arrays are owned by the task and valid
 * until the next call. Optional ones are NULL. Shapes as in lh_batch. */
typedef struct lh_host_batch {
    int64_t rows, length, source_length, target_length; /* target_length: of target_vectors */
    /* source_count NULL: no source has padding. */
    const int32_t *tokens, *source_tokens, *source_count, *target, *starts;
    const real *vectors, *target_vectors, *weights;
    /* i32 [rows][setup.past_length], [rows]: the tokens of the document before this segment, and
     * how many these are; NULL: none came before. What encodes its past reads them. */
    const int32_t *past, *past_count;
    /* Raw text behind the predicted tokens, 0 or NaN when unknown; what of it they do not spell
     * (lh_tokenizer_unspelled). */
    double predicted_bytes, predicted_words, predicted_unspelled;
    int group; /* index into the class' groups; 0 where it names none */
} lh_host_batch;

/* A position in a split that can be saved and restored: a plain array of integers. */
enum { LH_CURSOR_WORDS = 8192 };

/* Whether it is a count that a stream may have reached, from 0: far enough below the largest
 * integer for what is computed of it. A cursor with any other came from a damaged file. */
bool lh_is_count(int64_t word);

/* What a task scores in a way of its own, by a translation, say: a model in training, lent. What is
 * run leaves the training as it was. */
typedef struct lh_scored {
    const lh_model *model;
    lh_pool *pool;
    lh_tape *tape;
    uint64_t seed;
    lh_communicator *ranks; /* all score, each the whole split; NULL: alone */
} lh_scored;

/* Whether predicted_words of all batches of a task are 0, or predicted_bytes, too: a score over
 * them is then refused before there are data. */
typedef enum lh_task_lacks { LH_MAY_HAVE_TEXT, LH_HAS_NO_TEXT, LH_HAS_NO_WORDS } lh_task_lacks;

typedef struct lh_task_class {
    const char *name;               /* "language_model" */
    const char *summary;            /* one line */
    const lh_option_table *options; /* bound to places in the instance; the last one is {0} */
    /* Optional, NULL at the end: names of the kinds of strings that a split may have, as "bin0" and
     * "bin1" for short and longer ones. Each is scored by itself, too: accuracy_<group>. */
    const char *const *groups;
    /* Of the fields that `open` sets for the model those that are never 0, with any value: which
     * models can do the task, before its data is there. */
    lh_model_setup kind;
    size_t instance_size;
    /* Opens the data and tells the model's sizes. The instance is zeroed, but for its options. */
    lh_status (*open)(void *instance, uint64_t seed, lh_model_setup *setup);
    void (*close)(void *instance);
    /* Rows and length of every training batch. */
    void (*shape)(const void *instance, int64_t *rows, int64_t *length);
    /* Training batch at the cursor, which advances; never ends. */
    lh_status (*train_batch)(void *instance, lh_host_batch *out);
    /* Starts a pass over a split; then batches until *out has rows 0. All batches of a pass have
     * the same rows, at most those of training; those of sources, which all begin afresh, may
     * differ, in training as well. */
    lh_status (*evaluate_begin)(void *instance, lh_split split);
    lh_status (*evaluate_batch)(void *instance, lh_host_batch *out);
    /* Position of the training stream. `words` has LH_CURSOR_WORDS; returns how many are used. What
     * no stream has is refused, and changes nothing. */
    int (*cursor_get)(const void *instance, int64_t *words);
    lh_status (*cursor_set)(void *instance, const int64_t *words, int count);
    /* Optional: more metrics after a pass over a split. */
    lh_status (*score)(void *instance, const lh_scored *scored, lh_split split,
                       lh_metrics *metrics);
    /* What the CSV column `data` says. Gives (free()); NULL after LH_EMEMORY. */
    char *(*describe)(const void *instance);
    /* Of the data's content, for the run's identity. */
    uint64_t (*digest)(const void *instance);
    /* Optional: options that the class got when runs had been recorded, ended by NULL
     * (lh_options_is_unsaid). */
    const char *const *later_options;
    /* Optional: what to know of the data before training, in lines, NULL where there is nothing. No
     * part of what is recorded. Gives (free()). */
    lh_status (*remark)(const void *instance, char **out);
    /* Optional: the option that says where the data lie, of which the digest has the content. It is
     * no part of the run that a checkpoint belongs to. */
    const char *place_option;
    /* Raised when a metric or a batch comes to mean something else on the same data: runs of before
     * are stale then. 0 as 1. */
    int version;
    lh_task_lacks lacks;
} lh_task_class;

/* A class with its data open. */
typedef struct lh_task {
    const lh_task_class *class;
    lh_options *options; /* owns the texts and lists in the instance */
    void *instance;
} lh_task;

/* Gives; destroy it. Copies the options. */
lh_status lh_task_create(const lh_task_class *class, const lh_options *options, uint64_t seed,
                         lh_model_setup *setup, lh_task **out);
void lh_task_destroy(lh_task *task);

/* Of its class' functions of that name; a remark may be NULL. Gives both (free()), after a failure
 * neither. */
lh_status lh_task_describe(const lh_task *task, char **data, char **remark);

/* Where the training stream stands, for who reads on and goes back. */
typedef struct lh_task_place {
    int words;
    int64_t cursor[LH_CURSOR_WORDS];
} lh_task_place;

/* Notes where it stands. */
void lh_task_mark(const lh_task *task, lh_task_place *out);
/* Goes back, whether what was done meanwhile failed or not; returns its status, or that of going
 * back. */
lh_status lh_task_return(const lh_task *task, const lh_task_place *place, lh_status done);

#endif
