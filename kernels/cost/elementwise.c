/* Of what goes element by element: binary.cu, dropout.cu, linear_combination.cu, normal.cu,
 * unary.cu of kernels/cuda. */
#include "kernels/cost/cost.h"

/* FLOPs of a function of a number, of a normal number. */
enum { OF_FUNCTION = 10, OF_NORMAL = 40 };

lh_cost lh_cost_linear_combination(const lh_linear_combination_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = 3 * count,
                    .read = lh_cost_bytes(args->a, count) + lh_cost_bytes(args->b, count)};
    lh_cost_launch(&cost, args->count);
    lh_cost_write(&cost, lh_cost_bytes(args->y, count), args->write);
    return cost;
}

lh_cost lh_cost_binary(const lh_binary_args *args) {
    const int64_t count = args->rows * args->columns;
    const int64_t others = args->spread == LH_SPREAD_ROWS      ? args->columns
                           : args->spread == LH_SPREAD_COLUMNS ? args->rows
                                                               : count;
    lh_cost cost = {.flops = (double)count, .read = (double)(count + others) * LH_COST_REAL};
    lh_cost_launch(&cost, count);
    lh_cost_write(&cost, (double)count * LH_COST_REAL, args->write);
    return cost;
}

lh_cost lh_cost_unary_forward(const lh_unary_forward_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = OF_FUNCTION * count,
                    .read = lh_cost_bytes(args->x, count),
                    .written = lh_cost_bytes(args->y, count)};
    lh_cost_launch(&cost, args->count);
    return cost;
}

/* Of input and output one is read, but for the identity. */
lh_cost lh_cost_unary_backward(const lh_unary_backward_args *args) {
    const double count = (double)args->count, operands = args->op == LH_UNARY_IDENTITY ? 1 : 2;
    lh_cost cost = {.flops = OF_FUNCTION * count,
                    .read = operands * lh_cost_bytes(args->dy, count)};
    lh_cost_launch(&cost, args->count);
    lh_cost_write(&cost, lh_cost_bytes(args->dx, count), args->write);
    return cost;
}

lh_cost lh_cost_dropout(const lh_dropout_args *args) {
    const int64_t all = args->outer * args->length * args->width;
    const double count = (double)all;
    lh_cost cost = {.flops = LH_COST_WORD * count, .read = lh_cost_bytes(args->x, count)};
    lh_cost_launch(&cost, all);
    lh_cost_write(&cost, lh_cost_bytes(args->y, count), args->write);
    return cost;
}

lh_cost lh_cost_normal(const lh_normal_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = OF_NORMAL * count, .written = lh_cost_reals(args->x, count)};
    lh_cost_launch(&cost, args->count);
    return cost;
}
