/* The rule by which an evaluation is the best so far. */
#include "harness/train/early_stopping.h"

#include <math.h>

lh_evaluations lh_evaluations_begin(lh_keep_rule rule) {
    return (lh_evaluations){.least_loss = INFINITY,
                            .best_metric = rule.highest ? -INFINITY : INFINITY};
}

bool lh_evaluations_add(lh_evaluations *seen, lh_keep_rule rule, double loss, double metric) {
    const bool less = isless(loss, seen->least_loss);
    const bool better = rule.by_metric && (rule.highest ? isgreater(metric, seen->best_metric)
                                                        : isless(metric, seen->best_metric));
    if (less) seen->least_loss = loss;
    if (better) seen->best_metric = metric;
    seen->stale = less || better ? 0 : seen->stale + 1;
    return rule.by_metric ? better : less;
}
