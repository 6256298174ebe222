/* Adafactor in a few launches: second moments, the update y with its sums of squares, the step size
 * that these make, and the step. All sums run in one fixed order. */
#include "kernels/cuda/warp.cuh"

#define TINY           1e-30 /* eps1: keeps the second moment above zero */
#define SMALLEST_SCALE 1e-3  /* eps2: floor of the parameter's own scale */

enum {
    SUM_BLOCKS = 256, /* of the sums over a whole tensor */
    STRETCH = 64      /* rows of a column that one thread sums */
};

/* Parts of the workspace. */
typedef struct parts {
    real *y;                       /* [count] */
    double *y_squares, *x_squares; /* [SUM_BLOCKS] */
    double *row_mean;              /* [outer] */
    double *stretch;               /* [outer][stretches][columns]: sums of g^2 */
    real *size;                    /* [1] */
} parts;

static int64_t count_of(const lh_adafactor_args *args) {
    return args->outer * args->rows * args->columns;
}

static size_t part(char **at, size_t bytes, void **out) {
    const size_t rounded = (bytes + 63) / 64 * 64;
    if (out != NULL) *out = *at;
    *at += rounded;
    return rounded;
}

/* Lays the parts out from `memory` on; gives how many bytes they take. */
static size_t lay_out(const lh_adafactor_args *args, void *memory, parts *p) {
    char *at = (char *)memory;
    size_t bytes = part(&at, (size_t)count_of(args) * sizeof(real), (void **)&p->y);
    bytes += part(&at, SUM_BLOCKS * sizeof(double), (void **)&p->y_squares);
    bytes += part(&at, SUM_BLOCKS * sizeof(double), (void **)&p->x_squares);
    bytes += part(&at, (size_t)args->outer * sizeof(double), (void **)&p->row_mean);
    const int64_t stretches = args->factored ? lh_chunk_count(args->rows, STRETCH) : 0;
    bytes += part(&at, (size_t)(args->outer * stretches * args->columns) * sizeof(double),
                  (void **)&p->stretch);
    return bytes + part(&at, sizeof(real), (void **)&p->size);
}

size_t lh_cuda_adafactor_workspace(const lh_adafactor_args *args) {
    parts p;
    return lay_out(args, NULL, &p);
}

/* ---- device helpers ---- */

__device__ static inline double beta2_of(const lh_adafactor_args &a) {
    return 1.0 - pow((double)a.step->step + 1.0, -a.decay);
}

__device__ static inline double factor_of(const lh_adafactor_args &a) {
    return a.factor != NULL ? (double)*a.factor : 1.0;
}

/* The sum of every thread's value, in a fixed tree, for thread 0. */
__device__ static inline double block_sum(double value, double *shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (unsigned half = LH_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    return shared[0];
}

/* ---- second moments ---- */

__global__ void __launch_bounds__(LH_THREADS) row_moments(lh_adafactor_args a) {
    LH_SHARED(double, shared, [LH_THREADS]);
    const int64_t rows = a.outer * a.rows;
    for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
        double sum = 0;
        for (int64_t c = threadIdx.x; c < a.columns; c += LH_THREADS) {
            const double g = (double)a.g[r * a.columns + c];
            sum += g * g;
        }
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) {
            const double factor = factor_of(a), beta2 = beta2_of(a);
            const double mean = factor * factor * sum / (double)a.columns + TINY;
            a.row[r] = (real)(beta2 * (double)a.row[r] + (1.0 - beta2) * mean);
        }
        __syncthreads();
    }
}

/* A thread walks a stretch of a column, then one joins a column's stretches. */
static lh_status column_moments(const lh_launch *launch, const lh_adafactor_args *args,
                                double *stretch) {
    const lh_adafactor_args a = *args;
    const int64_t stretches = lh_chunk_count(a.rows, STRETCH);
    LH_CUDA_TRY(lh_each(launch, a.outer * stretches * a.columns, [=] __device__(int64_t i) {
        const int64_t column = i % a.columns, piece = i / a.columns;
        const int64_t first = piece % stretches * STRETCH;
        const int64_t count = lh_min(a.rows - first, STRETCH);
        const real *g = a.g + (piece / stretches * a.rows + first) * a.columns + column;
        double sum = 0;
        for (int64_t r = 0; r < count; ++r)
            sum += (double)g[r * a.columns] * (double)g[r * a.columns];
        stretch[i] = sum;
    }));
    return lh_each(launch, a.outer * a.columns, [=] __device__(int64_t i) {
        const double *piece = stretch + i / a.columns * stretches * a.columns + i % a.columns;
        const double factor = factor_of(a), beta2 = beta2_of(a);
        double sum = 0;
        for (int64_t n = 0; n < stretches; ++n)
            sum += piece[n * a.columns];
        const double mean = factor * factor * sum / (double)a.rows + TINY;
        a.column[i] = (real)(beta2 * (double)a.column[i] + (1.0 - beta2) * mean);
    });
}

__global__ void __launch_bounds__(LH_THREADS) row_means(lh_adafactor_args a, double *mean) {
    LH_SHARED(double, shared, [LH_THREADS]);
    for (int64_t o = blockIdx.x; o < a.outer; o += gridDim.x) {
        double sum = 0;
        for (int64_t r = threadIdx.x; r < a.rows; r += LH_THREADS)
            sum += (double)a.row[o * a.rows + r];
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) mean[o] = sum / (double)a.rows;
        __syncthreads();
    }
}

/* ---- update ---- */

static lh_status make_update(const lh_launch *launch, const lh_adafactor_args *args,
                             const parts *p) {
    const lh_adafactor_args a = *args;
    real *y = p->y;
    const double *mean = p->row_mean;
    if (!a.factored) {
        return lh_each(launch, count_of(args), [=] __device__(int64_t i) {
            const double g = factor_of(a) * (double)a.g[i], beta2 = beta2_of(a);
            const double moment = beta2 * (double)a.v[i] + (1.0 - beta2) * (g * g + TINY);
            a.v[i] = (real)moment;
            y[i] = (real)(g / sqrt(moment));
        });
    }
    return lh_each(launch, count_of(args), [=] __device__(int64_t i) {
        const int64_t row = i / a.columns, outer = row / a.rows;
        const double scale = factor_of(a) / sqrt((double)a.row[row] / mean[outer]);
        const double inverse = 1.0 / sqrt((double)a.column[outer * a.columns + i % a.columns]);
        y[i] = (real)((double)a.g[i] * scale * inverse);
    });
}

__global__ void __launch_bounds__(LH_THREADS)
    sum_of_squares(int64_t count, const real *x, double *out) {
    LH_SHARED(double, shared, [LH_THREADS]);
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * LH_THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * LH_THREADS)
        sum += (double)x[i] * (double)x[i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

/* rate * max(rms(x), 1e-3) / max(1, rms(y) / clip). */
static lh_status make_size(const lh_launch *launch, const lh_adafactor_args *args, const parts *p) {
    const lh_adafactor_args a = *args;
    const parts part = *p;
    const int64_t count = count_of(args);
    LH_CUDA_TRY(LH_LAUNCH(sum_of_squares, SUM_BLOCKS, LH_THREADS, 0, launch, count, part.y,
                          part.y_squares));
    LH_CUDA_TRY(
        LH_LAUNCH(sum_of_squares, SUM_BLOCKS, LH_THREADS, 0, launch, count, a.x, part.x_squares));
    return lh_each_row(launch, 1, [=] __device__(int64_t, int lane) {
        double y_sum = 0, x_sum = 0;
        for (int n = lane; n < SUM_BLOCKS; n += LH_WARP) {
            y_sum += part.y_squares[n];
            x_sum += part.x_squares[n];
        }
        y_sum = lh_warp_sum(y_sum);
        x_sum = lh_warp_sum(x_sum);
        if (lane != 0) return;
        const double y_rms = sqrt(y_sum / (double)count), x_rms = sqrt(x_sum / (double)count);
        const double excess = y_rms / a.clip;
        const double scale = a.parameter_scale ? fmax(x_rms, SMALLEST_SCALE) : 1.0;
        *part.size = (real)(a.step->rate * scale / (excess > 1.0 || isnan(excess) ? excess : 1.0));
    });
}

static lh_status apply(const lh_launch *launch, const lh_adafactor_args *args, const parts *p) {
    const lh_adafactor_args a = *args;
    const parts part = *p;
    const real momentum = (real)a.momentum;
    return lh_each(launch, count_of(args), [=] __device__(int64_t i) {
        real change = *part.size * part.y[i];
        if (momentum > 0) a.m[i] = change = momentum * a.m[i] + (1 - momentum) * change;
        a.x[i] -= change;
    });
}

lh_status lh_cuda_adafactor(const lh_launch *launch, const lh_adafactor_args *args) {
    if (count_of(args) <= 0) return LH_OK;
    parts p;
    (void)lay_out(args, launch->workspace, &p);
    if (args->factored) {
        LH_CUDA_TRY(LH_LAUNCH(row_moments, lh_blocks(args->outer * args->rows, 1), LH_THREADS, 0,
                              launch, *args));
        LH_CUDA_TRY(column_moments(launch, args, p.stretch));
        LH_CUDA_TRY(LH_LAUNCH(row_means, lh_blocks(args->outer, 1), LH_THREADS, 0, launch, *args,
                              p.row_mean));
    }
    LH_CUDA_TRY(make_update(launch, args, &p));
    LH_CUDA_TRY(make_size(launch, args, &p));
    return apply(launch, args, &p);
}
