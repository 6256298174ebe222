/* Sums, differences, products and quotients, of equal shapes or with one operand spread. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

LH_SPECIALIZED real apply(lh_binary_op op, real a, real b) {
    switch (op) {
    case LH_BINARY_ADD:
        return a + b;
    case LH_BINARY_SUB:
        return a - b;
    case LH_BINARY_MUL:
        return a * b;
    case LH_BINARY_DIV:
        return a / b;
    }
    return a;
}

/* One run of `count` elements; `single` means that b is one number. */
LH_SPECIALIZED void run(lh_binary_op op, bool single, bool add, int64_t count, const real *a,
                        const real *b, real *y) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const real value = apply(op, a[i], single ? b[0] : b[i]);
        y[i] = add ? y[i] + value : value;
    }
}

LH_SPECIALIZED void run_op(lh_binary_op op, bool single, bool add, int64_t count, const real *a,
                           const real *b, real *y) {
    if (single && add)
        run(op, true, true, count, a, b, y);
    else if (single)
        run(op, true, false, count, a, b, y);
    else if (add)
        run(op, false, true, count, a, b, y);
    else
        run(op, false, false, count, a, b, y);
}

static void run_any(const lh_binary_args *args, int64_t count, const real *a, const real *b,
                    real *y) {
    const bool single = args->spread == LH_SPREAD_COLUMNS;
    const bool add = args->write == LH_ADD;
    switch (args->op) {
    case LH_BINARY_ADD:
        run_op(LH_BINARY_ADD, single, add, count, a, b, y);
        break;
    case LH_BINARY_SUB:
        run_op(LH_BINARY_SUB, single, add, count, a, b, y);
        break;
    case LH_BINARY_MUL:
        run_op(LH_BINARY_MUL, single, add, count, a, b, y);
        break;
    case LH_BINARY_DIV:
        run_op(LH_BINARY_DIV, single, add, count, a, b, y);
        break;
    }
}

static void run_flat(const lh_binary_args *args, int64_t count) {
    const int64_t chunks = lh_chunk_count(count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, LH_CHUNK, chunk);
        run_any(args, range.end - range.begin, args->a + range.begin, args->b + range.begin,
                args->y + range.begin);
    }
}

static void run_chunk_of_rows(const void *context, int64_t chunk) {
    const lh_binary_args *args = context;
    const int64_t columns = args->columns;
    const bool per_row = args->spread == LH_SPREAD_COLUMNS;
    const lh_range rows = lh_chunk(args->rows, lh_rows_per_chunk(columns), chunk);
    for (int64_t r = rows.begin; r < rows.end; ++r)
        run_any(args, columns, args->a + r * columns, args->b + (per_row ? r : 0),
                args->y + r * columns);
}

static void run_rows(const lh_binary_args *args) {
    const int64_t chunks = lh_chunk_count(args->rows, lh_rows_per_chunk(args->columns));
    lh_each_task(chunks, chunks > 1, run_chunk_of_rows, args);
}

lh_status lh_cpu_binary(const lh_launch *launch, const lh_binary_args *args) {
    (void)launch;
    if (args->spread == LH_SPREAD_NONE)
        run_flat(args, args->rows * args->columns);
    else
        run_rows(args);
    return LH_OK;
}
