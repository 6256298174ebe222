/* Quantile q of n sorted values lies at (n - 1) q, between two of them as a rule. */
#include "harness/engine/quantile.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double q) {
    const double place = q * (double)(count - 1);
    const int below = (int)place;
    if (below + 1 >= count) return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

lh_quartiles lh_quartiles_of(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return (lh_quartiles){quantile(values, count, 0.25), quantile(values, count, 0.5),
                          quantile(values, count, 0.75)};
}
