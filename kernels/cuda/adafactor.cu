/* Adafactor of up to LH_ADAFACTOR_TENSORS tensors in a few launches that each work on all of them:
 * second moments, the updates y with their sums of squares, the step sizes that these make, and the
 * steps. All sums run in one fixed order. */
#include "kernels/cuda/warp.cuh"

#define TINY           1e-30 /* eps1: keeps the second moment above zero */
#define SMALLEST_SCALE 1e-3  /* eps2: floor of the parameter's own scale */

enum {
    CHUNK = 8192, /* elements of a tensor that a block takes */
    STRETCH = 64  /* rows of a column that one thread sums */
};

/* Parts of the workspace that belong to a tensor. */
typedef struct tensor_parts {
    real *y;                       /* [count] */
    double *y_squares, *x_squares; /* [chunks] */
    real *row_factor;              /* [outer][rows] */
    real *column_factor;           /* [outer][columns] */
    double *stretch;               /* [outer][stretches][columns]: sums of g^2 */
    real *size;                    /* [1] */
} tensor_parts;

/* What every launch takes along. */
typedef struct tensor_list {
    lh_adafactor_all_args args;
    tensor_parts part[LH_ADAFACTOR_TENSORS];
} tensor_list;

static int64_t count_of(const lh_adafactor_args &a) {
    return a.outer * a.rows * a.columns;
}

static int64_t chunks_of(const lh_adafactor_args &a) {
    return lh_chunk_count(count_of(a), CHUNK);
}

LH_INLINE int64_t stretches_of(const lh_adafactor_args &a) {
    return lh_chunk_count(a.rows, STRETCH);
}

/* A tensor without elements has no moments to move, even where an axis is left. */
static bool is_factored(const lh_adafactor_args &a) {
    return a.factored && count_of(a) > 0;
}

/* What a launch may work through: items of a tensor. */

typedef int64_t (*item_counter)(const lh_adafactor_args &a);

static int64_t matrices_of(const lh_adafactor_args &a) {
    return is_factored(a) ? a.outer : 0;
}

static int64_t rows_of(const lh_adafactor_args &a) {
    return matrices_of(a) * a.rows;
}

static int64_t columns_of(const lh_adafactor_args &a) {
    return matrices_of(a) * a.columns;
}

static int64_t stretch_sums_of(const lh_adafactor_args &a) {
    return columns_of(a) * stretches_of(a);
}

static int64_t one_if_any(const lh_adafactor_args &a) {
    return count_of(a) > 0 ? 1 : 0;
}

/* Lays a tensor's parts out from *at on; gives how many bytes they take. */
static size_t lay_out(const lh_adafactor_args &a, char **at, tensor_parts *p) {
    size_t bytes = lh_take(at, count_of(a), &p->y);
    bytes += lh_take(at, chunks_of(a), &p->y_squares);
    bytes += lh_take(at, chunks_of(a), &p->x_squares);
    bytes += lh_take(at, rows_of(a), &p->row_factor);
    bytes += lh_take(at, columns_of(a), &p->column_factor);
    bytes += lh_take(at, stretch_sums_of(a), &p->stretch);
    return bytes + lh_take(at, 1, &p->size);
}

size_t lh_cuda_adafactor_all_workspace(const lh_adafactor_all_args *args) {
    tensor_parts p;
    char *at = NULL;
    size_t bytes = 0;
    for (int64_t t = 0; t < args->count; ++t)
        bytes += lay_out(args->tensor[t], &at, &p);
    return bytes;
}

/* ---- one launch for all tensors ---- */

/* Where the items of each tensor begin among those of all. */
typedef struct item_starts {
    int64_t first[LH_ADAFACTOR_TENSORS + 1];
} item_starts;

static item_starts count_items(const tensor_list &list, item_counter items) {
    item_starts starts = {};
    for (int64_t t = 0; t < list.args.count; ++t)
        starts.first[t + 1] = starts.first[t] + items(list.args.tensor[t]);
    return starts;
}

__device__ static inline int tensor_at(const item_starts &starts, int64_t item) {
    int t = 0;
    while (item >= starts.first[t + 1])
        ++t;
    return t;
}

template <typename work>
__global__ void __launch_bounds__(LH_THREADS) each_block(int64_t count, work body) {
    LH_SHARED(double, shared, [LH_THREADS]);
    for (int64_t b = blockIdx.x; b < count; b += gridDim.x) {
        body(b, shared);
        __syncthreads();
    }
}

/* Calls body(args, parts, item), a __device__ lambda, in a thread for each item of a tensor. */
template <typename work>
static lh_status each_item(const lh_launch *launch, const tensor_list &list, item_counter items,
                           work body) {
    const item_starts starts = count_items(list, items);
    return lh_each(launch, starts.first[list.args.count], [=] __device__(int64_t i) {
        const int t = tensor_at(starts, i);
        body(list.args.tensor[t], list.part[t], i - starts.first[t]);
    });
}

/* The same with a block for each item, and a number for each of its threads. */
template <typename work>
static lh_status each_shared(const lh_launch *launch, const tensor_list &list, item_counter items,
                             work body) {
    const item_starts starts = count_items(list, items);
    const int64_t count = starts.first[list.args.count];
    if (count == 0) return LH_OK;
    const auto one = [=] __device__(int64_t i, double *shared) {
        const int t = tensor_at(starts, i);
        body(list.args.tensor[t], list.part[t], i - starts.first[t], shared);
    };
    return LH_LAUNCH((each_block<decltype(one)>), lh_blocks(count, 1), LH_THREADS, 0, launch, count,
                     one);
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

/* The moment that mean squared gradients of `sum` over `count` elements move `before` to. */
__device__ static inline real moved(const lh_adafactor_args &a, real before, double sum,
                                    int64_t count) {
    const double factor = factor_of(a), beta2 = beta2_of(a);
    const double mean = factor * factor * sum / (double)count + TINY;
    return (real)(beta2 * (double)before + (1.0 - beta2) * mean);
}

/* ---- second moments ---- */

static lh_status row_moments(const lh_launch *launch, const tensor_list &list) {
    return each_shared(launch, list, rows_of,
                       [] __device__(const lh_adafactor_args &a, const tensor_parts &, int64_t row,
                                     double *shared) {
                           double sum = 0;
                           for (int64_t c = threadIdx.x; c < a.columns; c += LH_THREADS) {
                               const double g = (double)a.g[row * a.columns + c];
                               sum += g * g;
                           }
                           sum = block_sum(sum, shared);
                           if (threadIdx.x == 0) a.row[row] = moved(a, a.row[row], sum, a.columns);
                       });
}

/* A thread walks a stretch of a column. */
static lh_status sum_stretches(const lh_launch *launch, const tensor_list &list) {
    return each_item(launch, list, stretch_sums_of,
                     [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t i) {
                         const int64_t piece = i / a.columns, stretches = stretches_of(a);
                         const int64_t first = piece % stretches * STRETCH;
                         const int64_t rows = lh_min(a.rows - first, STRETCH);
                         const real *g =
                             a.g + (piece / stretches * a.rows + first) * a.columns + i % a.columns;
                         double sum = 0;
                         for (int64_t r = 0; r < rows; ++r)
                             sum += (double)g[r * a.columns] * (double)g[r * a.columns];
                         p.stretch[i] = sum;
                     });
}

static lh_status column_moments(const lh_launch *launch, const tensor_list &list) {
    LH_CUDA_TRY(sum_stretches(launch, list));
    return each_item(launch, list, columns_of,
                     [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t i) {
                         const int64_t stretches = stretches_of(a);
                         const double *piece =
                             p.stretch + i / a.columns * stretches * a.columns + i % a.columns;
                         double sum = 0;
                         for (int64_t n = 0; n < stretches; ++n)
                             sum += piece[n * a.columns];
                         a.column[i] = moved(a, a.column[i], sum, a.rows);
                         p.column_factor[i] = (real)(1.0 / sqrt((double)a.column[i]));
                     });
}

/* (row moment / mean of its matrix)^-1/2, and what gradients are multiplied by anyway. */
static lh_status row_factors(const lh_launch *launch, const tensor_list &list) {
    return each_shared(launch, list, matrices_of,
                       [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t o,
                                     double *shared) {
                           const real *moment = a.row + o * a.rows;
                           double sum = 0;
                           for (int64_t r = threadIdx.x; r < a.rows; r += LH_THREADS)
                               sum += (double)moment[r];
                           const double mean = block_sum(sum, shared) / (double)a.rows;
                           const double factor = factor_of(a);
                           for (int64_t r = threadIdx.x; r < a.rows; r += LH_THREADS)
                               p.row_factor[o * a.rows + r] =
                                   (real)(factor / sqrt((double)moment[r] / mean));
                       });
}

/* ---- update ---- */

/* Where a chunk begins. Within it numbers are small, so that a division is one of 32 bits. */
typedef struct chunk_place {
    int64_t begin, end;
    int64_t row;              /* of `begin`, over all matrices */
    uint32_t columns, column; /* of `begin` */
    uint32_t rows, row_within;
} chunk_place;

__device__ static inline chunk_place place_of(const lh_adafactor_args &a, int64_t chunk) {
    chunk_place place;
    place.begin = chunk * CHUNK;
    place.end = lh_min(a.outer * a.rows * a.columns, place.begin + CHUNK);
    place.row = place.begin / a.columns;
    place.columns = (uint32_t)a.columns;
    place.column = (uint32_t)(place.begin % a.columns);
    place.rows = (uint32_t)a.rows;
    place.row_within = (uint32_t)(place.row % a.rows);
    return place;
}

/* What the gradient of element begin + `offset` of a factored tensor is multiplied by. */
__device__ static inline real factor_at(const lh_adafactor_args &a, const tensor_parts &p,
                                        const chunk_place &place, uint32_t offset) {
    const uint32_t at = place.column + offset, down = at / place.columns;
    const int64_t matrix = place.row / a.rows + (place.row_within + down) / place.rows;
    return p.row_factor[place.row + down] *
           p.column_factor[matrix * a.columns + at - down * place.columns];
}

/* The update of one that is not, whose second moment moves. */
__device__ static inline real update_of(const lh_adafactor_args &a, double factor, double beta2,
                                        int64_t i) {
    const double g = factor * (double)a.g[i];
    const double moment = beta2 * (double)a.v[i] + (1.0 - beta2) * (g * g + TINY);
    a.v[i] = (real)moment;
    return (real)(g / sqrt(moment));
}

static lh_status make_updates(const lh_launch *launch, const tensor_list &list) {
    return each_shared(
        launch, list, chunks_of,
        [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t chunk,
                      double *shared) {
            const chunk_place place = place_of(a, chunk);
            const double factor = factor_of(a), beta2 = beta2_of(a);
            double y_sum = 0, x_sum = 0;
            for (int64_t i = place.begin + threadIdx.x; i < place.end; i += LH_THREADS) {
                const real y = a.factored
                                   ? a.g[i] * factor_at(a, p, place, (uint32_t)(i - place.begin))
                                   : update_of(a, factor, beta2, i);
                p.y[i] = y;
                y_sum += (double)y * (double)y;
                x_sum += (double)a.x[i] * (double)a.x[i];
            }
            y_sum = block_sum(y_sum, shared);
            if (threadIdx.x == 0) p.y_squares[chunk] = y_sum;
            __syncthreads();
            x_sum = block_sum(x_sum, shared);
            if (threadIdx.x == 0) p.x_squares[chunk] = x_sum;
        });
}

/* rate * max(rms(x), 1e-3) / max(1, rms(y) / clip). */
static lh_status make_sizes(const lh_launch *launch, const tensor_list &list) {
    return each_shared(
        launch, list, one_if_any,
        [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t, double *shared) {
            const int64_t count = a.outer * a.rows * a.columns;
            const int64_t chunks = lh_chunk_count(count, CHUNK);
            double y_sum = 0, x_sum = 0;
            for (int64_t n = threadIdx.x; n < chunks; n += LH_THREADS) {
                y_sum += p.y_squares[n];
                x_sum += p.x_squares[n];
            }
            y_sum = block_sum(y_sum, shared);
            __syncthreads();
            x_sum = block_sum(x_sum, shared);
            if (threadIdx.x != 0) return;
            const double y_rms = sqrt(y_sum / (double)count), x_rms = sqrt(x_sum / (double)count);
            const double excess = y_rms / a.clip;
            const double scale = a.parameter_scale ? fmax(x_rms, SMALLEST_SCALE) : 1.0;
            *p.size = (real)(a.step->rate * scale / (excess > 1.0 || isnan(excess) ? excess : 1.0));
        });
}

static lh_status apply(const lh_launch *launch, const tensor_list &list) {
    return each_shared(
        launch, list, chunks_of,
        [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t chunk, double *) {
            const int64_t end = lh_min(a.outer * a.rows * a.columns, (chunk + 1) * CHUNK);
            const real momentum = (real)a.momentum, size = *p.size;
            for (int64_t i = chunk * CHUNK + threadIdx.x; i < end; i += LH_THREADS) {
                real change = size * p.y[i];
                if (momentum > 0) a.m[i] = change = momentum * a.m[i] + (1 - momentum) * change;
                a.x[i] -= change;
            }
        });
}

/* A chunk's elements, rows and columns are counted in 32 bits. */
static bool fits(const lh_adafactor_args &a) {
    return !a.factored || (a.rows <= INT32_MAX && a.columns <= INT32_MAX);
}

lh_status lh_cuda_adafactor_all(const lh_launch *launch, const lh_adafactor_all_args *args) {
    for (int64_t t = 0; t < args->count; ++t)
        if (!fits(args->tensor[t])) return LH_ESHAPE;
    tensor_list list = {};
    char *at = (char *)launch->workspace;
    list.args = *args;
    for (int64_t t = 0; t < args->count; ++t)
        (void)lay_out(args->tensor[t], &at, &list.part[t]);
    LH_CUDA_TRY(row_moments(launch, list));
    LH_CUDA_TRY(column_moments(launch, list));
    LH_CUDA_TRY(row_factors(launch, list));
    LH_CUDA_TRY(make_updates(launch, list));
    LH_CUDA_TRY(make_sizes(launch, list));
    return apply(launch, list);
}

/* ---- one tensor ---- */

static lh_adafactor_all_args alone(const lh_adafactor_args *args) {
    lh_adafactor_all_args all = {};
    all.count = 1;
    all.tensor[0] = *args;
    return all;
}

size_t lh_cuda_adafactor_workspace(const lh_adafactor_args *args) {
    const lh_adafactor_all_args all = alone(args);
    return lh_cuda_adafactor_all_workspace(&all);
}

lh_status lh_cuda_adafactor(const lh_launch *launch, const lh_adafactor_args *args) {
    const lh_adafactor_all_args all = alone(args);
    return lh_cuda_adafactor_all(launch, &all);
}
