/* The factor for a gradient from its sum of squares. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(clip_factor)(const void *arguments) {
    const lh_clip_factor_args *args = arguments;
    number *factor = (void *)args->factor;
    const double norm = sqrt(*args->sum_squares);
    const bool within = args->max_norm <= 0 || norm <= args->max_norm;
    *factor = within ? 1 : (number)(args->max_norm / norm);
}
