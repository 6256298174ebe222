#include "models/layers/t5_bias.h"

#include <math.h>

/* Of `buckets` the first half are exact, the others logarithmic up to the largest distance. */
static int32_t bucket_of(int64_t distance, int buckets) {
    const int exact = buckets / 2;
    if (distance < exact) return (int32_t)distance;
    const double octave =
        log((double)distance / exact + 1.19e-7) / log((double)LH_T5_MAX_DISTANCE / exact);
    const int bucket = exact + (int)(octave * (buckets - exact));
    return bucket < buckets ? bucket : buckets - 1;
}

int32_t lh_t5_bucket(int64_t distance) {
    return bucket_of(distance, LH_T5_BUCKETS);
}

int32_t lh_t5_bucket_both_ways(int64_t distance) {
    const int half = LH_T5_BUCKETS / 2;
    return distance < 0 ? half + bucket_of(-distance, half) : bucket_of(distance, half);
}
