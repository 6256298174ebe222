/* One step of an LSTM, four gates to a row. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

/* Rows of a chunk: as many as make its gates LH_CHUNK elements. */
static int64_t chunk_rows(int64_t width) {
    return lh_max(1, LH_CHUNK / lh_max(1, 4 * width));
}

static void forward_row(const lh_lstm_cell_forward_args *args, int64_t row) {
    const int64_t width = args->width, at = row * width;
    const real *i = args->gates + 4 * at, *f = i + width, *g = f + width, *o = g + width;
    const real *c = args->c + at;
    real *next = args->next + at, *h = args->h + at;
#pragma omp simd
    for (int64_t e = 0; e < width; ++e) {
        const real kept = lh_sigmoid(f[e]) * c[e] + lh_sigmoid(i[e]) * lh_tanh(g[e]);
        next[e] = kept;
        h[e] = lh_sigmoid(o[e]) * lh_tanh(kept);
    }
}

lh_status lh_cpu_lstm_cell_forward(const lh_launch *launch, const lh_lstm_cell_forward_args *args) {
    (void)launch;
    const int64_t step = chunk_rows(args->width), chunks = lh_chunk_count(args->rows, step);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, step, chunk);
        for (int64_t row = rows.begin; row < rows.end; ++row)
            forward_row(args, row);
    }
    return LH_OK;
}

/* Where a row's gradients go before they are written: width is cut into panels. */
enum { PANEL = 256 };

typedef struct panel {
    real dgates[4][PANEL], dc[PANEL];
} panel;

/* Gradients of elements [begin, begin + count) of a row. */
static void differentiate(const lh_lstm_cell_backward_args *args, int64_t row, int64_t begin,
                          int64_t count, panel *out) {
    static const real zero[PANEL];
    const int64_t width = args->width, at = row * width + begin;
    const real *i = args->gates + 4 * row * width + begin, *f = i + width, *g = f + width;
    const real *o = g + width, *c = args->c + at;
    const real *dnext = args->dnext != NULL ? args->dnext + at : zero;
    const real *dh = args->dh != NULL ? args->dh + at : zero;
    real in[PANEL], forget[PANEL], cell[PANEL], open[PANEL], squashed[PANEL];
    /* apart from what follows, with which the compiler makes no vector code of it */
#pragma omp simd
    for (int64_t e = 0; e < count; ++e) {
        in[e] = lh_sigmoid(i[e]);
        forget[e] = lh_sigmoid(f[e]);
        cell[e] = lh_tanh(g[e]);
        open[e] = lh_sigmoid(o[e]);
        squashed[e] = lh_tanh(forget[e] * c[e] + in[e] * cell[e]);
    }
#pragma omp simd
    for (int64_t e = 0; e < count; ++e) {
        const real dkept = dnext[e] + dh[e] * open[e] * (1 - squashed[e] * squashed[e]);
        out->dc[e] = dkept * forget[e];
        out->dgates[0][e] = dkept * cell[e] * in[e] * (1 - in[e]);
        out->dgates[1][e] = dkept * c[e] * forget[e] * (1 - forget[e]);
        out->dgates[2][e] = dkept * in[e] * (1 - cell[e] * cell[e]);
        out->dgates[3][e] = dh[e] * squashed[e] * open[e] * (1 - open[e]);
    }
}

static void put(int64_t count, const real *x, lh_write write, real *y) {
#pragma omp simd
    for (int64_t e = 0; e < count; ++e)
        y[e] = x[e] + (write == LH_ADD ? y[e] : 0);
}

static void backward_row(const lh_lstm_cell_backward_args *args, int64_t row) {
    const int64_t width = args->width;
    panel gradients;
    for (int64_t begin = 0; begin < width; begin += PANEL) {
        const int64_t count = lh_min(PANEL, width - begin);
        differentiate(args, row, begin, count, &gradients);
        if (args->dc != NULL)
            put(count, gradients.dc, args->dc_write, args->dc + row * width + begin);
        for (int gate = 0; gate < 4 && args->dgates != NULL; ++gate)
            put(count, gradients.dgates[gate], args->dgates_write,
                args->dgates + (4 * row + gate) * width + begin);
    }
}

lh_status lh_cpu_lstm_cell_backward(const lh_launch *launch,
                                    const lh_lstm_cell_backward_args *args) {
    (void)launch;
    const int64_t step = chunk_rows(args->width), chunks = lh_chunk_count(args->rows, step);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, step, chunk);
        for (int64_t row = rows.begin; row < rows.end; ++row)
            backward_row(args, row);
    }
    return LH_OK;
}
