/* Matrix products in bf16: the tiles of matmul.c, each one call of oneDNN. Operands that lie in
 * memory as reals are rounded into workspace first. Where k is cut, all slices go to workspace, as
 * reals, and are added in order, so that C is rounded once before its bias and activation. */
#include "kernels/cpu/act.h"
#include "kernels/cpu/matmul_plan.h"
#include "kernels/cpu/unary_math.h"
#include "kernels/product.h"

enum {
    STRETCH = 256, /* elements of a row of C that are finished together */
    ROWS_OF_JOIN = 16,
    ALIGNMENT = 64
};

/* An operand in bf16: [count][rows][columns], as stored. */
typedef struct operand {
    lh_act from;
    int64_t count, rows, columns, leading, step;
} operand;

/* What the tasks of a call work on. */
typedef struct product {
    const lh_matmul_args *args;
    lh_matmul_plan plan;
    operand a, b;
    real *parts; /* [slices][batch][m][n], where there are several slices */
} product;

static operand left_of(const lh_matmul_args *args) {
    return (operand){.from = args->a,
                     .count = args->a_step == 0 ? 1 : args->batch,
                     .rows = args->transpose_a ? args->k : args->m,
                     .columns = args->transpose_a ? args->m : args->k,
                     .leading = args->a_leading,
                     .step = args->a_step};
}

static operand right_of(const lh_matmul_args *args) {
    return (operand){.from = args->b,
                     .count = args->b_step == 0 ? 1 : args->batch,
                     .rows = args->transpose_b ? args->n : args->k,
                     .columns = args->transpose_b ? args->k : args->n,
                     .leading = args->b_leading,
                     .step = args->b_step};
}

static size_t align(size_t bytes) {
    return lh_round_up(bytes, ALIGNMENT);
}

static size_t rounded_bytes(const operand *x) {
    if (x->from.dtype == LH_BF16) return 0;
    return align((size_t)(x->count * x->rows * x->columns) * sizeof(lh_bf16));
}

static size_t parts_bytes(const lh_matmul_args *args, const lh_matmul_plan *plan) {
    if (plan->slices == 1) return 0;
    return align((size_t)(plan->slices * args->batch * args->m * args->n) * sizeof(real));
}

size_t lh_cpu_matmul_bf16_workspace(const lh_matmul_args *args) {
    const lh_matmul_plan plan = lh_cpu_matmul_plan(args);
    const operand a = left_of(args), b = right_of(args);
    return parts_bytes(args, &plan) + rounded_bytes(&a) + rounded_bytes(&b);
}

/* Rounds an operand into `memory`, where it then lies, unless it was bf16 all along. */
static void round_operand(uint8_t *memory, operand *x) {
    if (x->from.dtype == LH_BF16) return;
    const int64_t rows = x->count * x->rows, size = lh_rows_per_chunk(x->columns);
    const int64_t chunks = lh_chunk_count(rows, size);
    const real *from = lh_as_reals(x->from);
    lh_bf16 *to = (lh_bf16 *)(void *)memory;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(rows, size, chunk);
        for (int64_t row = range.begin; row < range.end; ++row)
            lh_bf16_round_run(x->columns,
                              from + row / x->rows * x->step + row % x->rows * x->leading,
                              to + row * x->columns);
    }
    x->from = (lh_act){to, LH_BF16};
    x->leading = x->columns;
    x->step = x->step == 0 ? 0 : x->rows * x->columns;
}

/* Where the part of a member begins that has these rows and columns of op(x). */
static const lh_bf16 *part_of(const operand *x, bool transposed, int64_t member, int64_t row,
                              int64_t column) {
    const int64_t at = transposed ? column * x->leading + row : row * x->leading + column;
    return lh_at(x->from, member * x->step + at);
}

/* bias, pre and activation of `count` elements, at most STRETCH, of a row of C from column n on. */
static void finish_stretch(const lh_matmul_args *args, int64_t at, int64_t n, int64_t count) {
    const lh_act c = args->c, pre = args->pre;
    real value[STRETCH];
    for (int64_t j = 0; j < count; ++j)
        value[j] = lh_load(c.dtype, c.data, at + j);
    for (int64_t j = 0; args->bias != NULL && j < count; ++j)
        value[j] += args->bias[n + j];
    for (int64_t j = 0; pre.data != NULL && j < count; ++j)
        lh_store(pre.dtype, pre.data, at + j, value[j]);
    lh_unary_run(args->activation, LH_REAL, count, value, value);
    for (int64_t j = 0; j < count; ++j)
        lh_store(c.dtype, c.data, at + j, value[j]);
}

static void finish_row(const lh_matmul_args *args, int64_t at, int64_t n, int64_t count) {
    for (int64_t begin = 0; begin < count; begin += STRETCH)
        finish_stretch(args, at + begin, n + begin, lh_min(STRETCH, count - begin));
}

static void finish_tile(const lh_matmul_args *args, const lh_matmul_tile *tile) {
    for (int64_t i = tile->m.begin; i < tile->m.end; ++i)
        finish_row(args, tile->member * args->c_step + i * args->c_leading + tile->n.begin,
                   tile->n.begin, tile->n.end - tile->n.begin);
}

static lh_status run_task(const product *p, int64_t task) {
    const lh_matmul_args *args = p->args;
    const int64_t slice = task % p->plan.slices;
    lh_matmul_tile tile = lh_cpu_matmul_tile(args, &p->plan, task / p->plan.slices);
    tile.k = lh_chunk(args->k, p->plan.tile_k, slice);
    lh_product shape = {.m = tile.m.end - tile.m.begin,
                        .n = tile.n.end - tile.n.begin,
                        .k = tile.k.end - tile.k.begin,
                        .a_leading = p->a.leading,
                        .b_leading = p->b.leading,
                        .c_leading = args->c_leading,
                        .transpose_a = args->transpose_a,
                        .transpose_b = args->transpose_b,
                        .alpha = (float)args->alpha,
                        .dtype = LH_BF16,
                        .c_dtype = args->c.dtype,
                        .write = args->write};
    const lh_bf16 *a = part_of(&p->a, args->transpose_a, tile.member, tile.m.begin, tile.k.begin);
    const lh_bf16 *b = part_of(&p->b, args->transpose_b, tile.member, tile.k.begin, tile.n.begin);
    if (p->plan.slices > 1) {
        const int64_t matrix = slice * args->batch + tile.member;
        shape.c_leading = args->n;
        shape.c_dtype = LH_REAL;
        shape.write = LH_SET;
        return lh_product_run(
            &shape, a, b, p->parts + (matrix * args->m + tile.m.begin) * args->n + tile.n.begin);
    }
    const int64_t at = tile.member * args->c_step + tile.m.begin * args->c_leading + tile.n.begin;
    const lh_status status = lh_product_run(&shape, a, b, lh_at(args->c, at));
    if (lh_matmul_has_finish(args)) finish_tile(args, &tile);
    return status;
}

/* C = the sum of the parts of one row, rounded, or C += that. */
static void join_row(const product *p, int64_t row) {
    const lh_matmul_args *args = p->args;
    const int64_t matrix = args->batch * args->m * args->n;
    const int64_t at = row / args->m * args->c_step + row % args->m * args->c_leading;
    real *sum = p->parts + row * args->n; /* the first part becomes the sum */
    for (int64_t slice = 1; slice < p->plan.slices; ++slice) {
        const real *part = sum + slice * matrix;
#pragma omp simd
        for (int64_t j = 0; j < args->n; ++j)
            sum[j] += part[j];
    }
    const lh_act c = args->c;
    const bool add = args->write == LH_ADD;
    for (int64_t j = 0; j < args->n; ++j)
        lh_store(c.dtype, c.data, at + j, add ? lh_load(c.dtype, c.data, at + j) + sum[j] : sum[j]);
    if (lh_matmul_has_finish(args)) finish_row(args, at, 0, args->n);
}

static void join_slices(const product *p) {
    const int64_t rows = p->args->batch * p->args->m;
    const int64_t chunks = lh_chunk_count(rows, ROWS_OF_JOIN);
#pragma omp parallel for schedule(static)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(rows, ROWS_OF_JOIN, chunk);
        for (int64_t row = range.begin; row < range.end; ++row)
            join_row(p, row);
    }
}

lh_status lh_cpu_matmul_bf16(const lh_launch *launch, const lh_matmul_args *args) {
    product p = {.args = args,
                 .plan = lh_cpu_matmul_plan(args),
                 .a = left_of(args),
                 .b = right_of(args),
                 .parts = launch->workspace};
    uint8_t *memory = (uint8_t *)launch->workspace + parts_bytes(args, &p.plan);
    const size_t left_bytes = rounded_bytes(&p.a);
    round_operand(memory, &p.a);
    round_operand(memory + left_bytes, &p.b);
    const int64_t tasks = lh_matmul_tasks(args, &p.plan);
    const int64_t grain = lh_cpu_matmul_grain(args, &p.plan);
    int worst = LH_OK;
#pragma omp parallel for schedule(dynamic, grain) reduction(max : worst) if (tasks > grain)
    for (int64_t task = 0; task < tasks; ++task) {
        const int status = (int)run_task(&p, task);
        worst = status > worst ? status : worst;
    }
    if (worst == LH_OK && p.plan.slices > 1) join_slices(&p);
    return (lh_status)worst;
}
