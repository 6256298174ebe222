/* The LSTM gate: two gates of each element, between what is kept and what is new. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

lh_status lh_cpu_lstm_gate_forward(const lh_launch *launch, const lh_lstm_gate_forward_args *args) {
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

/* Elements whose gates are made once and then used for both of a gate's gradients. */
enum { PANEL = 256 };

/* d (+)= dy * gate. */
LH_SPECIALIZED void value_part(int64_t count, const real *gate, const real *dy, real *d, bool add) {
#pragma omp simd
    for (int64_t e = 0; e < count; ++e) {
        const real value = dy[e] * gate[e];
        d[e] = add ? d[e] + value : value;
    }
}

/* d (+)= dy * operand * gate * (1 - gate). */
LH_SPECIALIZED void slope_part(int64_t count, const real *gate, const real *dy, const real *operand,
                               real *d, bool add) {
#pragma omp simd
    for (int64_t e = 0; e < count; ++e) {
        const real value = dy[e] * operand[e] * gate[e] * (1 - gate[e]);
        d[e] = add ? d[e] + value : value;
    }
}

/* One of the two gates: what it passes on, and its pre-activation. */
typedef struct side {
    const real *operand, *pre;
    real offset;
    real *doperand, *dpre;
    lh_write doperand_write, dpre_write;
} side;

static void side_backward(const side *s, int64_t at, int64_t count, const real *dy) {
    real gate[PANEL];
#pragma omp simd
    for (int64_t e = 0; e < count; ++e)
        gate[e] = lh_sigmoid(s->pre[at + e] + s->offset);
    if (s->doperand != NULL && s->doperand_write == LH_ADD) {
        value_part(count, gate, dy + at, s->doperand + at, true);
    } else if (s->doperand != NULL) {
        value_part(count, gate, dy + at, s->doperand + at, false);
    }
    if (s->dpre != NULL && s->dpre_write == LH_ADD) {
        slope_part(count, gate, dy + at, s->operand + at, s->dpre + at, true);
    } else if (s->dpre != NULL) {
        slope_part(count, gate, dy + at, s->operand + at, s->dpre + at, false);
    }
}

lh_status lh_cpu_lstm_gate_backward(const lh_launch *launch, const lh_lstm_gate_backward_args *a) {
    (void)launch;
    const side forget = {a->c, a->f, a->forget_offset, a->dc, a->df, a->dc_write, a->df_write};
    const side input = {a->z, a->i, a->input_offset, a->dz, a->di, a->dz_write, a->di_write};
    const int64_t count = a->rows * a->width;
    const int64_t chunks = lh_chunk_count(count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(count, LH_CHUNK, chunk);
        for (int64_t at = range.begin; at < range.end; at += PANEL) {
            const int64_t length = lh_min(PANEL, range.end - at);
            side_backward(&forget, at, length, a->dy);
            side_backward(&input, at, length, a->dy);
        }
    }
    return LH_OK;
}
