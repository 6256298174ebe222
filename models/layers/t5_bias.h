/* T5's relative position bias (Raffel et al. 2020, section 2.1): a learned number per head and
 * bucket of distance. Near distances have a bucket each, far ones share buckets that widen
 * logarithmically. */
#ifndef LH_LAYERS_T5_BIAS_H
#define LH_LAYERS_T5_BIAS_H

#include <math.h>

#include "harness/engine/model.h"
#include "harness/ops/ops.h"

/* The constants of the released code, unchanged for every window. */
enum { LH_T5_BUCKETS = 32, LH_T5_MAX_DISTANCE = 128 };

/* Of `buckets` the first half are exact, the others logarithmic up to the largest distance. */
static inline int32_t lh_t5_bucket_among(int64_t distance, int buckets) {
    const int exact = buckets / 2;
    if (distance < exact) return (int32_t)distance;
    const double octave =
        log((double)distance / exact + 1.19e-7) / log((double)LH_T5_MAX_DISTANCE / exact);
    const int bucket = exact + (int)(octave * (buckets - exact));
    return bucket < buckets ? bucket : buckets - 1;
}

/* Bucket of a causal distance >= 0: d below half of the buckets, then
 * 16 + floor(ln(d / 16) / ln(128 / 16) * 16), at most 31. */
static inline int32_t lh_t5_bucket(int64_t distance) {
    return lh_t5_bucket_among(distance, LH_T5_BUCKETS);
}

/* Bucket where both directions are seen, of the distance query - key: 16 for each, those of later
 * keys (distance < 0) from 16 on; |d| below 8, then 8 + floor(ln(|d| / 8) / ln(128 / 8) * 8), at
 * most 15. */
static inline int32_t lh_t5_bucket_both_ways(int64_t distance) {
    const int half = LH_T5_BUCKETS / 2;
    return distance < 0 ? half + lh_t5_bucket_among(-distance, half)
                        : lh_t5_bucket_among(distance, half);
}

#endif
