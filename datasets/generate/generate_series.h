/* Time series of the embedded generator. */
#ifndef LH_DATASETS_GENERATE_SERIES_H
#define LH_DATASETS_GENERATE_SERIES_H

#include "kernels/base.h"

typedef struct lh_generated_series {
    int64_t rows, channels;
    int64_t step; /* seconds between rows */
} lh_generated_series;

/* Writes values [rows][channels]. The same seed gives the same series; more rows only add to it. */
void lh_generate_series(uint64_t seed, const lh_generated_series *of, double *values);

#endif
