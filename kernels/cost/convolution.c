/* Of convolutions: kernels/cuda/short_convolution.cu. */
#include "kernels/cost/cost.h"

lh_cost lh_cost_short_convolution_forward(const lh_short_convolution_forward_args *args) {
    const int64_t tokens = args->batch * args->length, count = tokens * args->width;
    const int64_t before = args->batch * (args->kernel - 1) * args->width;
    const int64_t weights = args->width * args->kernel;
    lh_cost cost = {.flops = 2.0 * (double)(count * args->kernel),
                    .read = (double)(count + before + weights) * LH_COST_REAL +
                            lh_cost_reals(args->bias, (double)args->width),
                    .written = (double)count * LH_COST_REAL};
    lh_cost_launch(&cost, count);
    return cost;
}

lh_cost lh_cost_short_convolution_backward(const lh_short_convolution_backward_args *args) {
    const int64_t tokens = args->batch * args->length, count = tokens * args->width;
    const double bytes = (double)count * LH_COST_REAL;
    lh_cost cost = {0};
    lh_cost_column_sums(&cost, tokens, args->width * args->kernel, 2 * bytes, args->dweight,
                        args->dweight_write);
    lh_cost_column_sums(&cost, tokens, args->width, bytes, args->dbias, args->dbias_write);
    if (args->dx == NULL) return cost;
    lh_cost_launch(&cost, count);
    cost.flops += 2.0 * (double)(count * args->kernel);
    cost.read += bytes + (double)(args->width * args->kernel) * LH_COST_REAL;
    lh_cost_write(&cost, bytes, args->dx_write);
    return cost;
}
