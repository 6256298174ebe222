/* Of clipping and updates: adafactor.cu, adam.cu, clip_factor.cu, sgd.cu, sum_squares.cu of
 * kernels/cuda. */
#include "kernels/cost/cost.h"

enum { STRETCH_LEAST = 4096, STRETCHES_MOST = 8192 };

lh_cost lh_cost_sum_squares(const lh_sum_squares_args *args) {
    const int64_t even = lh_chunk_count(args->count, STRETCHES_MOST);
    const int64_t stretch = lh_max(even, STRETCH_LEAST);
    const int64_t stretches = lh_chunk_count(args->count, stretch);
    lh_cost cost = {.flops = 2.0 * (double)args->count,
                    .read = (double)args->count * LH_COST_REAL + (double)stretches * LH_COST_DOUBLE,
                    .written = (double)stretches * LH_COST_DOUBLE,
                    .launches = 1};
    lh_cost_launch(&cost, stretches);
    lh_cost_write(&cost, LH_COST_DOUBLE, args->write);
    return cost;
}

lh_cost lh_cost_clip_factor(const lh_clip_factor_args *args) {
    (void)args;
    return (lh_cost){.read = LH_COST_DOUBLE, .written = LH_COST_REAL, .launches = 1};
}

lh_cost lh_cost_sgd(const lh_sgd_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = 6 * count, .read = count * LH_COST_REAL};
    lh_cost_launch(&cost, args->count);
    lh_cost_write(&cost, lh_cost_reals(args->x, count), LH_ADD);
    lh_cost_write(&cost, lh_cost_reals(args->m, count), LH_ADD);
    return cost;
}

lh_cost lh_cost_adam(const lh_adam_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = 20 * count, .read = count * LH_COST_REAL};
    lh_cost_launch(&cost, args->count);
    lh_cost_write(&cost, 3 * count * LH_COST_REAL, LH_ADD);
    return cost;
}

/* Bytes of one tensor: two passes over a gradient that is factored, for rows and for columns; then
 * the update is made of gradient and moments for its size, beside the parameter, and made again to
 * be applied. */
static void tensor_bytes(lh_cost *cost, const lh_adafactor_args *a) {
    const double matrices = (double)a->outer, rows = matrices * (double)a->rows;
    const double count = rows * (double)a->columns, bytes = count * LH_COST_REAL;
    cost->flops += 30 * count;
    if (a->factored) {
        cost->read += 2 * bytes;
        lh_cost_write(cost, 2 * (rows + matrices * (double)a->columns) * LH_COST_REAL, LH_ADD);
    } else {
        lh_cost_write(cost, bytes, LH_ADD);
        cost->read += bytes;
    }
    cost->read += 3 * bytes; /* the gradient twice, and the parameter */
    lh_cost_write(cost, bytes, LH_ADD);
    lh_cost_write(cost, lh_cost_reals(a->m, a->momentum > 0 ? count : 0), LH_ADD);
}

static lh_cost adafactor(const lh_adafactor_args *tensor, int64_t count) {
    int64_t elements = 0, rows = 0, columns = 0, matrices = 0;
    lh_cost cost = {0};
    for (int64_t t = 0; t < count; ++t) {
        const lh_adafactor_args *a = &tensor[t];
        const int64_t size = a->outer * a->rows * a->columns;
        const int64_t factored = a->factored && size > 0 ? a->outer : 0;
        elements += size;
        matrices += factored;
        rows += factored * a->rows;
        columns += factored * a->columns;
        tensor_bytes(&cost, a);
    }
    lh_cost_launch(&cost, rows);
    for (int pass = 0; pass < 2; ++pass) /* stretches of columns, then columns */
        lh_cost_launch(&cost, columns);
    lh_cost_launch(&cost, matrices);
    cost.launches += elements > 0 ? 3 : 0;
    return cost;
}

lh_cost lh_cost_adafactor(const lh_adafactor_args *args) {
    return adafactor(args, 1);
}

lh_cost lh_cost_adafactor_all(const lh_adafactor_all_args *args) {
    return adafactor(args->tensor, args->count);
}
