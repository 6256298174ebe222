/* Documents joined end to end and cut into subsequences, each of which is read as a document:
 * segments that are read by themselves (Kitaev et al. 2020, section 5: enwik8 in subsequences of
 * 64K), or one long stream for each row of a batch (Dai et al. 2019). */
#ifndef LH_TASKS_SUBSEQUENCES_H
#define LH_TASKS_SUBSEQUENCES_H

#include "harness/tasks/batcher.h"

typedef struct lh_subsequences lh_subsequences;

/* Reads every document once and keeps the tokens of all. Borrows the source's context. Gives;
 * destroy it. */
lh_status lh_subsequences_create(const lh_document_source *source, lh_subsequences **out);
void lh_subsequences_destroy(lh_subsequences *subsequences);

/* Tokens that the joined documents have after their first. */
int64_t lh_subsequences_predicted(const lh_subsequences *subsequences);

/* The subsequences as documents, from now on: number k predicts `length` tokens from token
 * 1 + k * stride of the joined documents on, and holds the token before them as well; the last
 * ones are shorter. A token has the bytes and words of the mean token of the document it comes
 * from. Lends. */
lh_document_source lh_subsequences_cut(lh_subsequences *subsequences, int64_t length,
                                       int64_t stride);

#endif
