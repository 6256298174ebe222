/* Tasks over documents: what their classes share. A task's instance begins with an lh_documents;
 * the functions below then serve in its class as they stand. */
#ifndef LH_TASKS_DOCUMENTS_H
#define LH_TASKS_DOCUMENTS_H

#include "harness/tasks/batcher.h"

typedef struct lh_documents {
    lh_document_source source[LH_SPLITS];
    lh_batcher_spec spec; /* of the training stream; `source` is set by lh_documents_open */
    int64_t evaluate_documents, evaluate_batches; /* of a pass at most; 0: all */
    lh_batcher *train, *pass;                     /* pass: the evaluation under way */
    int64_t pass_batches;                         /* handed out in it */
} lh_documents;

/* Begins the training stream of an instance whose sources, spec and limits are set, and tells the
 * model how long a segment's past is. */
lh_status lh_documents_open(lh_documents *documents, lh_model_setup *setup);
/* Releases what the functions below made; the sources are the task's. */
void lh_documents_close(lh_documents *documents);

/* ---- the functions of lh_task_class; `instance` begins with an lh_documents ---- */

/* What they do, take and fail with stands in lh_task_class (harness/train/task.h). */
void lh_documents_shape(const void *instance, int64_t *rows, int64_t *length);
lh_status lh_documents_train_batch(void *instance, lh_host_batch *out);
lh_status lh_documents_evaluate_begin(void *instance, lh_split split);
lh_status lh_documents_evaluate_batch(void *instance, lh_host_batch *out);
int lh_documents_cursor_get(const void *instance, int64_t *words);
lh_status lh_documents_cursor_set(void *instance, const int64_t *words, int count);

#endif
