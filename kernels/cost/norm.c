/* Of norms and the softmax: layer_norm.cu, rms_norm.cu, softmax.cu, unit_norm.cu of kernels/cuda. A
 * warp reads its row several times, from a cache but for the first. */
#include "kernels/cost/cost.h"

enum { OF_ELEMENT = 8 }; /* FLOPs */

/* A pass that reads x and gives y, with `statistics` numbers a row and `parameters` a column. */
static lh_cost pass(lh_act x, lh_act y, int64_t rows, int64_t width, int statistics,
                    int parameters) {
    const double count = (double)(rows * width);
    lh_cost cost = {.flops = OF_ELEMENT * count,
                    .read = lh_cost_bytes(x, count) + parameters * (double)width * LH_COST_REAL,
                    .written = lh_cost_bytes(y, count) + statistics * (double)rows * LH_COST_REAL};
    lh_cost_launch(&cost, rows);
    return cost;
}

/* dx from two tensors of its shape, where it is wanted. */
static void input_gradient(lh_cost *cost, lh_act dy, lh_act dx, lh_write write, int64_t rows,
                           int64_t width, int statistics, int parameters) {
    const double count = (double)(rows * width);
    if (dx.data == NULL) return;
    lh_cost_launch(cost, rows);
    cost->flops += OF_ELEMENT * count;
    cost->read += 2 * lh_cost_bytes(dy, count) +
                  (statistics * (double)rows + parameters * (double)width) * LH_COST_REAL;
    lh_cost_write(cost, lh_cost_bytes(dx, count), write);
}

lh_cost lh_cost_layer_norm_forward(const lh_layer_norm_forward_args *args) {
    return pass(args->x, args->y, args->rows, args->width, 2, args->bias != NULL ? 2 : 1);
}

lh_cost lh_cost_layer_norm_backward(const lh_layer_norm_backward_args *args) {
    const int64_t rows = args->rows, width = args->width;
    const double gradient = lh_cost_bytes(args->dy, (double)(rows * width));
    lh_cost cost = {0};
    lh_cost_column_sums(&cost, rows, width, 2 * gradient + 2.0 * (double)rows * LH_COST_REAL,
                        args->dgain, args->dgain_write);
    lh_cost_column_sums(&cost, rows, width, gradient, args->dbias, args->dbias_write);
    input_gradient(&cost, args->dy, args->dx, args->dx_write, rows, width, 2, 1);
    return cost;
}

lh_cost lh_cost_rms_norm_forward(const lh_rms_norm_forward_args *args) {
    return pass(args->x, args->y, args->rows, args->width, 1, 1);
}

lh_cost lh_cost_rms_norm_backward(const lh_rms_norm_backward_args *args) {
    const int64_t rows = args->rows, width = args->width;
    const double gradient = lh_cost_bytes(args->dy, (double)(rows * width));
    lh_cost cost = {0};
    lh_cost_column_sums(&cost, rows, width, 2 * gradient + (double)rows * LH_COST_REAL, args->dgain,
                        args->dgain_write);
    input_gradient(&cost, args->dy, args->dx, args->dx_write, rows, width, 1, 1);
    return cost;
}

lh_cost lh_cost_unit_norm_forward(const lh_unit_norm_forward_args *args) {
    return pass(args->x, args->y, args->rows, args->width, 1, 0);
}

lh_cost lh_cost_unit_norm_backward(const lh_unit_norm_backward_args *args) {
    lh_cost cost = {0};
    input_gradient(&cost, args->dy, args->dx, args->write, args->rows, args->width, 1, 0);
    return cost;
}

static lh_act reals(const real *data) {
    return (lh_act){.data = (void *)(uintptr_t)data, .dtype = LH_REAL};
}

lh_cost lh_cost_softmax_forward(const lh_softmax_forward_args *args) {
    return pass(reals(args->x), reals(args->y), args->rows, args->width, 0, 0);
}

lh_cost lh_cost_softmax_backward(const lh_softmax_backward_args *args) {
    lh_cost cost = {0};
    input_gradient(&cost, reals(args->dy), reals(args->dx), args->write, args->rows, args->width, 0,
                   0);
    return cost;
}
