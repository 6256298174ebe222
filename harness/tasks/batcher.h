/* Documents to rows: every batch row reads one document in order, segment by segment, and takes the
 * next one when its document ends. A segment never mixes documents, so a document boundary is
 * always the start of a segment.
 *
 * Training is an endless stream: documents are handed out in a new order every epoch, a function of
 * (seed, epoch). A pass (for evaluation) hands every document out once, in order, and ends. */
#ifndef LH_TASKS_BATCHER_H
#define LH_TASKS_BATCHER_H

#include "datasets/text/document_store.h"
#include "harness/tasks/order.h"
#include "harness/train/task.h"

/* Where documents come from. `get` lends a document until its next call. */
typedef struct lh_document_source {
    void *context;
    lh_status (*get)(void *context, int64_t index, lh_document *out);
    int64_t count; /* LH_WITHOUT_END: a training stream reads each once, in order */
} lh_document_source;

typedef struct lh_batcher_spec {
    lh_document_source source;
    int64_t rows, length; /* length: tokens of a segment */
    /* true: the last position of a segment predicts the first token of the next, so that every
     * token but a document's first is predicted exactly once. false: targets stay inside the
     * segment, as in the code that Hutchins et al. 2022 released, whose first token of
     * every segment is never predicted. */
    bool predict_across;
    /* Tokens of a segment that the document's next segment repeats without predicting them again
     * (Yoshida et al. 2020, section 4.2); needs predict_across. */
    int64_t overlap;
    /* Tokens at a document's beginning, beyond its first, that are read without being predicted; a
     * segment may have no others. */
    int64_t given;
    bool endless; /* training stream, shuffled; otherwise one pass in order */
    uint64_t seed;
} lh_batcher_spec;

typedef struct lh_batcher lh_batcher;

/* Borrows the source's context. Gives; destroy it. Fails: LH_ESHAPE for sizes that cannot work,
 * LH_EFORMAT when an endless stream has nothing to predict. */
lh_status lh_batcher_create(const lh_batcher_spec *spec, lh_batcher **out);
void lh_batcher_destroy(lh_batcher *batcher);

/* The next segment of every row. out->rows is 0 after the end of a pass; a row without a document
 * has weight 0 throughout. predicted_bytes, _words and _unspelled are each document's times the
 * share of its tokens that is predicted here. The past of a segment is as long as a segment.
 * Lends until the next call. */
lh_status lh_batcher_next(lh_batcher *batcher, lh_host_batch *out);

/* Position as integers: epoch, documents handed out in it, then document and token offset of each
 * row; getting tells how many. Setting checks them: LH_EFORMAT. */
int lh_batcher_cursor_get(const lh_batcher *batcher, int64_t *words);
lh_status lh_batcher_cursor_set(lh_batcher *batcher, const int64_t *words, int count);

#endif
