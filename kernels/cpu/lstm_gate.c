#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

lh_status LH_CPU(lstm_gate_forward)(const lh_launch *launch,
                                    const lh_lstm_gate_forward_args *args) {
    (void)launch;
    const int64_t count = args->rows * args->width;
    const int64_t chunks = lh_chunk_count(count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, LH_CHUNK, chunk);
#pragma omp simd
        for (int64_t e = range.begin; e < range.end; ++e) {
            args->y[e] = args->c[e] * lh_sigmoid(args->f[e] + args->forget_offset) +
                         args->z[e] * lh_sigmoid(args->i[e] + args->input_offset);
        }
    }
    return LH_OK;
}

/* d (+)= dy * factor * slope(pre): the gate's value for c and z, its derivative times the operand
 * for f and i. */
LH_SPECIALIZED void value_part(lh_range range, const real *dy, const real *pre, real offset,
                               real *d, bool add) {
#pragma omp simd
    for (int64_t e = range.begin; e < range.end; ++e) {
        const real value = dy[e] * lh_sigmoid(pre[e] + offset);
        d[e] = add ? d[e] + value : value;
    }
}

LH_SPECIALIZED void slope_part(lh_range range, const real *dy, const real *operand, const real *pre,
                               real offset, real *d, bool add) {
#pragma omp simd
    for (int64_t e = range.begin; e < range.end; ++e) {
        const real s = lh_sigmoid(pre[e] + offset);
        const real value = dy[e] * operand[e] * s * (1 - s);
        d[e] = add ? d[e] + value : value;
    }
}

static void values(lh_range range, const real *dy, const real *pre, real offset, real *d,
                   lh_write write) {
    if (d == NULL) return;
    if (write == LH_ADD) {
        value_part(range, dy, pre, offset, d, true);
    } else {
        value_part(range, dy, pre, offset, d, false);
    }
}

static void slopes(lh_range range, const real *dy, const real *operand, const real *pre,
                   real offset, real *d, lh_write write) {
    if (d == NULL) return;
    if (write == LH_ADD) {
        slope_part(range, dy, operand, pre, offset, d, true);
    } else {
        slope_part(range, dy, operand, pre, offset, d, false);
    }
}

lh_status LH_CPU(lstm_gate_backward)(const lh_launch *launch, const lh_lstm_gate_backward_args *a) {
    (void)launch;
    const int64_t count = a->rows * a->width;
    const int64_t chunks = lh_chunk_count(count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, LH_CHUNK, chunk);
        values(range, a->dy, a->f, a->forget_offset, a->dc, a->dc_write);
        values(range, a->dy, a->i, a->input_offset, a->dz, a->dz_write);
        slopes(range, a->dy, a->c, a->f, a->forget_offset, a->df, a->df_write);
        slopes(range, a->dy, a->z, a->i, a->input_offset, a->di, a->di_write);
    }
    return LH_OK;
}
