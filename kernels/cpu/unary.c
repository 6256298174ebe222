/* Functions of one number and their derivatives, a vectorised loop for each. */
#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/unary_math.h"

/* Elements per chunk: these loops compute more per element than they move. */
#define UNARY_CHUNK (LH_CHUNK / 4)

static void chunk_forward(const void *context, int64_t chunk) {
    const lh_unary_forward_args *args = context;
    const lh_range range = lh_chunk(args->count, UNARY_CHUNK, chunk);
    const int64_t count = range.end - range.begin;
    const void *x = lh_at(args->x, range.begin);
    void *y = lh_at(args->y, range.begin);
    if (args->x.dtype == LH_BF16)
        lh_unary_run(args->op, LH_BF16, count, x, y);
    else
        lh_unary_run(args->op, LH_REAL, count, x, y);
}

lh_status lh_cpu_unary_forward(const lh_launch *launch, const lh_unary_forward_args *args) {
    (void)launch;
    const int64_t chunks = lh_chunk_count(args->count, UNARY_CHUNK);
    lh_each_task(chunks, chunks > 1, chunk_forward, args);
    return LH_OK;
}

/* What the derivative is made from; dy stands in where it reads nothing. */
static lh_act slope_source(const lh_unary_backward_args *args) {
    if (args->op == LH_UNARY_IDENTITY) return args->dy;
    return lh_unary_reads_output(args->op) ? args->y : args->x;
}

LH_SPECIALIZED void backward_loop(lh_unary_op op, bool add, lh_dtype dtype, lh_range range,
                                  const void *source, const void *dy, void *dx) {
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        const real value = lh_load(dtype, dy, i) * lh_unary_slope(op, lh_load(dtype, source, i));
        lh_store(dtype, dx, i, add ? lh_load(dtype, dx, i) + value : value);
    }
}

LH_SPECIALIZED void backward_range(const lh_unary_backward_args *args, lh_dtype dtype,
                                   lh_range range) {
    const bool add = args->write == LH_ADD;
    const void *source = slope_source(args).data, *dy = args->dy.data;
    switch (args->op) {
#define LH_UNARY_CASE(fixed)                                                                       \
    case fixed:                                                                                    \
        if (add)                                                                                   \
            backward_loop(fixed, true, dtype, range, source, dy, args->dx.data);                   \
        else                                                                                       \
            backward_loop(fixed, false, dtype, range, source, dy, args->dx.data);                  \
        break;
        LH_UNARY_OPS(LH_UNARY_CASE)
#undef LH_UNARY_CASE
    }
}

static void chunk_backward(const void *context, int64_t chunk) {
    const lh_unary_backward_args *args = context;
    const lh_range range = lh_chunk(args->count, UNARY_CHUNK, chunk);
    if (args->dy.dtype == LH_BF16)
        backward_range(args, LH_BF16, range);
    else
        backward_range(args, LH_REAL, range);
}

lh_status lh_cpu_unary_backward(const lh_launch *launch, const lh_unary_backward_args *args) {
    (void)launch;
    const int64_t chunks = lh_chunk_count(args->count, UNARY_CHUNK);
    lh_each_task(chunks, chunks > 1, chunk_backward, args);
    return LH_OK;
}
