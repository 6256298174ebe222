/* A segment through an adapter, on the host and on the device. Which adapter a pair has is found by
 * adapter.h. */
#ifndef LH_TRAIN_ADAPTER_PASS_H
#define LH_TRAIN_ADAPTER_PASS_H

#include "harness/train/task.h"

/* lh_adapter.ways. */
enum {
    /* Vectors stand for tokens: the first rows of the embedding are the input projection, and as
     * many of the head's rows as numbers are predicted, behind those, the output's. */
    LH_ADAPT_VECTORS = 1,
    /* One sequence: the source, a separator in the place of what begins the target, the target. */
    LH_ADAPT_JOIN = 2,
    /* The source alone is read; a class is a row of the head behind those of the vocabulary. */
    LH_ADAPT_CLASSES = 4,
    /* Tokens become vectors by an embedding, whose rows are the head's, too. */
    LH_ADAPT_EMBED = 8,
    /* A window: the source, or one step of zeros, is observed; what is read is known of the steps
     * to predict. */
    LH_ADAPT_WINDOW = 16,
    /* The source is what the document has before the segment. */
    LH_ADAPT_PAST = 32
};

/* Steps that the class reads where the task's segment has `length`. */
int64_t lh_adapter_length(const lh_model *model, int64_t length);

/* lh_adapter.forward. */
lh_status lh_adapter_forward(const lh_model *model, lh_pass *pass, lh_output *out);

/* lh_batch_upload of what the model reads. */
lh_status lh_model_upload(lh_pool *pool, const lh_model *model, const lh_host_batch *host,
                          lh_batch *batch);

/* Of the hidden states of that batch those of the target's places first .. first + count - 1, which
 * in a joined sequence lie behind each row's source. */
lh_status lh_model_pick(lh_tape *tape, const lh_model *model, const lh_host_batch *host,
                        int64_t first, int64_t count, lh_output *out);

#endif
