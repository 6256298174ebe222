/* Median and quartiles of what was measured. */
#ifndef LH_ENGINE_QUANTILE_H
#define LH_ENGINE_QUANTILE_H

typedef struct lh_quartiles {
    double q1, median, q3;
} lh_quartiles;

/* Of `count` > 0 values, which it sorts; interpolated between neighbours (type 7 of Hyndman and Fan
 * 1996, as R and NumPy have it by default). */
lh_quartiles lh_quartiles_of(double *values, int count);

#endif
