/* Matrix products: tiles of C under OpenMP, each one call of a single-threaded BLAS, or of oneDNN
 * where that is faster.
 *
 * Plain multi-threaded BLAS gives other bits for other numbers of threads; here the cut is a
 * function of the shape, so every thread count computes the same calls. Where C is small and k long
 * (the gradient of a weight matrix) k is cut into slices too; slice 0 goes to C, the others to
 * workspace, and they are added in order. */
#include "kernels/cpu/act.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/matmul_plan.h"
#include "kernels/cpu/unary_math.h"
#include "kernels/matmul_residual.h"
#include "kernels/product.h"

enum { ROWS_OF_JOIN = 16 };

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

static void multiply_by_blas(const lh_product *p, real alpha, const real *a, const real *b,
                             real *c) {
    lh_blas_multiply(p->transpose_a, p->transpose_b, p->m, p->n, p->k, alpha,
                     lh_rows_of(a, p->a_leading), lh_rows_of(b, p->b_leading),
                     p->write == LH_ADD ? LH_R(1) : LH_R(0), lh_rows_of(c, p->c_leading));
}

/* bias, pre and activation of `count` elements of a row of C from column n on. */
static void finish_row(const lh_matmul_args *args, int64_t offset, int64_t n, int64_t count) {
    real *c = lh_as_reals(args->c) + offset;
    if (args->bias != NULL) {
        const real *bias = args->bias + n;
#pragma omp simd
        for (int64_t j = 0; j < count; ++j)
            c[j] += bias[j];
    }
    if (args->pre.data != NULL)
        lh_unary_run(LH_UNARY_IDENTITY, LH_REAL, count, c, lh_as_reals(args->pre) + offset);
    if (args->activation != LH_UNARY_IDENTITY) lh_unary_run(args->activation, LH_REAL, count, c, c);
}

static void finish_tile(const lh_matmul_args *args, const lh_matmul_tile *tile) {
    for (int64_t i = tile->m.begin; i < tile->m.end; ++i) {
        const int64_t offset = tile->member * args->c_step + i * args->c_leading + tile->n.begin;
        finish_row(args, offset, tile->n.begin, tile->n.end - tile->n.begin);
    }
}

/* Slice `slice` of a tile; `c` and its leading dimension say where the result goes. */
static lh_status multiply_tile(const lh_matmul_args *args, const lh_matmul_tile *tile,
                               lh_write write, real *c, int64_t c_leading) {
    const lh_range m = tile->m, n = tile->n, k = tile->k;
    const real *a = lh_as_reals(args->a) + tile->member * args->a_step;
    const real *b = lh_as_reals(args->b) + tile->member * args->b_step;
    const lh_product product = {.m = m.end - m.begin,
                                .n = n.end - n.begin,
                                .k = k.end - k.begin,
                                .a_leading = args->a_leading,
                                .b_leading = args->b_leading,
                                .c_leading = c_leading,
                                .transpose_a = args->transpose_a,
                                .transpose_b = args->transpose_b,
                                .alpha = (float)args->alpha,
                                .dtype = LH_REAL,
                                .c_dtype = LH_REAL,
                                .write = write};
    a += args->transpose_a ? k.begin * args->a_leading + m.begin
                           : m.begin * args->a_leading + k.begin;
    b += args->transpose_b ? n.begin * args->b_leading + k.begin
                           : k.begin * args->b_leading + n.begin;
    if (lh_product_suits_reals(&product)) return lh_product_run(&product, a, b, c);
    multiply_by_blas(&product, args->alpha, a, b, c);
    return LH_OK;
}

static lh_status run_task(const lh_matmul_args *args, const lh_matmul_plan *plan, int64_t task,
                          real *workspace) {
    const int64_t slice = task % plan->slices;
    lh_matmul_tile tile = lh_cpu_matmul_tile(args, plan, task / plan->slices);
    tile.k = lh_chunk(args->k, plan->tile_k, slice);
    if (slice > 0) {
        const int64_t matrix = (slice - 1) * args->batch + tile.member;
        real *part = workspace + (matrix * args->m + tile.m.begin) * args->n + tile.n.begin;
        return multiply_tile(args, &tile, LH_SET, part, args->n);
    }
    real *c = lh_as_reals(args->c) + tile.member * args->c_step + tile.m.begin * args->c_leading +
              tile.n.begin;
    const lh_status status = multiply_tile(args, &tile, args->write, c, args->c_leading);
    if (plan->slices == 1 && lh_matmul_has_finish(args)) finish_tile(args, &tile);
    return status;
}

/* Adds the slices of one row of C in order. */
static void join_row(const lh_matmul_args *args, int64_t slices, int64_t row,
                     const real *workspace) {
    const int64_t n = args->n, matrix = args->batch * args->m * n;
    const int64_t offset = row / args->m * args->c_step + row % args->m * args->c_leading;
    real *c = lh_as_reals(args->c) + offset;
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

/* Without a region where one thread would have all tasks (parallel.h). */
static lh_status run_tasks(const lh_matmul_args *args, const lh_matmul_plan *plan,
                           real *workspace) {
    const int64_t tasks = lh_matmul_tasks(args, plan), grain = lh_cpu_matmul_grain(args, plan);
    int worst = LH_OK;
    if (tasks <= grain) {
        for (int64_t task = 0; task < tasks && worst == LH_OK; ++task)
            worst = (int)run_task(args, plan, task, workspace);
        return (lh_status)worst;
    }
#pragma omp parallel for schedule(dynamic, grain) reduction(max : worst)
    for (int64_t task = 0; task < tasks; ++task) {
        const int tried = (int)run_task(args, plan, task, workspace);
        worst = tried > worst ? tried : worst;
    }
    return (lh_status)worst;
}

/* A sum of no products: C lies in memory as any dtype. */
static void finish_empty(const lh_matmul_args *args) {
    if (args->write == LH_ADD) return;
    for (int64_t row = 0; row < args->batch * args->m; ++row) {
        const int64_t offset = row / args->m * args->c_step + row % args->m * args->c_leading;
        for (int64_t j = 0; j < args->n; ++j) {
            real value = args->bias != NULL ? args->bias[j] : 0;
            if (args->pre.data != NULL)
                lh_store(args->pre.dtype, args->pre.data, offset + j, value);
            lh_unary_run(args->activation, LH_REAL, 1, &value, &value);
            lh_store(args->c.dtype, args->c.data, offset + j, value);
        }
    }
}

size_t lh_cpu_matmul_workspace(const lh_matmul_args *args) {
    const lh_matmul_args folded = fold_batch(args);
    if (args->precision == LH_PRECISION_BF16) return lh_cpu_matmul_bf16_workspace(&folded);
    const int64_t slices = lh_cpu_matmul_plan(&folded).slices;
    return (size_t)(lh_max(0, slices - 1) * folded.batch * folded.m * folded.n) * sizeof(real);
}

static lh_status add_to_residual(const lh_launch *launch, const lh_matmul_args *args) {
    const lh_copy_args copy = lh_matmul_residual_copy(args);
    const lh_matmul_args onto = lh_matmul_onto_residual(args);
    const lh_status status = lh_cpu_copy(launch, &copy);
    return status == LH_OK ? lh_cpu_matmul(launch, &onto) : status;
}

lh_status lh_cpu_matmul(const lh_launch *launch, const lh_matmul_args *args) {
    if (args->residual.data != NULL) return add_to_residual(launch, args);
    const lh_dtype dtype = (lh_dtype)(args->a.dtype | args->b.dtype | args->c.dtype);
    const lh_matmul_args folded = fold_batch(args);
    if (!lh_product_knows(dtype, args->precision)) return LH_EOPTION;
    if (folded.batch * folded.m * folded.n == 0) return LH_OK;
    if (folded.k == 0) {
        finish_empty(&folded);
        return LH_OK;
    }
    if (args->precision == LH_PRECISION_BF16) return lh_cpu_matmul_bf16(launch, &folded);
    const lh_matmul_plan plan = lh_cpu_matmul_plan(&folded);
    const lh_status worst = run_tasks(&folded, &plan, launch->workspace);
    if (worst == LH_OK && plan.slices > 1) join_slices(&folded, plan.slices, launch->workspace);
    return worst;
}
