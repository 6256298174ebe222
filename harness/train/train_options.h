/* The training options, and what they are bound to. */
#ifndef LH_TRAIN_TRAIN_OPTIONS_H
#define LH_TRAIN_TRAIN_OPTIONS_H

#include "harness/engine/options.h"
#include "harness/train/early_stopping.h"
#include "harness/train/optimizer.h"
#include "harness/train/schedule.h"

/* `steps`, `optimizer`, `rate`, `schedule`, `warmup`, `clip`, `evaluate_every`,
 * `checkpoint_every`, ... */
extern const lh_option_table lh_train_options[];

/* Those that came when runs had been recorded, ended by NULL (lh_options_is_unsaid). */
extern const char *const lh_train_later_options[];

/* The largest log_every: so many losses may wait on the device. */
enum { LH_LOG_LIMIT = 1024 };

/* How a run goes. */
typedef struct lh_train_plan {
    int64_t steps, log_every, evaluate_every, checkpoint_every;
    double checkpoint_seconds;
    lh_keep_best keep_best;
    int64_t patience; /* stale evaluations that end training; 0: none do */
    lh_precision precision;
    bool evaluate_test, swap_parameters;
    int64_t accumulate;        /* parts that the rows of a step are cut into */
    int64_t segments_per_step; /* consecutive batches of a step */
    lh_schedule schedule;
    lh_optimizer_spec optimizer;
} lh_train_plan;

/* Borrows the options, whose values `out` gets. Fails: LH_EOPTION when they do not go together. */
lh_status lh_train_plan_read(const lh_options *options, lh_train_plan *out);

/* The metric that keep_best names; NULL where the loss decides. */
const char *lh_train_keep_best_metric(const lh_train_plan *plan);

/* Whether the option changes what is learned, so that a checkpoint must agree with it. */
bool lh_train_option_is_identity(const lh_train_plan *plan, const char *name);

#endif
