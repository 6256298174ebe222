/* Rows of a table by index, and the transpose in a fixed order. */
#include "kernels/cuda/element.cuh"

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

/* Rows of equal index form a chain in rising order, so that a sum has one order whatever runs
 * first. Workspace: next[r], the next row with the same index, or -1; and first[e], where a chain
 * begins.
 *
 * A row finds its successor by looking through the rows behind it; with many rows that is long, so
 * a block looks through them together, a stretch at a time. */
static size_t aligned(int64_t count) {
    return ((size_t)count * sizeof(int32_t) + 63) / 64 * 64;
}

size_t lh_cuda_scatter_add_workspace(const lh_scatter_add_args *args) {
    return aligned(args->entries) + aligned(args->rows);
}

/* One warp walks all rows from the last to the first, 32 at a time: what the warp sees of an index
 * is in order, and the table of firsts tells what comes later. */
__global__ void __launch_bounds__(LH_WARP)
    link_rows(int64_t rows, int64_t entries, const int32_t *index, int32_t *first, int32_t *next,
              int32_t *fault) {
    const int lane = (int)threadIdx.x;
    for (int64_t end = lh_chunk_count(rows, LH_WARP) * LH_WARP; end > 0; end -= LH_WARP) {
        const int64_t r = end - LH_WARP + lane;
        const int32_t entry = r < rows ? index[r] : -1;
        const bool valid = entry >= 0 && entry < entries;
        if (r < rows && !valid) lh_raise(fault, LH_KERNEL_scatter_add);
        int32_t after = valid ? first[entry] : -1, before = -1;
        for (int other = LH_WARP - 1; other >= 0; --other) {
            const int32_t theirs = __shfl_sync(0xffffffffu, entry, other);
            if (theirs != entry || !valid) continue;
            if (other > lane) after = (int32_t)(end - LH_WARP + other);
            if (other < lane) before = other;
        }
        if (valid) next[r] = after;
        __syncwarp();
        if (valid && before < 0) first[entry] = (int32_t)r;
        __syncwarp();
    }
}

template <typename element>
static lh_status scatter_add(const lh_launch *launch, const lh_scatter_add_args *args) {
    const lh_scatter_add_args a = *args;
    const element *x = lh_elements<element>(a.x);
    int32_t *first = (int32_t *)launch->workspace;
    int32_t *next = first + aligned(a.entries) / sizeof(int32_t);
    LH_CUDA_TRY(lh_each(launch, a.entries, [=] __device__(int64_t e) { first[e] = -1; }));
    LH_CUDA_TRY(LH_LAUNCH(link_rows, 1, LH_WARP, 0, launch, a.rows, a.entries, a.index, first, next,
                          lh_stream_of(launch)->fault));
    return lh_each(launch, a.entries * a.width, [=] __device__(int64_t i) {
        double sum = 0;
        for (int32_t r = first[i / a.width]; r >= 0; r = next[r])
            sum += (double)lh_load(&x[r * a.width + i % a.width]);
        lh_store(&a.y[i], a.write, (real)sum);
    });
}

lh_status lh_cuda_scatter_add(const lh_launch *launch, const lh_scatter_add_args *args) {
    return LH_FOR_ELEMENT(args->x.dtype, scatter_add, launch, args);
}
