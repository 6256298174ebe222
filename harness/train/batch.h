/* Host batches on the device: tensors are made once and reused while the sizes stay. */
#ifndef LH_TRAIN_BATCH_H
#define LH_TRAIN_BATCH_H

#include "harness/train/communicator.h"
#include "harness/train/task.h"

/* Copies `host` to the tensors of `batch`, which starts zeroed and is released by lh_batch_clear.
 * Arrays that `host` lacks give NULL tensors. */
lh_status lh_batch_upload(lh_pool *pool, const lh_model_setup *setup, const lh_host_batch *host,
                          lh_batch *batch);
void lh_batch_clear(lh_batch *batch);

/* Of `tokens` up to `most` that lie before place `at`, the last ones, to past[0 ..), and zeros
 * behind them up to `most`; how many they are. */
int32_t lh_copy_past(const int32_t *tokens, int64_t at, int64_t most, int32_t *past);

/* An array of a batch from entry `first` on; NULL where there is none. */
static inline const int32_t *lh_integers_from(const int32_t *x, int64_t first) {
    return x != NULL ? x + first : NULL;
}

static inline const real *lh_reals_from(const real *x, int64_t first) {
    return x != NULL ? x + first : NULL;
}

/* Some rows of a batch, of the same arrays. */
lh_host_batch lh_host_batch_rows(const lh_model_setup *setup, const lh_host_batch *host,
                                 lh_share rows);

/* A copy whose arrays stay when the task goes on. Gives *memory (free()), which they lie in. */
lh_status lh_host_batch_copy(const lh_model_setup *setup, const lh_host_batch *host,
                             lh_host_batch *out, void **memory);

/* Sum of the weights: how many positions, or numbers of target vectors, are predicted. */
double lh_host_batch_weight(const lh_model_setup *setup, const lh_host_batch *host);

#endif
