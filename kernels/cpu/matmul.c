/* Matrix products: tiles of C under OpenMP, each one call of a single-threaded BLAS.
 *
 * Plain multi-threaded BLAS gives other bits for other numbers of threads; here the cut is a
 * function of the shape, so every thread count computes the same calls. Where C is small and k long
 * (the gradient of a weight matrix) k is cut into slices too; slice 0 goes to C, the others to
 * workspace, and they are added in order. */
#include <cblas.h>
#include <limits.h>
#include <stdlib.h>

#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/unary_math.h"

enum {
    TILE = 256,           /* a side; twice that is some 4 % faster, half of it 10 % slower */
    SMALL_TILE = 64,      /* a side, when there is little to share out */
    SHORT_SLICE = 512,    /* shorter slices of k spend too much on adding up */
    ENOUGH_TASKS = 8,     /* no finer cut once there are so many */
    TILE_MULTIPLE = 16,   /* tiles of whole register blocks */
    TASK_WORK = 1 << 21,  /* multiply-adds of a first task; see worth_refining */
    GRAIN_WORK = 1 << 19, /* multiply-adds below which tasks are grouped */
    ROWS_OF_JOIN = 16,
    FEW_ROWS = 32,          /* so few rows of A do not pay for packing B */
    UNPACKED_WORK = 1000000 /* multiply-adds up to which OpenBLAS 0.3.17 and later does not pack */
};

typedef struct matmul_plan {
    int64_t tile_m, tile_n, tile_k;
    int64_t count_m, count_n, slices;
} matmul_plan;

/* One tile of one batch member. */
typedef struct matmul_tile {
    int64_t member;
    lh_range m, n, k;
} matmul_tile;

static int64_t even_tile(int64_t size, int64_t count) {
    const int64_t tile = lh_max(1, lh_chunk_count(size, lh_max(1, count)));
    return lh_chunk_count(tile, TILE_MULTIPLE) * TILE_MULTIPLE;
}

static void count_tiles(matmul_plan *plan, const lh_matmul_args *args) {
    plan->count_m = lh_chunk_count(args->m, plan->tile_m);
    plan->count_n = lh_chunk_count(args->n, plan->tile_n);
    plan->slices = lh_chunk_count(args->k, plan->tile_k);
}

/* Halves one side of the tiles, the cheapest to halve; false when they are as small as may be. */
static bool refine(matmul_plan *plan, const lh_matmul_args *args) {
    const int64_t m = even_tile(args->m, 2 * plan->count_m);
    const int64_t n = even_tile(args->n, 2 * plan->count_n);
    if (plan->tile_m >= 2 * TILE)
        plan->tile_m = m;
    else if (plan->tile_n >= 2 * TILE)
        plan->tile_n = n;
    else if (plan->tile_k >= 2 * SHORT_SLICE)
        plan->tile_k = even_tile(args->k, 2 * plan->slices);
    else if (plan->tile_m >= plan->tile_n && plan->tile_m >= 2 * SMALL_TILE)
        plan->tile_m = m;
    else if (plan->tile_n >= 2 * SMALL_TILE)
        plan->tile_n = n;
    else
        return false;
    count_tiles(plan, args);
    return true;
}

/* The more tasks there are, the more work each must have to be halved once more: two threads are
 * worth having early, eight only for products that take long. */
static bool worth_refining(const matmul_plan *plan, int64_t batch) {
    const int64_t tasks = batch * plan->count_m * plan->count_n * plan->slices;
    const int64_t work = plan->tile_m * plan->tile_n * plan->tile_k;
    return tasks < ENOUGH_TASKS && work >= tasks * tasks * TASK_WORK;
}

/* With few rows a tile narrow enough to skip packing is up to four times as fast. 0: there is no
 * such tile of a useful width. */
static int64_t unpacked_width(const lh_matmul_args *args) {
    if (args->transpose_a || args->m > FEW_ROWS || args->m * args->k == 0) return 0;
    const int64_t narrowest = args->transpose_b ? 2 * TILE_MULTIPLE : 4 * TILE_MULTIPLE;
    const int64_t width = lh_min(TILE, UNPACKED_WORK / (args->m * args->k));
    return width < narrowest ? 0 : width / TILE_MULTIPLE * TILE_MULTIPLE;
}

static matmul_plan make_plan(const lh_matmul_args *args) {
    matmul_plan plan = {.tile_k = lh_max(1, args->k)};
    plan.tile_m = even_tile(args->m, lh_max(1, (args->m + TILE) / (2 * TILE)));
    plan.tile_n = even_tile(args->n, lh_max(1, (args->n + TILE) / (2 * TILE)));
    const int64_t width = unpacked_width(args);
    if (width > 0) plan.tile_n = lh_min(plan.tile_n, width);
    count_tiles(&plan, args);
    while (worth_refining(&plan, args->batch) && refine(&plan, args)) {
    }
    return plan;
}

/* A batch that shares B and lies without gaps is one tall product. */
static lh_matmul_args fold_batch(const lh_matmul_args *args) {
    lh_matmul_args folded = *args;
    const bool dense = args->b_step == 0 && !args->transpose_a &&
                       args->a_step == args->m * args->a_leading &&
                       args->c_step == args->m * args->c_leading;
    if (args->batch > 1 && dense) {
        folded.m *= args->batch;
        folded.batch = 1;
    }
    return folded;
}

static void multiply(const lh_matmul_args *args, int64_t m, int64_t n, int64_t k, const real *a,
                     const real *b, real beta, real *c, int64_t c_leading) {
    const enum CBLAS_TRANSPOSE ta = args->transpose_a ? CblasTrans : CblasNoTrans;
    const enum CBLAS_TRANSPOSE tb = args->transpose_b ? CblasTrans : CblasNoTrans;
#ifdef LH_REAL_DOUBLE
    cblas_dgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, args->alpha, a, (int)args->a_leading,
                b, (int)args->b_leading, beta, c, (int)c_leading);
#else
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, args->alpha, a, (int)args->a_leading,
                b, (int)args->b_leading, beta, c, (int)c_leading);
#endif
}

/* bias, pre and activation of `count` elements of a row of C from column n on. */
static void finish_row(const lh_matmul_args *args, int64_t offset, int64_t n, int64_t count) {
    real *c = args->c + offset;
    if (args->bias != NULL) {
        const real *bias = args->bias + n;
#pragma omp simd
        for (int64_t j = 0; j < count; ++j)
            c[j] += bias[j];
    }
    if (args->pre != NULL) lh_unary_run(LH_UNARY_IDENTITY, count, c, args->pre + offset);
    if (args->activation != LH_UNARY_IDENTITY) lh_unary_run(args->activation, count, c, c);
}

static bool has_finish(const lh_matmul_args *args) {
    return args->bias != NULL || args->pre != NULL || args->activation != LH_UNARY_IDENTITY;
}

static void finish_tile(const lh_matmul_args *args, const matmul_tile *tile) {
    for (int64_t i = tile->m.begin; i < tile->m.end; ++i) {
        const int64_t offset = tile->member * args->c_step + i * args->c_leading + tile->n.begin;
        finish_row(args, offset, tile->n.begin, tile->n.end - tile->n.begin);
    }
}

static matmul_tile locate(const lh_matmul_args *args, const matmul_plan *plan, int64_t place) {
    matmul_tile tile;
    tile.n = lh_chunk(args->n, plan->tile_n, place % plan->count_n);
    place /= plan->count_n;
    tile.m = lh_chunk(args->m, plan->tile_m, place % plan->count_m);
    tile.member = place / plan->count_m;
    return tile;
}

/* Slice `slice` of a tile; `c` and its leading dimension say where the result goes. */
static void multiply_tile(const lh_matmul_args *args, const matmul_tile *tile, real beta, real *c,
                          int64_t c_leading) {
    const lh_range m = tile->m, n = tile->n, k = tile->k;
    const real *a = args->a + tile->member * args->a_step;
    const real *b = args->b + tile->member * args->b_step;
    a += args->transpose_a ? k.begin * args->a_leading + m.begin
                           : m.begin * args->a_leading + k.begin;
    b += args->transpose_b ? n.begin * args->b_leading + k.begin
                           : k.begin * args->b_leading + n.begin;
    multiply(args, m.end - m.begin, n.end - n.begin, k.end - k.begin, a, b, beta, c, c_leading);
}

static void run_task(const lh_matmul_args *args, const matmul_plan *plan, int64_t task,
                     real *workspace) {
    const int64_t slice = task % plan->slices;
    matmul_tile tile = locate(args, plan, task / plan->slices);
    tile.k = lh_chunk(args->k, plan->tile_k, slice);
    if (slice > 0) {
        const int64_t matrix = (slice - 1) * args->batch + tile.member;
        real *part = workspace + (matrix * args->m + tile.m.begin) * args->n + tile.n.begin;
        multiply_tile(args, &tile, LH_R(0), part, args->n);
        return;
    }
    real *c = args->c + tile.member * args->c_step + tile.m.begin * args->c_leading + tile.n.begin;
    multiply_tile(args, &tile, args->write == LH_ADD ? LH_R(1) : LH_R(0), c, args->c_leading);
    if (plan->slices == 1 && has_finish(args)) finish_tile(args, &tile);
}

/* Adds the slices of one row of C in order. */
static void join_row(const lh_matmul_args *args, int64_t slices, int64_t row,
                     const real *workspace) {
    const int64_t n = args->n, matrix = args->batch * args->m * n;
    const int64_t offset = row / args->m * args->c_step + row % args->m * args->c_leading;
    real *c = args->c + offset;
    for (int64_t slice = 0; slice < slices - 1; ++slice) {
        const real *part = workspace + slice * matrix + row * n;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j)
            c[j] += part[j];
    }
    finish_row(args, offset, 0, n);
}

static void join_slices(const lh_matmul_args *args, int64_t slices, const real *workspace) {
    const int64_t rows = args->batch * args->m;
    const int64_t chunks = lh_chunk_count(rows, ROWS_OF_JOIN);
#pragma omp parallel for schedule(static)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(rows, ROWS_OF_JOIN, chunk);
        for (int64_t row = range.begin; row < range.end; ++row)
            join_row(args, slices, row, workspace);
    }
}

/* A sum of no products. */
static void finish_empty(const lh_matmul_args *args) {
    if (args->write == LH_ADD) return;
    for (int64_t row = 0; row < args->batch * args->m; ++row) {
        const int64_t offset = row / args->m * args->c_step + row % args->m * args->c_leading;
        for (int64_t j = 0; j < args->n; ++j)
            args->c[offset + j] = LH_R(0);
        finish_row(args, offset, 0, args->n);
    }
}

static lh_status check(const lh_matmul_args *args) {
    const int64_t a_columns = args->transpose_a ? args->m : args->k;
    const int64_t b_columns = args->transpose_b ? args->k : args->n;
    const int64_t largest = lh_max(lh_max(args->m, args->n), args->k);
    const int64_t leading = lh_max(lh_max(args->a_leading, args->b_leading), args->c_leading);
    if (args->precision != LH_PRECISION_F32) return LH_EOPTION;
    if (args->a_dtype != LH_REAL || args->b_dtype != LH_REAL || args->c_dtype != LH_REAL)
        return LH_EOPTION;
    if (!lh_unary_known(args->activation)) return LH_EOPTION;
    if (args->write == LH_ADD && has_finish(args)) return LH_EOPTION;
    if (args->a_leading < a_columns || args->b_leading < b_columns || args->c_leading < args->n)
        return LH_ESHAPE;
    return lh_max(largest, leading) > INT_MAX ? LH_ESHAPE : LH_OK;
}

size_t LH_CPU(matmul_workspace)(const lh_matmul_args *args) {
    const lh_matmul_args folded = fold_batch(args);
    const int64_t slices = make_plan(&folded).slices;
    return (size_t)(lh_max(0, slices - 1) * folded.batch * folded.m * folded.n) * sizeof(real);
}

lh_status LH_CPU(matmul)(const lh_launch *launch, const lh_matmul_args *args) {
    const lh_status status = check(args);
    const lh_matmul_args folded = fold_batch(args);
    if (status != LH_OK || folded.batch * folded.m * folded.n == 0) return status;
    if (folded.k == 0) {
        finish_empty(&folded);
        return LH_OK;
    }
    const matmul_plan plan = make_plan(&folded);
    const int64_t tasks = folded.batch * plan.count_m * plan.count_n * plan.slices;
    const int64_t work =
        lh_min(plan.tile_m, folded.m) * lh_min(plan.tile_n, folded.n) * plan.tile_k;
    const int64_t grain = lh_max(1, GRAIN_WORK / work);
#pragma omp parallel for schedule(dynamic, grain) if (tasks > grain)
    for (int64_t task = 0; task < tasks; ++task)
        run_task(&folded, &plan, task, launch->workspace);
    if (plan.slices > 1) join_slices(&folded, plan.slices, launch->workspace);
    return LH_OK;
}
