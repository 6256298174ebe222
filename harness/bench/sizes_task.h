/* A task of given sizes and no data: a language model's batches, all of token 0; one batch is a
 * pass over a split. For what a step costs, which depends on the sizes alone. No user sees it. */
#ifndef LH_BENCH_SIZES_TASK_H
#define LH_BENCH_SIZES_TASK_H

#include "harness/train/task.h"

/* Options: vocabulary, segment, batch, source (tokens of an encoder's source; 0: none). */
extern const lh_task_class lh_sizes_task;

#endif
