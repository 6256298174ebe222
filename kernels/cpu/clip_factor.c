/* The factor that clips gradients to a norm. */
#include <math.h>

#include "kernels/cpu/kernels_cpu.h"

lh_status lh_cpu_clip_factor(const lh_launch *launch, const lh_clip_factor_args *args) {
    (void)launch;
    const double norm = sqrt(args->sum_squares[0]);
    const bool clips = args->max_norm > 0 && !(norm <= args->max_norm);
    args->factor[0] = (real)(clips ? args->max_norm / norm : 1.0);
    return LH_OK;
}
