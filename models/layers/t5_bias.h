/* T5's relative position bias (Raffel et al. 2020, section 2.1): a learned number per head and
 * bucket of distance. Near distances have a bucket each, far ones share buckets that widen
 * logarithmically. */
#ifndef LH_LAYERS_T5_BIAS_H
#define LH_LAYERS_T5_BIAS_H

#include "kernels/base.h"

/* The constants of the released code, unchanged for every window. */
enum { LH_T5_BUCKETS = 32, LH_T5_MAX_DISTANCE = 128 };

/* Bucket of a causal distance >= 0: d below half of the buckets, then
 * 16 + floor(ln(d / 16) / ln(128 / 16) * 16), at most 31. */
int32_t lh_t5_bucket(int64_t distance);

/* Bucket where both directions are seen, of the distance query - key: 16 for each, those of later
 * keys (distance < 0) from 16 on; |d| below 8, then 8 + floor(ln(|d| / 8) / ln(128 / 8) * 8), at
 * most 15. */
int32_t lh_t5_bucket_both_ways(int64_t distance);

#endif
