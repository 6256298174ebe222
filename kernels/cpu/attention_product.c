/* The products of attention: OpenBLAS in f32, oneDNN in bf16. In bf16 an operand that is not bf16
 * in memory is rounded just before it is used, and keys go in pieces of few sizes, since oneDNN
 * makes a kernel for each. */
#include <string.h>

#include "kernels/cpu/attention_inside.h"
#include "kernels/product.h"

/* Rows of an operand in bf16. */
typedef struct coarse {
    const lh_bf16 *data;
    int64_t leading;
} coarse;

/* A part of an operand, and the size that zeros behind its rows and columns bring it to. */
typedef struct extent {
    int64_t begin, rows, columns;
    int64_t to_rows, to_columns;
} extent;

LH_SPECIALIZED void round_row(int64_t columns, real factor, const real *x, lh_bf16 *y) {
#pragma omp simd
    for (int64_t i = 0; i < columns; ++i)
        y[i] = lh_bf16_round(factor * x[i]);
}

static void coarsen_row(lh_attention_operand x, int64_t row, int64_t columns, real factor,
                        lh_bf16 *y) {
    if (x.dtype == LH_BF16)
        memcpy(y, (const lh_bf16 *)x.data + row * x.stride, (size_t)columns * sizeof *y);
    else if (columns == LH_ATTENTION_ROWS)
        round_row(LH_ATTENTION_ROWS, factor, (const real *)x.data + row * x.stride, y);
    else
        round_row(columns, factor, (const real *)x.data + row * x.stride, y);
}

/* A part of x times factor, where it lies or in `memory`. */
static coarse coarsen(lh_attention_operand x, extent part, real factor, lh_bf16 *memory) {
    const bool whole = part.to_rows == part.rows && part.to_columns == part.columns;
    if (x.dtype == LH_BF16 && whole)
        return (coarse){(const lh_bf16 *)x.data + part.begin * x.stride,
                        lh_max(x.stride, part.columns)};
    if (!whole) memset(memory, 0, (size_t)(part.to_rows * part.to_columns) * sizeof *memory);
    for (int64_t row = 0; row < part.rows; ++row)
        coarsen_row(x, part.begin + row, part.columns, factor, memory + row * part.to_columns);
    return (coarse){memory, part.to_columns};
}

/* The next piece of `left` keys. */
static int64_t piece_of(int64_t left) {
    if (left >= LH_ATTENTION_PIECE) return LH_ATTENTION_PIECE;
    return left >= LH_ATTENTION_VECTOR ? left / LH_ATTENTION_VECTOR * LH_ATTENTION_VECTOR : left;
}

static void run(lh_attention_rounding *rounding, lh_product *shape, coarse a, coarse b, real *c) {
    shape->a_leading = a.leading;
    shape->b_leading = b.leading;
    const lh_status status = lh_product_run(shape, a.data, b.data, c);
    if (rounding->status == LH_OK) rounding->status = status;
}

/* Keys along the rows of c. */
static void multiply_rows(lh_attention_rounding *rounding, lh_product shape, real alpha,
                          lh_attention_operand a, lh_attention_operand b, lh_rows c) {
    const int64_t keys = shape.m, k = shape.k;
    shape.k = lh_max(k, lh_product_shortest_bf16());
    const extent plain = {0, k, shape.n, shape.k, shape.n};
    const extent transposed = {0, shape.n, k, shape.n, shape.k};
    const coarse right = coarsen(b, shape.transpose_b ? transposed : plain, 1, rounding->b);
    for (int64_t key = 0; key < keys; key += shape.m) {
        shape.m = piece_of(keys - key);
        const extent part = {key, shape.m, k, shape.m, shape.k};
        const coarse left = coarsen(a, part, alpha, rounding->a);
        run(rounding, &shape, left, right, c.data + key * c.stride);
    }
}

/* Keys along the sum. */
static void multiply_columns(lh_attention_rounding *rounding, lh_product shape,
                             lh_attention_operand a, lh_attention_operand b, real *c) {
    const int64_t keys = shape.k;
    for (int64_t key = 0; key < keys; key += shape.k) {
        shape.k = piece_of(keys - key);
        const extent left_part = {key, shape.k, shape.m, shape.k, shape.m};
        const extent right_part = {key, shape.k, shape.n, shape.k, shape.n};
        const coarse left = coarsen(a, left_part, 1, rounding->a);
        const coarse right = coarsen(b, right_part, 1, rounding->b);
        run(rounding, &shape, left, right, c);
        shape.write = LH_ADD;
    }
}

void lh_cpu_attention_multiply(lh_attention_rounding *rounding, bool transpose_a, bool transpose_b,
                               int64_t m, int64_t n, int64_t k, real alpha, lh_attention_operand a,
                               lh_attention_operand b, lh_write write, lh_rows c) {
    if (rounding == NULL) {
        const lh_rows left = {(real *)(uintptr_t)a.data, a.stride};
        const lh_rows right = {(real *)(uintptr_t)b.data, b.stride};
        lh_blas_multiply(transpose_a, transpose_b, m, n, k, alpha, left, right,
                         write == LH_ADD ? 1 : 0, c);
        return;
    }
    if (m == 0 || n == 0) return;
    const lh_product shape = {.m = m,
                              .n = n,
                              .k = k,
                              .transpose_a = transpose_a,
                              .transpose_b = transpose_b,
                              .alpha = 1,
                              .c_leading = lh_max(c.stride, n),
                              .dtype = LH_BF16,
                              .c_dtype = LH_REAL,
                              .write = write};
    if (transpose_a)
        multiply_columns(rounding, shape, a, b, c.data);
    else
        multiply_rows(rounding, shape, alpha, a, b, c);
}

static size_t operand_bytes(int64_t head_width) {
    const int64_t columns = lh_max(head_width, LH_ATTENTION_ROWS);
    return lh_attention_align((size_t)(LH_ATTENTION_PIECE * columns) * sizeof(lh_bf16));
}

size_t lh_cpu_attention_rounding_bytes(lh_precision precision, int64_t head_width) {
    if (precision != LH_PRECISION_BF16) return 0;
    return lh_attention_align(sizeof(lh_attention_rounding)) + 2 * operand_bytes(head_width);
}

lh_attention_rounding *lh_cpu_attention_rounding(lh_precision precision, int64_t head_width,
                                                 uint8_t *memory) {
    if (precision != LH_PRECISION_BF16) return NULL;
    lh_attention_rounding *rounding = (lh_attention_rounding *)(void *)memory;
    uint8_t *operands = memory + lh_attention_align(sizeof *rounding);
    rounding->status = LH_OK;
    rounding->a = (lh_bf16 *)(void *)operands;
    rounding->b = (lh_bf16 *)(void *)(operands + operand_bytes(head_width));
    return rounding;
}

lh_rows lh_cpu_attention_load(lh_attention_operand x, int64_t count, int64_t width, real *memory) {
    if (x.dtype == LH_REAL) return (lh_rows){(real *)(uintptr_t)x.data, x.stride};
    for (int64_t row = 0; row < count; ++row)
        lh_bf16_widen_run(width, (const lh_bf16 *)x.data + row * x.stride, memory + row * width);
    return (lh_rows){memory, width};
}

void lh_cpu_attention_store(lh_rows x, int64_t count, int64_t width, lh_attention_operand to) {
    for (int64_t row = 0; to.dtype == LH_BF16 && row < count; ++row)
        lh_bf16_round_run(width, x.data + row * x.stride,
                          (lh_bf16 *)(uintptr_t)to.data + row * to.stride);
}
