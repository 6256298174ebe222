/* A short list of numbers, searched by name. */
#include "harness/train/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

lh_status lh_metrics_set(lh_metrics *metrics, const char *name, double value) {
    int index = 0;
    while (index < metrics->count && strcmp(metrics->entry[index].name, name) != 0)
        ++index;
    if (index == LH_METRICS)
        return lh_fail(LH_EINTERNAL, "metrics: no room for '%s' beside %d others", name,
                       LH_METRICS);
    if (strlen(name) >= LH_METRIC_NAME)
        return lh_fail(LH_EINTERNAL, "metrics: the name '%s' is longer than %d letters", name,
                       LH_METRIC_NAME - 1);
    (void)snprintf(metrics->entry[index].name, LH_METRIC_NAME, "%s", name);
    metrics->entry[index].value = value;
    if (index == metrics->count) metrics->count += 1;
    return LH_OK;
}

double lh_metrics_get(const lh_metrics *metrics, const char *name) {
    for (int i = 0; i < metrics->count; ++i) {
        if (strcmp(metrics->entry[i].name, name) == 0) return metrics->entry[i].value;
    }
    return nan("");
}
