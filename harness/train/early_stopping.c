#include "harness/train/early_stopping.h"

#include <math.h>

lh_evaluations lh_evaluations_begin(void) {
    return (lh_evaluations){.least_loss = INFINITY, .highest_accuracy = -INFINITY};
}

bool lh_evaluations_add(lh_evaluations *seen, lh_keep_best by, double loss, double accuracy) {
    const bool less = loss<seen->least_loss, higher = accuracy> seen->highest_accuracy;
    if (less) seen->least_loss = loss;
    if (higher) seen->highest_accuracy = accuracy;
    const bool better = less || (higher && by == LH_KEEP_ACCURACY);
    seen->stale = better ? 0 : seen->stale + 1;
    return by == LH_KEEP_ACCURACY ? higher : less;
}
