/* Initial values that the Block-Recurrent Transformer's code uses (all parameters in f32). */
#ifndef LH_LAYERS_INITIAL_H
#define LH_LAYERS_INITIAL_H

#include <math.h>

#include "harness/engine/params.h"

static inline lh_init lh_init_ones(void) {
    return (lh_init){LH_INIT_CONSTANT, 1.0, 0.0};
}

static inline lh_init lh_init_normal(double deviation) {
    return (lh_init){LH_INIT_NORMAL, 0.0, deviation};
}

/* Truncated normal of variance `variance` / fan_in. */
static inline lh_init lh_init_fan_in(double variance, int64_t fan_in) {
    return (lh_init){LH_INIT_TRUNCATED_NORMAL, 0.0, sqrt(variance / (double)fan_in)};
}

#endif
