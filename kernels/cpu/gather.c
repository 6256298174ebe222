/* Rows of a table by index, and the transpose. */
#include <string.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

enum { PANEL = 256 };

/* NULL gives zeros. */
static void gather_row(int64_t width, const real *from, lh_act y, int64_t at) {
    const size_t bytes = (size_t)(width * lh_size_of(y.dtype));
    if (from == NULL)
        memset(lh_at(y, at), 0, bytes);
    else if (y.dtype == LH_BF16)
        lh_bf16_round_run(width, from, lh_at(y, at));
    else
        memcpy(lh_at(y, at), from, bytes);
}

lh_status lh_cpu_gather(const lh_launch *launch, const lh_gather_args *args) {
    (void)launch;
    const int64_t width = args->width;
    if (width == 0) return LH_OK;
    const int64_t size = lh_rows_per_chunk(width);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    int invalid = 0;
#pragma omp parallel for schedule(static) reduction(| : invalid) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
            const int32_t entry = args->index[r];
            const bool valid = entry >= 0 && entry < args->entries;
            gather_row(width, valid ? args->table + entry * width : NULL, args->y, r * width);
            invalid |= !valid;
        }
    }
    return invalid ? LH_EOPTION : LH_OK;
}

/* The rows of each entry: entry e has order[start[e]] .. order[start[e + 1] - 1], ascending. */
typedef struct bucket_list {
    int64_t *start; /* [entries + 1] */
    int64_t *order; /* [rows] */
} bucket_list;

size_t lh_cpu_scatter_add_workspace(const lh_scatter_add_args *args) {
    return (size_t)(args->entries + 2 + args->rows) * sizeof(int64_t);
}

/* Counting sort. Gives false when an index is outside the table; such rows are left out. */
static bool sort_rows(const lh_scatter_add_args *args, bucket_list list) {
    const int64_t entries = args->entries;
    int64_t *next = list.start + 1; /* becomes start once every row has been placed */
    bool valid = true;
    memset(list.start, 0, (size_t)(entries + 2) * sizeof *list.start);
    for (int64_t r = 0; r < args->rows; ++r) {
        const int32_t entry = args->index[r];
        if (entry >= 0 && entry < entries)
            ++next[entry + 1];
        else
            valid = false;
    }
    for (int64_t e = 0; e < entries; ++e)
        next[e + 1] += next[e];
    for (int64_t r = 0; r < args->rows; ++r) {
        const int32_t entry = args->index[r];
        if (entry >= 0 && entry < entries) list.order[next[entry]++] = r;
    }
    return valid;
}

/* Columns [columns.begin, columns.end) of one entry. */
LH_SPECIALIZED void add_entry(const lh_scatter_add_args *args, lh_dtype dtype, bucket_list list,
                              int64_t entry, lh_range columns) {
    const int64_t width = columns.end - columns.begin;
    real *y = args->y + entry * args->width + columns.begin;
    const bool add = args->write == LH_ADD;
    if (list.start[entry] == list.start[entry + 1]) {
        if (!add) memset(y, 0, (size_t)width * sizeof *y);
        return;
    }
    double sum[PANEL] = {0};
    for (int64_t i = list.start[entry]; i < list.start[entry + 1]; ++i) {
        const void *x = lh_at(args->x, list.order[i] * args->width + columns.begin);
#pragma omp simd
        for (int64_t c = 0; c < width; ++c)
            sum[c] += (double)lh_load(dtype, x, c);
    }
    for (int64_t c = 0; c < width; ++c)
        y[c] = (real)(add ? (double)y[c] + sum[c] : sum[c]);
}

lh_status lh_cpu_scatter_add(const lh_launch *launch, const lh_scatter_add_args *args) {
    bucket_list list;
    list.start = launch->workspace;
    list.order = list.start + args->entries + 2;
    const bool valid = sort_rows(args, list);
    const int64_t panels = lh_chunk_count(args->width, PANEL);
    const int64_t tasks = args->entries * panels;
    const bool large = (args->rows + args->entries) * args->width > LH_CHUNK;
#pragma omp parallel for schedule(dynamic, 16) if (large)
    for (int64_t task = 0; task < tasks; ++task) {
        const lh_range columns = lh_chunk(args->width, PANEL, task % panels);
        if (args->x.dtype == LH_BF16)
            add_entry(args, LH_BF16, list, task / panels, columns);
        else
            add_entry(args, LH_REAL, list, task / panels, columns);
    }
    return valid ? LH_OK : LH_EOPTION;
}
