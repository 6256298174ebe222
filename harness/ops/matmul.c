/* Matrix products, batched, with either operand transposed. */
#include "harness/ops/op.h"

/* c = op(a) op(b) for `batch` products; a is stored [m][k] or [k][m], b [k][n] or [n][k]. */
typedef struct product {
    int64_t batch, m, n, k;
    bool transpose_a, transpose_b;
} product;

/* x or y as an operand: its matrix and how it lies. */
typedef struct operand {
    lh_act act;
    int64_t leading, step;
    bool transpose;
} operand;

static operand transposed(operand x) {
    x.transpose = !x.transpose;
    return x;
}

static lh_status multiply(lh_tape *tape, int64_t batch, int64_t m, int64_t n, int64_t k, operand a,
                          operand b, lh_gradient *to) {
    lh_matmul_args args = {.batch = batch,
                           .m = m,
                           .n = n,
                           .k = k,
                           .transpose_a = a.transpose,
                           .transpose_b = b.transpose,
                           .alpha = 1,
                           .a = a.act,
                           .a_leading = a.leading,
                           .a_step = a.step,
                           .b = b.act,
                           .b_leading = b.leading,
                           .b_step = b.step,
                           .c_leading = n,
                           .c_step = m * n};
    LH_TRY(lh_gradient_write(to, &args.c, &args.write));
    return lh_run_matmul(lh_tape_pool(tape), &args);
}

/* With A' = op(a), B' = op(b): dA' = dC B'^T, dB' = A'^T dC; stored transposed where a or b is. */
static lh_status matmul_backward(lh_tape *tape, lh_node *node) {
    const product *p = node->args;
    const operand dc = {lh_gradient_read(node->output[0]), p->n, p->m * p->n, false};
    const operand a = {lh_tensor_activation(node->saved[0]), p->transpose_a ? p->m : p->k,
                       p->m * p->k, p->transpose_a};
    const operand b = {lh_tensor_activation(node->saved[1]), p->transpose_b ? p->k : p->n,
                       p->k * p->n, p->transpose_b};
    const operand dct = transposed(dc), at = transposed(a), bt = transposed(b);
    if (node->input[0] != NULL && !p->transpose_a) {
        LH_TRY(multiply(tape, p->batch, p->m, p->k, p->n, dc, bt, node->input[0]));
    } else if (node->input[0] != NULL) {
        LH_TRY(multiply(tape, p->batch, p->k, p->m, p->n, b, dct, node->input[0]));
    }
    if (node->input[1] != NULL && !p->transpose_b) {
        LH_TRY(multiply(tape, p->batch, p->k, p->n, p->m, at, dc, node->input[1]));
    } else if (node->input[1] != NULL) {
        LH_TRY(multiply(tape, p->batch, p->n, p->k, p->m, dct, a, node->input[1]));
    }
    return LH_OK;
}

/* Fills in p and the result's shape; false when the operands do not fit. */
static bool fit(const lh_tensor *a, const lh_tensor *b, product *p, int64_t *shape) {
    const int rank = a->rank;
    if (rank < 2 || b->rank != rank) return false;
    p->batch = 1;
    for (int i = 0; i < rank - 2; ++i) {
        if (a->shape[i] != b->shape[i]) return false;
        shape[i] = a->shape[i];
        p->batch *= a->shape[i];
    }
    const int64_t *as = a->shape + rank - 2, *bs = b->shape + rank - 2;
    p->m = as[p->transpose_a ? 1 : 0];
    p->k = as[p->transpose_a ? 0 : 1];
    p->n = bs[p->transpose_b ? 0 : 1];
    shape[rank - 2] = p->m;
    shape[rank - 1] = p->n;
    return bs[p->transpose_b ? 1 : 0] == p->k;
}

lh_tensor *lh_matmul(lh_tape *tape, lh_tensor *a, lh_tensor *b, bool transpose_a,
                     bool transpose_b) {
    a = lh_contiguous(tape, a);
    b = lh_contiguous(tape, b);
    if (a == NULL || b == NULL) return NULL;
    product p = {.transpose_a = transpose_a, .transpose_b = transpose_b};
    int64_t shape[LH_MAX_RANK];
    if (!fit(a, b, &p, shape)) {
        return LH_OP_FAIL("matmul: inner or batch sizes differ: a %s%s, b %s%s", lh_shape_text(a),
                          transpose_a ? "^T" : "", lh_shape_text(b), transpose_b ? "^T" : "");
    }
    lh_tensor *c = lh_tape_new(tape, lh_pool_activation(lh_tape_pool(tape)), a->rank, shape);
    if (c == NULL) return NULL;
    const lh_matmul_args args = {.batch = p.batch,
                                 .m = p.m,
                                 .n = p.n,
                                 .k = p.k,
                                 .transpose_a = transpose_a,
                                 .transpose_b = transpose_b,
                                 .alpha = 1,
                                 .a = lh_tensor_activation(a),
                                 .a_leading = transpose_a ? p.m : p.k,
                                 .a_step = p.m * p.k,
                                 .b = lh_tensor_activation(b),
                                 .b_leading = transpose_b ? p.k : p.n,
                                 .b_step = p.k * p.n,
                                 .c = lh_tensor_activation(c),
                                 .c_leading = p.n,
                                 .c_step = p.m * p.n};
    lh_tape_count_flops(tape, 2.0 * (double)p.batch * (double)p.m * (double)p.n * (double)p.k);
    const lh_record record = {.op = "matmul",
                              .backward = matmul_backward,
                              LH_INPUTS(a, b),
                              LH_OUTPUTS(c),
                              LH_SAVED(a, b),
                              .args = &p,
                              .args_bytes = sizeof p};
    return lh_op_done(tape, lh_run_matmul(lh_tape_pool(tape), &args), c, &record);
}
