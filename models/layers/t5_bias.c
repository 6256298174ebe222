#include "models/layers/t5_bias.h"

#include <math.h>

int32_t lh_t5_bucket(int64_t distance) {
    const int exact = LH_T5_BUCKETS / 2;
    if (distance < exact) return (int32_t)distance;
    const double octave =
        log((double)distance / exact + 1.19e-7) / log((double)LH_T5_MAX_DISTANCE / exact);
    const int bucket = exact + (int)(octave * (LH_T5_BUCKETS - exact));
    return bucket < LH_T5_BUCKETS ? bucket : LH_T5_BUCKETS - 1;
}
