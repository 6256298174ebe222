/* What an evaluation gives: numbers by name. The registry of metrics
 * (harness/run/metrics.lua) says what each name means; one that it lacks is an error
 * there. */
#ifndef LH_TRAIN_METRICS_H
#define LH_TRAIN_METRICS_H

#include "harness/engine/error.h"

enum { LH_METRICS = 64, LH_METRIC_NAME = 48 };

typedef struct lh_metrics {
    int count;
    struct {
        char name[LH_METRIC_NAME]; /* "bits_per_token" */
        double value;
    } entry[LH_METRICS];
} lh_metrics;

/* Adds a number, or replaces the one of that name. Fails: LH_EINTERNAL, naming it, when there are
 * LH_METRICS others or the name has no room. */
lh_status lh_metrics_set(lh_metrics *metrics, const char *name, double value);
double lh_metrics_get(const lh_metrics *metrics, const char *name); /* NaN when absent */

#endif
