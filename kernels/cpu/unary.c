#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/unary_math.h"

/* Elements per chunk: these loops compute more per element than they move. */
#define UNARY_CHUNK (LH_CHUNK / 4)

lh_status LH_CPU(unary_forward)(const lh_launch *launch, const lh_unary_forward_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    if (!lh_unary_known(args->op)) return LH_EOPTION;
    const int64_t chunks = lh_chunk_count(args->count, UNARY_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(args->count, UNARY_CHUNK, chunk);
        lh_unary_run(args->op, range.end - range.begin, args->x + range.begin,
                     args->y + range.begin);
    }
    return LH_OK;
}

/* What the derivative is made from; dy stands in where it reads nothing. */
static const real *slope_source(const lh_unary_backward_args *args) {
    switch (args->op) {
    case LH_UNARY_IDENTITY:
        return args->dy;
    case LH_UNARY_RELU:
    case LH_UNARY_TANH:
    case LH_UNARY_SIGMOID:
    case LH_UNARY_EXP:
    case LH_UNARY_SQRT:
    case LH_UNARY_RSQRT:
    case LH_UNARY_ELU:
        return args->y;
    case LH_UNARY_GELU:
    case LH_UNARY_GELU_EXACT:
    case LH_UNARY_LOG:
    case LH_UNARY_SQUARE:
        return args->x;
    }
    return args->x;
}

LH_SPECIALIZED void backward_loop(lh_unary_op op, bool add, lh_range range, const real *source,
                                  const real *dy, real *dx) {
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        const real value = dy[i] * lh_unary_slope(op, source[i]);
        dx[i] = add ? dx[i] + value : value;
    }
}

static void backward_range(const lh_unary_backward_args *args, lh_range range, const real *source) {
    const bool add = args->write == LH_ADD;
    switch (args->op) {
#define LH_UNARY_CASE(fixed)                                                                       \
    case fixed:                                                                                    \
        if (add)                                                                                   \
            backward_loop(fixed, true, range, source, args->dy, args->dx);                         \
        else                                                                                       \
            backward_loop(fixed, false, range, source, args->dy, args->dx);                        \
        break;
        LH_UNARY_OPS(LH_UNARY_CASE)
#undef LH_UNARY_CASE
    }
}

lh_status LH_CPU(unary_backward)(const lh_launch *launch, const lh_unary_backward_args *args) {
    (void)launch;
    if (args->dtype != LH_REAL) return LH_EOPTION;
    if (!lh_unary_known(args->op)) return LH_EOPTION;
    const real *source = slope_source(args);
    const int64_t chunks = lh_chunk_count(args->count, UNARY_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
        backward_range(args, lh_chunk(args->count, UNARY_CHUNK, chunk), source);
    return LH_OK;
}
