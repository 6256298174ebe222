/* Documents joined end to end and cut into subsequences of one length, each of which is read by
 * itself (Kitaev et al. 2020, section 5: enwik8 in subsequences of 64K). */
#ifndef LH_TASKS_SUBSEQUENCES_H
#define LH_TASKS_SUBSEQUENCES_H

#include "harness/tasks/batcher.h"

typedef struct lh_subsequences lh_subsequences;

/* Subsequence k predicts `length` tokens from token 1 + k * stride of the joined documents on, and
 * holds the token before them as well; the last ones are shorter. Reads every document once.
 * Borrows the source's context. Gives; destroy it. */
lh_status lh_subsequences_create(const lh_document_source *source, int64_t length, int64_t stride,
                                 lh_subsequences **out);
void lh_subsequences_destroy(lh_subsequences *subsequences);

/* The subsequences as documents; a token has the bytes and words of the mean token of the document
 * it comes from. Lends. */
lh_document_source lh_subsequences_source(lh_subsequences *subsequences);

#endif
