/* Adafactor of one tensor or of several: the update is made in workspace, since its size is needed
 * before it is applied. */
#include <math.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

static const double tiny = 1e-30;          /* eps1: keeps the second moment above zero */
static const double smallest_scale = 1e-3; /* eps2: floor of the parameter's own scale */

/* Workspace: the update y, partial sums of y^2 and x^2 per chunk, and the two factors of y. A chunk
 * is whole rows when factored, else any run of elements. */
typedef struct plan {
    int64_t rows, count; /* outer * rows, and all elements */
    int64_t size, chunks;
    real *y;
    double *y_squares, *x_squares;
    double *row_factor;  /* (row / mean row)^-1/2 per row */
    real *column_factor; /* column^-1/2 */
} plan;

static plan cut(const lh_adafactor_args *args) {
    const int64_t rows = args->outer * args->rows, count = rows * args->columns;
    const int64_t size =
        args->factored ? lh_rows_per_chunk(args->columns) * args->columns : LH_CHUNK;
    return (plan){.rows = rows,
                  .count = count,
                  .size = size,
                  .chunks = count > 0 ? lh_chunk_count(count, size) : 0};
}

/* Bytes of each part, a multiple of the alignment. */
typedef struct part_sizes {
    size_t y, squares, row_factor, column_factor;
} part_sizes;

static size_t aligned(int64_t count, size_t bytes) {
    return lh_round_up((size_t)count * bytes, 64);
}

static part_sizes sizes_of(const lh_adafactor_args *args, const plan *p) {
    return (part_sizes){
        .y = aligned(p->count, sizeof(real)),
        .squares = aligned(p->chunks, sizeof(double)),
        .row_factor = args->factored ? aligned(p->rows, sizeof(double)) : 0,
        .column_factor = args->factored ? aligned(args->outer * args->columns, sizeof(real)) : 0};
}

size_t lh_cpu_adafactor_workspace(const lh_adafactor_args *args) {
    const plan p = cut(args);
    const part_sizes size = sizes_of(args, &p);
    return size.y + 2 * size.squares + size.row_factor + size.column_factor;
}

static plan lay_out(const lh_adafactor_args *args, void *workspace) {
    plan p = cut(args);
    const part_sizes size = sizes_of(args, &p);
    char *at = workspace;
    p.y = (real *)(void *)at;
    p.y_squares = (double *)(void *)(at += size.y);
    p.x_squares = (double *)(void *)(at += size.squares);
    p.row_factor = (double *)(void *)(at += size.squares);
    p.column_factor = (real *)(void *)(at + size.row_factor);
    return p;
}

static real gradient_factor(const lh_adafactor_args *args) {
    return args->factor != NULL ? *args->factor : 1;
}

static double beta2_of(const lh_adafactor_args *args) {
    return 1.0 - pow((double)args->step->step + 1.0, -args->decay);
}

/* ---- second moments ---- */

static void row_moments(const lh_adafactor_args *args, const plan *p, double beta2) {
    const double factor = (double)gradient_factor(args);
#pragma omp parallel for schedule(static) if (p->chunks > 1)
    for (int64_t chunk = 0; chunk < p->chunks; ++chunk) {
        const lh_range range = lh_chunk(p->count, p->size, chunk);
        for (int64_t r = range.begin / args->columns; r < range.end / args->columns; ++r) {
            const real *g = args->g + r * args->columns;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int64_t c = 0; c < args->columns; ++c)
                sum += (double)g[c] * (double)g[c];
            const double mean = factor * factor * sum / (double)args->columns + tiny;
            args->row[r] = (real)(beta2 * (double)args->row[r] + (1.0 - beta2) * mean);
        }
    }
}

enum { PANEL = 64 };

static void column_panel(const lh_adafactor_args *args, const plan *p, double beta2, int64_t o,
                         lh_range columns) {
    const double factor = (double)gradient_factor(args);
    const int64_t width = columns.end - columns.begin;
    double sum[PANEL] = {0};
    for (int64_t r = 0; r < args->rows; ++r) {
        const real *g = args->g + (o * args->rows + r) * args->columns + columns.begin;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c)
            sum[c] += (double)g[c] * (double)g[c];
    }
    real *column = args->column + o * args->columns + columns.begin;
    real *inverse = p->column_factor + o * args->columns + columns.begin;
    for (int64_t c = 0; c < width; ++c) {
        const double mean = factor * factor * sum[c] / (double)args->rows + tiny;
        const double moment = beta2 * (double)column[c] + (1.0 - beta2) * mean;
        column[c] = (real)moment;
        inverse[c] = (real)(1.0 / sqrt(moment));
    }
}

static void column_moments(const lh_adafactor_args *args, const plan *p, double beta2) {
    const int64_t panels = lh_chunk_count(args->columns, PANEL);
#pragma omp parallel for schedule(static) if (p->chunks > 1)
    for (int64_t job = 0; job < args->outer * panels; ++job) {
        column_panel(args, p, beta2, job / panels, lh_chunk(args->columns, PANEL, job % panels));
    }
}

static void row_factors(const lh_adafactor_args *args, const plan *p) {
    for (int64_t o = 0; o < args->outer; ++o) {
        const real *row = args->row + o * args->rows;
        double sum = 0;
        for (int64_t r = 0; r < args->rows; ++r)
            sum += (double)row[r];
        const double mean = sum / (double)args->rows;
        for (int64_t r = 0; r < args->rows; ++r) {
            p->row_factor[o * args->rows + r] = 1.0 / sqrt((double)row[r] / mean);
        }
    }
}

/* ---- update ---- */

static void factored_row(const lh_adafactor_args *args, const plan *p, int64_t r) {
    const real scale = (real)(p->row_factor[r] * (double)gradient_factor(args));
    const real *g = args->g + r * args->columns;
    const real *inverse = p->column_factor + r / args->rows * args->columns;
    real *y = p->y + r * args->columns;
#pragma omp simd
    for (int64_t c = 0; c < args->columns; ++c)
        y[c] = g[c] * scale * inverse[c];
}

static void plain_range(const lh_adafactor_args *args, const plan *p, lh_range range,
                        double beta2) {
    const double factor = (double)gradient_factor(args);
#pragma omp simd
    for (int64_t i = range.begin; i < range.end; ++i) {
        const double g = factor * (double)args->g[i];
        const double moment = beta2 * (double)args->v[i] + (1.0 - beta2) * (g * g + tiny);
        args->v[i] = (real)moment;
        p->y[i] = (real)(g / sqrt(moment));
    }
}

static double squares(int64_t count, const real *x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < count; ++i)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void make_updates(const lh_adafactor_args *args, const plan *p, double beta2) {
#pragma omp parallel for schedule(static) if (p->chunks > 1)
    for (int64_t chunk = 0; chunk < p->chunks; ++chunk) {
        const lh_range range = lh_chunk(p->count, p->size, chunk);
        if (args->factored) {
            for (int64_t r = range.begin / args->columns; r < range.end / args->columns; ++r)
                factored_row(args, p, r);
        } else {
            plain_range(args, p, range, beta2);
        }
        p->y_squares[chunk] = squares(range.end - range.begin, p->y + range.begin);
        p->x_squares[chunk] = squares(range.end - range.begin, args->x + range.begin);
    }
}

/* rate * max(rms(x), 1e-3) / max(1, rms(y) / clip). */
static double step_size(const lh_adafactor_args *args, const plan *p) {
    double y_sum = 0, x_sum = 0;
    for (int64_t chunk = 0; chunk < p->chunks; ++chunk) {
        y_sum += p->y_squares[chunk];
        x_sum += p->x_squares[chunk];
    }
    const double count = (double)p->count;
    const double y_rms = sqrt(y_sum / count), x_rms = sqrt(x_sum / count);
    const double excess = y_rms / args->clip;
    const double scale = args->parameter_scale ? fmax(x_rms, smallest_scale) : 1.0;
    return args->step->rate * scale / (excess > 1.0 || isnan(excess) ? excess : 1.0);
}

static void apply_range(const lh_adafactor_args *args, const plan *p, lh_range range, real size) {
    real *x = args->x, *m = args->m;
    const real momentum = (real)args->momentum;
    if (args->momentum > 0) {
#pragma omp simd
        for (int64_t i = range.begin; i < range.end; ++i) {
            m[i] = momentum * m[i] + (1 - momentum) * (size * p->y[i]);
            x[i] -= m[i];
        }
    } else {
#pragma omp simd
        for (int64_t i = range.begin; i < range.end; ++i)
            x[i] -= size * p->y[i];
    }
}

lh_status lh_cpu_adafactor(const lh_launch *launch, const lh_adafactor_args *args) {
    if (cut(args).count == 0) return LH_OK;
    const plan p = lay_out(args, launch->workspace);
    const double beta2 = beta2_of(args);
    if (args->factored) {
        row_moments(args, &p, beta2);
        column_moments(args, &p, beta2);
        row_factors(args, &p);
    }
    make_updates(args, &p, beta2);
    const real size = (real)step_size(args, &p);
#pragma omp parallel for schedule(static) if (p.chunks > 1)
    for (int64_t chunk = 0; chunk < p.chunks; ++chunk) {
        apply_range(args, &p, lh_chunk(p.count, p.size, chunk), size);
    }
    return LH_OK;
}

size_t lh_cpu_adafactor_all_workspace(const lh_adafactor_all_args *args) {
    size_t most = 0;
    for (int64_t t = 0; t < args->count; ++t) {
        const size_t bytes = lh_cpu_adafactor_workspace(&args->tensor[t]);
        if (bytes > most) most = bytes;
    }
    return most;
}

lh_status lh_cpu_adafactor_all(const lh_launch *launch, const lh_adafactor_all_args *args) {
    lh_status status = LH_OK;
    for (int64_t t = 0; t < args->count && status == LH_OK; ++t)
        status = lh_cpu_adafactor(launch, &args->tensor[t]);
    return status;
}
