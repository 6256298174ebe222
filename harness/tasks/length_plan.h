/* Batches of items of about the same length: lengths are padded to 8, 16, 32 ... and a batch holds
 * as many items as its tokens allow, so that shapes are few and padding is less than half. */
#ifndef LH_TASKS_LENGTH_PLAN_H
#define LH_TASKS_LENGTH_PLAN_H

#include "harness/engine/error.h"
#include "kernels/random.h"

typedef struct lh_length_plan lh_length_plan;

/* One batch: `count` items by their numbers, at most `rows`, which is the same for a length. */
typedef struct lh_length_batch {
    const int32_t *items;
    int64_t count, rows, length;
} lh_length_batch;

/* lengths [count] is copied. Rows are batch_tokens / length, at least 1. Gives; destroy it. Fails:
 * LH_EFORMAT when there are no items. */
lh_status lh_length_plan_create(const int32_t *lengths, int64_t count, int64_t batch_tokens,
                                lh_length_plan **out);
void lh_length_plan_destroy(lh_length_plan *plan);

/* The rows of a batch of this padded length. */
int64_t lh_length_rows(int64_t batch_tokens, int64_t padded);
/* The most tokens of a batch. */
int64_t lh_length_plan_tokens(const lh_length_plan *plan);

/* A new order: items and then batches are shuffled by the key. Without it (as after create) items
 * stand in their order, the short ones first. */
void lh_length_plan_shuffle(lh_length_plan *plan, lh_random_key key);

int64_t lh_length_plan_batches(const lh_length_plan *plan);
lh_length_batch lh_length_plan_batch(const lh_length_plan *plan, int64_t index); /* lends */

#endif
