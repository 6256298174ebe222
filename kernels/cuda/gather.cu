/* Rows of a table by index, and the transpose in a fixed order. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/radix_sort.cuh"

template <typename element>
static lh_status gather(const lh_launch *launch, const lh_gather_args *args) {
    const lh_gather_args a = *args;
    element *y = lh_elements<element>(a.y);
    int32_t *fault = lh_stream_of(launch)->fault;
    return lh_each_row_run(launch, a.rows, a.width, [=] __device__(int64_t row, int64_t begin) {
        const int64_t entry = a.index[row];
        const bool valid = entry >= 0 && entry < a.entries;
        lh_run value = {};
        if (valid) value = lh_load_run(a.table + entry * a.width, begin, a.width);
        if (!valid) lh_raise(fault, LH_KERNEL_gather);
        lh_store_run(y + row * a.width, begin, a.width, LH_SET, value);
    });
}

lh_status lh_cuda_gather(const lh_launch *launch, const lh_gather_args *args) {
    return LH_FOR_ELEMENT(args->y.dtype, gather, launch, args);
}

/* Rows are sorted by entry, those of one entry in rising order, so that a sum has one order
 * whatever runs first. Workspace: the rows in that order, as many again for the sort, and where the
 * rows of each entry begin and end. */
typedef struct sorted_rows {
    int32_t *order, *other; /* [rows] */
    int32_t *begin, *end;   /* [entries] */
} sorted_rows;

enum {
    SORT_THREADS = 1024,
    PARTS = LH_WARPS, /* of an entry's rows, a warp each */
    AHEAD = 8         /* rows that a warp has under way: an entry may have most of them */
};

static size_t aligned(int64_t count) {
    return lh_round_up((size_t)count * sizeof(int32_t), 64);
}

size_t lh_cuda_scatter_add_workspace(const lh_scatter_add_args *args) {
    return 2 * aligned(args->entries) + 2 * aligned(args->rows);
}

static sorted_rows lay_out(const lh_launch *launch, const lh_scatter_add_args *args) {
    char *at = (char *)launch->workspace;
    const size_t rows = aligned(args->rows);
    return {(int32_t *)at, (int32_t *)(at + rows), (int32_t *)(at + 2 * rows),
            (int32_t *)(at + 2 * rows + aligned(args->entries))};
}

/* A block's work. Rows whose index is out of range come last. */
__global__ void __launch_bounds__(SORT_THREADS)
    sort_rows(int64_t rows, int32_t entries, const int32_t *index, sorted_rows sorted, int passes,
              int32_t *fault) {
    LH_SHARED_DYNAMIC(int32_t,
                      counts); /* [LH_RADIX_DIGITS][SORT_THREADS], then [LH_RADIX_DIGITS] */
    int32_t *totals = counts + LH_RADIX_DIGITS * SORT_THREADS;
    const auto key_of = [=](int32_t row) {
        const int32_t entry = index[row];
        return entry >= 0 && entry < entries ? entry : entries;
    };
    lh_radix_sort(rows, key_of, passes, sorted.order, sorted.other, counts, totals);
    for (int64_t s = threadIdx.x; s < rows; s += SORT_THREADS) {
        const int32_t entry = key_of(sorted.order[s]);
        const int32_t before = s > 0 ? key_of(sorted.order[s - 1]) : -1;
        const int32_t after = s + 1 < rows ? key_of(sorted.order[s + 1]) : -1;
        if (entry == entries) {
            lh_raise(fault, LH_KERNEL_scatter_add);
            continue;
        }
        if (entry != before) sorted.begin[entry] = (int32_t)s;
        if (entry != after) sorted.end[entry] = (int32_t)s + 1;
    }
}

/* Adds rows order[s], order[s + PARTS], ... one by one, all of which are asked for first. */
template <typename element>
__device__ static inline void add_rows(const element *x, int64_t width, const int32_t *order,
                                       int32_t s, int32_t end, int64_t column, double *sum) {
    lh_run row[AHEAD] = {};
    LH_UNROLL
    for (int r = 0; r < AHEAD; ++r) {
        const int32_t at = s + r * PARTS;
        if (at < end) row[r] = lh_load_run(x + order[at] * width, column, width);
    }
    LH_UNROLL
    for (int r = 0; r < AHEAD; ++r) {
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            sum[n] += (double)row[r].at[n];
    }
}

/* A block takes 128 columns of an entry, a lane four of them; its warps share out the rows. */
template <typename element>
__global__ void __launch_bounds__(LH_THREADS)
    sum_entries(lh_scatter_add_args a, sorted_rows sorted, int64_t chunks) {
    LH_SHARED(double, sums, [PARTS][LH_WARP * LH_RUN]);
    const int lane = (int)(threadIdx.x % LH_WARP), warp = (int)(threadIdx.x / LH_WARP);
    const element *x = lh_elements<element>(a.x);
    for (int64_t task = blockIdx.x; task < a.entries * chunks; task += gridDim.x) {
        const int64_t entry = task / chunks, first = task % chunks * LH_WARP * LH_RUN;
        const int64_t column = first + lane * LH_RUN;
        double sum[LH_RUN] = {0};
        const int32_t end = sorted.end[entry];
        for (int32_t s = sorted.begin[entry] + warp; s < end; s += AHEAD * PARTS)
            add_rows(x, a.width, sorted.order, s, end, column, sum);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            sums[warp][lane * LH_RUN + n] = sum[n];
        __syncthreads();
        const int64_t own = first + threadIdx.x;
        if (threadIdx.x < LH_WARP * LH_RUN && own < a.width) {
            double total = 0;
            for (int part = 0; part < PARTS; ++part)
                total += sums[part][threadIdx.x];
            lh_store(&a.y[entry * a.width + own], a.write, (real)total);
        }
        __syncthreads();
    }
}

template <typename element>
static lh_status scatter_add(const lh_launch *launch, const lh_scatter_add_args *args) {
    const sorted_rows sorted = lay_out(launch, args);
    const int64_t chunks = lh_chunk_count(args->width, LH_WARP * LH_RUN);
    const size_t bytes = (SORT_THREADS + 1) * LH_RADIX_DIGITS * sizeof(int32_t);
    if (args->entries * args->width == 0) return LH_OK;
    LH_CUDA_TRY(lh_each(launch, args->entries,
                        [=] __device__(int64_t e) { sorted.begin[e] = sorted.end[e] = 0; }));
    LH_CUDA_TRY(LH_LAUNCH(sort_rows, 1, SORT_THREADS, bytes, launch, args->rows,
                          (int32_t)args->entries, args->index, sorted,
                          lh_radix_passes(args->entries), lh_stream_of(launch)->fault));
    return LH_LAUNCH((sum_entries<element>), lh_blocks(args->entries * chunks, 1), LH_THREADS, 0,
                     launch, *args, sorted, chunks);
}

lh_status lh_cuda_scatter_add(const lh_launch *launch, const lh_scatter_add_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, scatter_add, launch, args);
}
