/* The fixed gate: a gate belongs to a column, so it is made once for many rows. */
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/vector_math.h"

/* Columns whose gates are made once and then used for all rows of a chunk. */
enum { PANEL = 256 };

static void make_gates(const real *bias, lh_range columns, real *gate) {
    const int64_t count = columns.end - columns.begin;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
        gate[i] = lh_sigmoid(bias[columns.begin + i]);
}

static void forward_panel(const lh_fixed_gate_forward_args *args, lh_range rows, lh_range columns) {
    real gate[PANEL];
    const int64_t count = columns.end - columns.begin;
    make_gates(args->bias, columns, gate);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const int64_t at = r * args->width + columns.begin;
        const real *c = args->c + at, *z = args->z + at;
        real *y = args->y + at;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
            y[i] = c[i] * gate[i] + z[i] * (1 - gate[i]);
    }
}

lh_status lh_cpu_fixed_gate_forward(const lh_launch *launch,
                                    const lh_fixed_gate_forward_args *args) {
    (void)launch;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    const int64_t panels = lh_chunk_count(width, PANEL);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        for (int64_t panel = 0; panel < panels; ++panel)
            forward_panel(args, lh_chunk(args->rows, size, chunk), lh_chunk(width, PANEL, panel));
    }
    return LH_OK;
}

size_t lh_cpu_fixed_gate_backward_workspace(const lh_fixed_gate_backward_args *args) {
    return args->dbias != NULL ? lh_column_workspace(args->rows, args->width) : 0;
}

/* d (+)= dy * gate, or dy * (1 - gate) when `rest`. */
LH_SPECIALIZED void scale_row(int64_t count, const real *gate, const real *dy, real *d, bool rest,
                              bool add) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
        const real value = dy[i] * (rest ? 1 - gate[i] : gate[i]);
        d[i] = add ? d[i] + value : value;
    }
}

static void row_backward(const lh_fixed_gate_backward_args *args, int64_t at, int64_t count,
                         const real *gate) {
    const real *dy = args->dy + at;
    if (args->dc != NULL && args->dc_write == LH_ADD) {
        scale_row(count, gate, dy, args->dc + at, false, true);
    } else if (args->dc != NULL) {
        scale_row(count, gate, dy, args->dc + at, false, false);
    }
    if (args->dz != NULL && args->dz_write == LH_ADD) {
        scale_row(count, gate, dy, args->dz + at, true, true);
    } else if (args->dz != NULL) {
        scale_row(count, gate, dy, args->dz + at, true, false);
    }
}

static void backward_panel(const lh_fixed_gate_backward_args *args, lh_range rows, lh_range columns,
                           double *partial) {
    real gate[PANEL];
    double sum[PANEL] = {0};
    const int64_t count = columns.end - columns.begin;
    make_gates(args->bias, columns, gate);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const int64_t at = r * args->width + columns.begin;
        const real *c = args->c + at, *z = args->z + at, *dy = args->dy + at;
        row_backward(args, at, count, gate);
        if (partial == NULL) continue;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i)
            sum[i] += (double)dy[i] * ((double)c[i] - (double)z[i]);
    }
    /* dbias = g (1 - g) sum over rows of dy (c - z). */
    for (int64_t i = 0; i < count && partial != NULL; ++i)
        partial[columns.begin + i] = sum[i] * (double)gate[i] * (1.0 - (double)gate[i]);
}

lh_status lh_cpu_fixed_gate_backward(const lh_launch *launch,
                                     const lh_fixed_gate_backward_args *args) {
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    const int64_t panels = lh_chunk_count(width, PANEL);
    double *partial = launch->workspace;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        for (int64_t panel = 0; panel < panels; ++panel)
            backward_panel(args, lh_chunk(args->rows, size, chunk), lh_chunk(width, PANEL, panel),
                           args->dbias != NULL ? partial + chunk * width : NULL);
    }
    if (args->dbias != NULL) {
        lh_column_join(chunks, width, partial, args->dbias, args->dbias_write);
    }
    return LH_OK;
}
