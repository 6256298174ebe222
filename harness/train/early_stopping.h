/* Early stopping: which evaluation was the best, and how many since have brought nothing better. */
#ifndef LH_TRAIN_EARLY_STOPPING_H
#define LH_TRAIN_EARLY_STOPPING_H

#include <stdbool.h>
#include <stdint.h>

/* The option `keep_best`: whose weights an experiment ends with. */
typedef enum lh_keep_best {
    LH_KEEP_LAST,  /* of the last step; evaluations compare by loss */
    LH_KEEP_LOSS,  /* of the least loss */
    LH_KEEP_METRIC /* from here on: of the best of a metric (lh_train_keep_best_metric) */
} lh_keep_best;

/* How evaluations compare. */
typedef struct lh_keep_rule {
    bool by_metric; /* else by loss */
    bool highest;   /* the highest of the metric is the best, else the least */
} lh_keep_rule;

/* Of a run so far; a part of its checkpoints. */
typedef struct lh_evaluations {
    double least_loss, best_metric;
    int64_t stale; /* the latest, none of which brought anything better */
} lh_evaluations;

/* Before the first evaluation. */
lh_evaluations lh_evaluations_begin(lh_keep_rule rule);

/* Counts an evaluation; NaN is a number that its task lacks, and never better. True when it is the
 * best so far. By a metric, a better loss ends a run of stale evaluations as well: CodeT5's
 * released script stops when neither has improved. */
bool lh_evaluations_add(lh_evaluations *seen, lh_keep_rule rule, double loss, double metric);

#endif
