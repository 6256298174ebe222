/* Adafactor of up to LH_ADAFACTOR_TENSORS tensors in a few launches that each work on all of them:
 * second moments, the squares of the updates that they make, the step sizes that these make, and
 * the steps, for which the updates are made once more: a gradient is read as quickly as an update
 * that was kept. All sums run in one fixed order. */
#include "kernels/cuda/row_runs.cuh"

#define TINY           1e-30 /* eps1: keeps the second moment above zero */
#define SMALLEST_SCALE 1e-3  /* eps2: floor of the parameter's own scale */

enum {
    CHUNK = 2048, /* runs of a tensor that a block takes */
    STRETCH = 64  /* rows of a column that one thread sums */
};

/* Parts of the workspace that belong to a tensor. */
typedef struct tensor_parts {
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

LH_INLINE int64_t count_of(const lh_adafactor_args &a) {
    return a.outer * a.rows * a.columns;
}

/* Elements that lie in one row: all of them where the moments have no rows. */
LH_INLINE int64_t width_of(const lh_adafactor_args &a) {
    return a.factored ? a.columns : count_of(a);
}

/* Runs (element.cuh) of a row, and of the tensor. */
LH_INLINE int64_t row_runs_of(const lh_adafactor_args &a) {
    return lh_chunk_count(width_of(a), LH_RUN);
}

LH_INLINE int64_t runs_of(const lh_adafactor_args &a) {
    return row_runs_of(a) * (a.factored ? a.outer * a.rows : 1);
}

LH_INLINE int64_t chunks_of(const lh_adafactor_args &a) {
    return lh_chunk_count(runs_of(a), CHUNK);
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

static int64_t stretch_runs_of(const lh_adafactor_args &a) {
    return matrices_of(a) * stretches_of(a) * row_runs_of(a);
}

static int64_t one_if_any(const lh_adafactor_args &a) {
    return count_of(a) > 0 ? 1 : 0;
}

/* Lays a tensor's parts out from *at on; gives how many bytes they take. */
static size_t lay_out(const lh_adafactor_args &a, char **at, tensor_parts *p) {
    size_t bytes = lh_take(at, chunks_of(a), &p->y_squares);
    bytes += lh_take(at, chunks_of(a), &p->x_squares);
    bytes += lh_take(at, rows_of(a), &p->row_factor);
    bytes += lh_take(at, columns_of(a), &p->column_factor);
    bytes += lh_take(at, columns_of(a) * stretches_of(a), &p->stretch);
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

/* Of each item of a launch body(args, parts, the item within its tensor, and what else the launch
 * gives a call), a __device__ lambda. */
template <typename work> struct tensor_work {
    tensor_list list;
    item_starts starts;
    work body;

    int64_t count() const {
        return starts.first[list.args.count];
    }

    template <typename... rest> __device__ void operator()(int64_t item, rest... given) const {
        int t = 0;
        while (item >= starts.first[t + 1])
            ++t;
        body(list.args.tensor[t], list.part[t], item - starts.first[t], given...);
    }
};

template <typename work>
static tensor_work<work> for_tensors(const tensor_list &list, item_counter items, work body) {
    return {list, count_items(list, items), body};
}

/* Calls body(args, parts, item) in a thread for each item of a tensor. */
template <typename work>
static lh_status each_item(const lh_launch *launch, const tensor_list &list, item_counter items,
                           work body) {
    const auto all = for_tensors(list, items, body);
    return lh_each(launch, all.count(), all);
}

/* The same with a warp for each item, whose lanes come together: body(args, parts, item, lane). */
template <typename work>
static lh_status each_row(const lh_launch *launch, const tensor_list &list, item_counter items,
                          work body) {
    const auto all = for_tensors(list, items, body);
    return lh_each_row(launch, all.count(), all);
}

template <typename work>
__global__ void __launch_bounds__(LH_THREADS) each_block(int64_t count, work body) {
    LH_SHARED(double, shared, [2 * LH_WARPS]);
    for (int64_t b = blockIdx.x; b < count; b += gridDim.x) {
        body(b, shared);
        __syncthreads();
    }
}

/* The same with a block for each item, and two numbers for each of its warps. */
template <typename work>
static lh_status each_shared(const lh_launch *launch, const tensor_list &list, item_counter items,
                             work body) {
    const auto all = for_tensors(list, items, body);
    if (all.count() == 0) return LH_OK;
    return LH_LAUNCH((each_block<tensor_work<work>>), lh_blocks(all.count(), 1), LH_THREADS, 0,
                     launch, all.count(), all);
}

/* ---- device helpers ---- */

__device__ static inline double beta2_of(const lh_adafactor_args &a) {
    return 1.0 - pow((double)a.step->step + 1.0, -a.decay);
}

__device__ static inline double factor_of(const lh_adafactor_args &a) {
    return a.factor != NULL ? (double)*a.factor : 1.0;
}

/* The sum of every thread's value, in one fixed order, for all of them. `shared` has a number for
 * each warp, which nothing else may use before the block's next barrier. */
__device__ static inline double block_sum(double value, double *shared) {
    value = lh_warp_sum(value);
    if (threadIdx.x % LH_WARP == 0) shared[threadIdx.x / LH_WARP] = value;
    __syncthreads();
    double sum = 0;
    for (int warp = 0; warp < LH_WARPS; ++warp)
        sum += shared[warp];
    return sum;
}

__device__ static inline double run_squares(const lh_run &run) {
    double sum = 0;
    LH_UNROLL
    for (int n = 0; n < LH_RUN; ++n)
        sum += (double)run.at[n] * (double)run.at[n];
    return sum;
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
    return each_row(
        launch, list, rows_of,
        [] __device__(const lh_adafactor_args &a, const tensor_parts &, int64_t row, int lane) {
            const real *g = a.g + row * a.columns;
            double sum = 0;
            lh_each_lane_run(a.columns, lane, [&](int64_t begin) {
                sum += run_squares(lh_load_run(g, begin, a.columns));
            });
            sum = lh_warp_sum(sum);
            if (lane == 0) a.row[row] = moved(a, a.row[row], sum, a.columns);
        });
}

/* The sums of a stretch of rows for the columns of a run. */
__device__ static inline void sum_stretch(const lh_adafactor_args &a, const tensor_parts &p,
                                          int64_t piece, int64_t begin) {
    const int64_t stretches = stretches_of(a), first = piece % stretches * STRETCH;
    const int64_t rows = lh_min(a.rows - first, STRETCH);
    const real *g = a.g + (piece / stretches * a.rows + first) * a.columns;
    double sum[LH_RUN] = {0};
    for (int64_t r = 0; r < rows; ++r) {
        const lh_run run = lh_load_run(g + r * a.columns, begin, a.columns);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            sum[n] += (double)run.at[n] * (double)run.at[n];
    }
    LH_UNROLL
    for (int n = 0; n < LH_RUN; ++n)
        if (begin + n < a.columns) p.stretch[piece * a.columns + begin + n] = sum[n];
}

static lh_status sum_stretches(const lh_launch *launch, const tensor_list &list) {
    return each_item(launch, list, stretch_runs_of,
                     [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t i) {
                         const int64_t runs = row_runs_of(a);
                         sum_stretch(a, p, i / runs, i % runs * LH_RUN);
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

/* Where a run lies. */
typedef struct run_place {
    int64_t row, matrix; /* over all matrices */
    int64_t begin;       /* within its row */
} run_place;

/* Calls body(place) for a thread's runs of a chunk. Within it numbers are small, so that a division
 * is one of 32 bits. */
template <typename work>
__device__ static inline void each_run_of(const lh_adafactor_args &a, int64_t chunk,
                                          const work &body) {
    const int64_t first = chunk * CHUNK, row = first / row_runs_of(a);
    const int64_t matrix = row / a.rows;
    const uint32_t runs = (uint32_t)row_runs_of(a), before = (uint32_t)(first % row_runs_of(a));
    const uint32_t rows_before = (uint32_t)(row % a.rows);
    const uint32_t count = (uint32_t)lh_min(CHUNK, runs_of(a) - first);
    for (uint32_t i = threadIdx.x; i < count; i += LH_THREADS) {
        const uint32_t down = (before + i) / runs;
        run_place place;
        place.row = row + down;
        place.matrix = matrix + (rows_before + down) / (uint32_t)a.rows;
        place.begin = (int64_t)(before + i - down * runs) * LH_RUN;
        body(place);
    }
}

/* The second moments of a tensor that has no rows and columns of them. */
__device__ static inline void move_moments(const lh_adafactor_args &a, double factor, double beta2,
                                           int64_t begin) {
    const lh_run g = lh_load_run(a.g, begin, count_of(a));
    lh_run v = lh_load_run(a.v, begin, count_of(a));
    LH_UNROLL
    for (int n = 0; n < LH_RUN; ++n) {
        const double slope = factor * (double)g.at[n];
        v.at[n] = (real)(beta2 * (double)v.at[n] + (1.0 - beta2) * (slope * slope + TINY));
    }
    lh_store_run(a.v, begin, count_of(a), LH_SET, v);
}

/* The update of a run before its size is known. */
__device__ static inline lh_run update_of(const lh_adafactor_args &a, const tensor_parts &p,
                                          const run_place &place) {
    const int64_t width = width_of(a);
    lh_run y = lh_load_run(a.g + place.row * width, place.begin, width);
    if (a.factored) {
        const real row = p.row_factor[place.row];
        const lh_run column =
            lh_load_run(p.column_factor + place.matrix * width, place.begin, width);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            y.at[n] *= row * column.at[n];
    } else {
        const double factor = factor_of(a);
        const lh_run v = lh_load_run(a.v, place.begin, width);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            y.at[n] = v.at[n] != 0 ? (real)(factor * (double)y.at[n] / sqrt((double)v.at[n])) : 0;
    }
    return y;
}

static lh_status sum_updates(const lh_launch *launch, const tensor_list &list) {
    return each_shared(launch, list, chunks_of,
                       [] __device__(const lh_adafactor_args &a, const tensor_parts &p,
                                     int64_t chunk, double *shared) {
                           const double factor = factor_of(a), beta2 = beta2_of(a);
                           double y_sum = 0, x_sum = 0;
                           each_run_of(a, chunk, [&](const run_place &place) {
                               if (!a.factored) move_moments(a, factor, beta2, place.begin);
                               const real *x = a.x + place.row * width_of(a);
                               y_sum += run_squares(update_of(a, p, place));
                               x_sum += run_squares(lh_load_run(x, place.begin, width_of(a)));
                           });
                           y_sum = block_sum(y_sum, shared);
                           x_sum = block_sum(x_sum, shared + LH_WARPS);
                           if (threadIdx.x == 0) {
                               p.y_squares[chunk] = y_sum;
                               p.x_squares[chunk] = x_sum;
                           }
                       });
}

/* rate * max(rms(x), 1e-3) / max(1, rms(y) / clip). */
static lh_status make_sizes(const lh_launch *launch, const tensor_list &list) {
    return each_shared(
        launch, list, one_if_any,
        [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t, double *shared) {
            const double count = (double)count_of(a);
            const int64_t chunks = chunks_of(a);
            double y_sum = 0, x_sum = 0;
            for (int64_t n = threadIdx.x; n < chunks; n += LH_THREADS) {
                y_sum += p.y_squares[n];
                x_sum += p.x_squares[n];
            }
            y_sum = block_sum(y_sum, shared);
            x_sum = block_sum(x_sum, shared + LH_WARPS);
            if (threadIdx.x != 0) return;
            const double y_rms = sqrt(y_sum / count), x_rms = sqrt(x_sum / count);
            const double excess = y_rms / a.clip;
            const double scale = a.parameter_scale ? fmax(x_rms, SMALLEST_SCALE) : 1.0;
            *p.size = (real)(a.step->rate * scale / (excess > 1.0 || isnan(excess) ? excess : 1.0));
        });
}

static lh_status apply(const lh_launch *launch, const tensor_list &list) {
    return each_shared(
        launch, list, chunks_of,
        [] __device__(const lh_adafactor_args &a, const tensor_parts &p, int64_t chunk, double *) {
            const int64_t width = width_of(a);
            const real momentum = (real)a.momentum, size = *p.size;
            each_run_of(a, chunk, [&](const run_place &place) {
                const int64_t row = place.row * width;
                lh_run change = update_of(a, p, place);
                lh_run m = {}, x = lh_load_run(a.x + row, place.begin, width);
                if (momentum > 0) m = lh_load_run(a.m + row, place.begin, width);
                LH_UNROLL
                for (int n = 0; n < LH_RUN; ++n) {
                    change.at[n] *= size;
                    if (momentum > 0)
                        m.at[n] = change.at[n] = momentum * m.at[n] + (1 - momentum) * change.at[n];
                    x.at[n] -= change.at[n];
                }
                if (momentum > 0) lh_store_run(a.m + row, place.begin, width, LH_SET, m);
                lh_store_run(a.x + row, place.begin, width, LH_SET, x);
            });
        });
}

/* A chunk's runs and rows are counted in 32 bits. */
static bool fits(const lh_adafactor_args &a) {
    return row_runs_of(a) <= INT32_MAX && a.rows <= INT32_MAX;
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
    LH_CUDA_TRY(sum_updates(launch, list));
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
