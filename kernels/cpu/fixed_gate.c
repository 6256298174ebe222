#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/vector_math.h"

lh_status LH_CPU(fixed_gate_forward)(const lh_launch *launch,
                                     const lh_fixed_gate_forward_args *args) {
    (void)launch;
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
            const real *c = args->c + r * width, *z = args->z + r * width;
            real *y = args->y + r * width;
#pragma omp simd
            for (int64_t i = 0; i < width; ++i) {
                const real g = lh_sigmoid(args->bias[i]);
                y[i] = c[i] * g + z[i] * (1 - g);
            }
        }
    }
    return LH_OK;
}

size_t LH_CPU(fixed_gate_backward_workspace)(const lh_fixed_gate_backward_args *args) {
    return args->dbias != NULL ? lh_column_workspace(args->rows, args->width) : 0;
}

/* d(+)= dy * g, or dy * (1 - g) when `rest`. */
LH_SPECIALIZED void scale_row(int64_t width, const real *bias, const real *dy, real *d, bool rest,
                              bool add) {
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
        const real g = lh_sigmoid(bias[i]);
        const real value = dy[i] * (rest ? 1 - g : g);
        d[i] = add ? d[i] + value : value;
    }
}

static void row_backward(const lh_fixed_gate_backward_args *args, int64_t r) {
    const int64_t width = args->width, at = r * width;
    const real *dy = args->dy + at;
    if (args->dc != NULL && args->dc_write == LH_ADD) {
        scale_row(width, args->bias, dy, args->dc + at, false, true);
    } else if (args->dc != NULL) {
        scale_row(width, args->bias, dy, args->dc + at, false, false);
    }
    if (args->dz != NULL && args->dz_write == LH_ADD) {
        scale_row(width, args->bias, dy, args->dz + at, true, true);
    } else if (args->dz != NULL) {
        scale_row(width, args->bias, dy, args->dz + at, true, false);
    }
}

/* dbias = g (1 - g) sum over rows of dy (c - z). */
static void bias_partial(const lh_fixed_gate_backward_args *args, lh_range rows, double *partial) {
    const int64_t width = args->width;
    for (int64_t i = 0; i < width; ++i)
        partial[i] = 0;
    for (int64_t r = rows.begin; r < rows.end; ++r) {
        const real *c = args->c + r * width, *z = args->z + r * width, *dy = args->dy + r * width;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
            partial[i] += (double)dy[i] * ((double)c[i] - (double)z[i]);
        }
    }
    for (int64_t i = 0; i < width; ++i) {
        const double g = (double)lh_sigmoid(args->bias[i]);
        partial[i] *= g * (1.0 - g);
    }
}

lh_status LH_CPU(fixed_gate_backward)(const lh_launch *launch,
                                      const lh_fixed_gate_backward_args *args) {
    const int64_t width = args->width, size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    double *partial = launch->workspace;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        if (args->dbias != NULL) bias_partial(args, rows, partial + chunk * width);
        for (int64_t r = rows.begin; r < rows.end; ++r)
            row_backward(args, r);
    }
    if (args->dbias != NULL) {
        lh_column_join(chunks, width, partial, args->dbias, args->dbias_write);
    }
    return LH_OK;
}
