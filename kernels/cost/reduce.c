/* Of sums and maxima: reduce.cu and maximum.cu of kernels/cuda. */
#include "kernels/cost/cost.h"

enum { COLUMN_STRETCH = 64 };

lh_cost lh_cost_reduce(const lh_reduce_args *args) {
    const int64_t results = args->outer * args->inner;
    const double read = lh_cost_bytes(args->x, (double)(results * args->axis));
    lh_cost cost = {0};
    if (args->op == LH_REDUCE_SUM && args->outer == 1 && args->inner > 1 &&
        args->axis > COLUMN_STRETCH) {
        lh_cost_column_sums(&cost, args->axis, args->inner, read, args->y, args->write);
        return cost;
    }
    cost.read = read;
    cost.flops = (double)(results * args->axis);
    lh_cost_launch(&cost, results);
    lh_cost_write(&cost, (double)results * LH_COST_REAL, args->write);
    return cost;
}

lh_cost lh_cost_maximum_backward(const lh_maximum_backward_args *args) {
    const int64_t results = args->outer * args->inner;
    const double count = (double)(results * args->axis);
    lh_cost cost = {.flops = count, .read = (count + (double)results) * LH_COST_REAL};
    lh_cost_launch(&cost, results);
    lh_cost_write(&cost, count * LH_COST_REAL, args->write);
    return cost;
}
