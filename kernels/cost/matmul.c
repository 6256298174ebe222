/* Of matrix products: kernels/cuda/matmul.cu, matmul_epilogue.cu. */
#include "kernels/cost/cost.h"
#include "kernels/cuda/matmul_epilogue.h"

enum { BF16_GRAIN = 8 }; /* rows of operands begin at multiples of so many elements */

/* An operand as it lies in memory. */
typedef struct operand {
    lh_act act;
    double rows; /* over all its matrices */
    int64_t columns;
} operand;

static operand operand_of(lh_act act, int64_t step, int64_t batch, int64_t rows, int64_t columns) {
    const int64_t matrices = step == 0 && batch > 1 ? 1 : batch;
    return (operand){.act = act, .rows = (double)(matrices * rows), .columns = columns};
}

/* Reading it; before that, where it is not bf16 but is multiplied as such, rounding it. */
static void read_operand(lh_cost *cost, const operand *x, lh_precision precision) {
    cost->read += lh_cost_bytes(x->act, x->rows * (double)x->columns);
    if (precision != LH_PRECISION_BF16 || x->act.dtype == LH_BF16) return;
    const double pitch = (double)(lh_chunk_count(x->columns, BF16_GRAIN) * BF16_GRAIN);
    cost->launches += 1;
    cost->written += 2 * x->rows * pitch;
    cost->read += 2 * x->rows * pitch;
}

static void multiply(lh_cost *cost, const lh_matmul_args *a, double results) {
    const operand left = a->transpose_a ? operand_of(a->a, a->a_step, a->batch, a->k, a->m)
                                        : operand_of(a->a, a->a_step, a->batch, a->m, a->k);
    const operand right = a->transpose_b ? operand_of(a->b, a->b_step, a->batch, a->n, a->k)
                                         : operand_of(a->b, a->b_step, a->batch, a->k, a->n);
    read_operand(cost, &left, a->precision);
    read_operand(cost, &right, a->precision);
    cost->launches += 1;
    cost->products = 2.0 * results * (double)a->k;
    lh_cost_write(cost, lh_cost_bytes(a->c, results), a->write);
}

/* Bias, activation and residual along with the product: nothing of C is read back. */
static void take_along(lh_cost *cost, const lh_matmul_args *a, double results) {
    if (a->precision == LH_PRECISION_BF16 && lh_epilogue_rounds_bias(a)) {
        cost->launches += 1;
        cost->written += 2 * (double)a->n;
        cost->read += 2 * (double)a->n;
    }
    cost->read += lh_cost_reals(a->bias, (double)a->n) + lh_cost_bytes(a->residual, results);
    cost->written += lh_cost_bytes(a->pre, results);
}

/* Bias and activation in a pass of their own, a residual copied to C before. */
static void pass_over(lh_cost *cost, const lh_matmul_args *a, double results) {
    const double bytes = lh_cost_bytes(a->c, results);
    if (a->residual.data != NULL) { /* which is then read again */
        cost->launches += 1;
        cost->read += 2 * bytes;
        cost->written += bytes;
    }
    if (!lh_matmul_has_finish(a)) return;
    cost->launches += 1;
    cost->flops += 10 * results;
    cost->read += bytes + lh_cost_reals(a->bias, (double)a->n);
    cost->written += bytes + lh_cost_bytes(a->pre, results);
}

lh_cost lh_cost_matmul(const lh_matmul_args *args) {
    const double results = (double)args->batch * (double)args->m * (double)args->n;
    lh_cost cost = {.kind = LH_COST_PRODUCT, .precision = args->precision};
    if (results == 0) return cost;
    if (args->k > 0) {
        multiply(&cost, args, results);
    } else if (args->write == LH_SET && args->residual.data == NULL) {
        cost.launches = 1;
        cost.written = lh_cost_bytes(args->c, results);
    }
    if (lh_matmul_takes_epilogue(args))
        take_along(&cost, args, results);
    else
        pass_over(&cost, args, results);
    return cost;
}
