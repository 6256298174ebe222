/* Of the loss: kernels/cuda/cross_entropy.cu. */
#include "kernels/cost/cost.h"

enum { LONG_ROW = 2048, OF_ELEMENT = 12 /* FLOPs */ };

/* A long row is read again for its gradient. */
lh_cost lh_cost_cross_entropy(const lh_cross_entropy_args *args) {
    const double rows = (double)args->rows, bytes = rows * (double)args->vocabulary * LH_COST_REAL;
    const bool again = args->gradient && args->vocabulary >= LONG_ROW;
    lh_cost cost = {.flops = OF_ELEMENT * rows * (double)args->vocabulary,
                    .read = (again ? 2 : 1) * bytes + rows * LH_COST_INTEGER +
                            lh_cost_reals(args->weight, rows),
                    .written = rows * LH_COST_REAL + lh_cost_reals(args->correct, rows)};
    lh_cost_launch(&cost, args->rows);
    if (args->gradient)
        cost.written += rows * (double)args->leading *
                        (args->dx.dtype == LH_BF16 ? LH_COST_REAL / 2 : LH_COST_REAL);
    return cost;
}
