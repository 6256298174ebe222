/* Of moving data: copy.cu, fill.cu, gather.cu, ring_append.cu, select_rows.cu of kernels/cuda. */
#include "kernels/cost/cost.h"

lh_cost lh_cost_fill(const lh_fill_args *args) {
    lh_cost cost = {.written = lh_cost_reals(args->x, (double)args->count)};
    lh_cost_launch(&cost, args->count);
    return cost;
}

/* What is broadcast is read once. */
lh_cost lh_cost_copy(const lh_copy_args *args) {
    int64_t count = 1, sources = 1;
    for (int i = 0; i < args->rank; ++i) {
        count *= args->shape[i];
        sources *= args->x_stride[i] != 0 ? args->shape[i] : 1;
    }
    lh_cost cost = {.read = count > 0 ? lh_cost_bytes(args->x, (double)sources) : 0};
    lh_cost_launch(&cost, count);
    lh_cost_write(&cost, lh_cost_bytes(args->y, (double)count), args->write);
    return cost;
}

lh_cost lh_cost_gather(const lh_gather_args *args) {
    const int64_t count = args->rows * args->width;
    lh_cost cost = {.read = (double)args->rows * LH_COST_INTEGER + (double)count * LH_COST_REAL,
                    .written = lh_cost_bytes(args->y, (double)count)};
    lh_cost_launch(&cost, count);
    return cost;
}

enum { RADIX_BITS = 4 }; /* of a pass of kernels/cuda/radix_sort.cuh */

/* One block sorts the rows by entry: a pass reads numbers and indices and writes numbers. */
lh_cost lh_cost_scatter_add(const lh_scatter_add_args *args) {
    const double rows = (double)args->rows, entries = (double)args->entries;
    lh_cost cost = {0};
    if (args->entries * args->width == 0) return cost;
    int passes = 1;
    while (args->entries >> (passes * RADIX_BITS) > 0)
        ++passes;
    cost.launches = 3;
    cost.serial = passes * rows * 3 * LH_COST_INTEGER;
    cost.flops = rows * (double)args->width;
    cost.read = cost.serial + 2 * entries * LH_COST_INTEGER +
                lh_cost_bytes(args->x, rows * (double)args->width);
    cost.written = 2 * entries * LH_COST_INTEGER;
    lh_cost_write(&cost, lh_cost_reals(args->y, entries * (double)args->width), args->write);
    return cost;
}

lh_cost lh_cost_select_rows_forward(const lh_select_rows_forward_args *args) {
    const int64_t count = args->batch * args->width;
    lh_cost cost = {.read = (double)(count + args->width) * LH_COST_REAL +
                            (double)args->batch * LH_COST_INTEGER,
                    .written = (double)count * LH_COST_REAL};
    lh_cost_launch(&cost, count);
    return cost;
}

lh_cost lh_cost_select_rows_backward(const lh_select_rows_backward_args *args) {
    const double count = (double)(args->batch * args->width);
    lh_cost cost = {.flops = count,
                    .read = count * LH_COST_REAL + (double)args->batch * LH_COST_INTEGER};
    lh_cost_launch(&cost, args->width);
    lh_cost_write(&cost, lh_cost_reals(args->da, (double)args->width), args->da_write);
    lh_cost_write(&cost, lh_cost_reals(args->dx, count), args->dx_write);
    return cost;
}

lh_cost lh_cost_ring_append(const lh_ring_append_args *args) {
    const int64_t tokens = lh_min(args->length, args->capacity);
    const int64_t count = args->batch * tokens * args->width;
    lh_cost cost = {0};
    if (args->capacity == 0) return cost;
    cost.read = (double)count * LH_COST_REAL + (double)args->batch * LH_COST_INTEGER;
    cost.written = (double)count * LH_COST_REAL;
    lh_cost_launch(&cost, count);
    if (!args->advance) return cost;
    lh_cost_launch(&cost, args->batch);
    lh_cost_write(&cost, (double)args->batch * LH_COST_INTEGER, LH_ADD);
    return cost;
}
