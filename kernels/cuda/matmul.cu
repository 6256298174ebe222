/* Matrix products through cuBLAS. In bf16 operands that lie in memory as f32 are rounded into
 * workspace first. Bias, activation and residual go along where cuBLASLt knows a way
 * (matmul_epilogue.cu), else in a pass of their own over C. */
#include "kernels/cuda/gemm.cuh"

#include <limits.h>

#include "kernels/cuda/bf16.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/matmul_epilogue.h"
#include "kernels/cuda/unary.cuh"
#include "kernels/matmul_residual.h"

/* Rows of tensor-core operands begin at multiples of 16 bytes. */
enum { BF16_GRAIN = 8, WORKSPACE_ALIGNMENT = 256 };

static lh_operand left_of(const lh_matmul_args *a) {
    return {a->a.data,
            lh_blas_type(a->a.dtype),
            a->a_step == 0 ? lh_min(1, a->batch) : a->batch,
            a->transpose_a ? a->k : a->m,
            a->transpose_a ? a->m : a->k,
            a->a_leading,
            a->a_step};
}

static lh_operand right_of(const lh_matmul_args *a) {
    return {a->b.data,
            lh_blas_type(a->b.dtype),
            a->b_step == 0 ? lh_min(1, a->batch) : a->batch,
            a->transpose_b ? a->n : a->k,
            a->transpose_b ? a->k : a->n,
            a->b_leading,
            a->b_step};
}

/* ---- bf16 ---- */

static int64_t rounded_pitch(const lh_operand &x) {
    return lh_chunk_count(x.columns, BF16_GRAIN) * BF16_GRAIN;
}

/* Workspace for an operand of a product in bf16. */
static size_t rounded_bytes(const lh_operand &x) {
    if (x.type == CUDA_R_16BF) return 0;
    const size_t bytes = (size_t)(x.count * x.rows * rounded_pitch(x)) * sizeof(__nv_bfloat16);
    return lh_round_up(bytes, WORKSPACE_ALIGNMENT);
}

/* Rounds an operand into `memory`, where it then lies, unless it was bf16 all along. */
static lh_status round_operand(const lh_launch *launch, void *memory, lh_operand *x) {
    const lh_operand from = *x;
    if (from.type == CUDA_R_16BF) return LH_OK;
    const real *data = (const real *)from.data;
    const int64_t pitch = rounded_pitch(from), runs = pitch / LH_RUN;
    const bool whole = lh_loads_runs(data, from.leading) && from.step % LH_RUN == 0;
    lh_bf16_run *to = (lh_bf16_run *)memory;
    LH_CUDA_TRY(lh_each(launch, from.count * from.rows * runs, [=] __device__(int64_t i) {
        const int64_t row = i / runs, matrix = row / from.rows;
        const real *begin = data + matrix * from.step + row % from.rows * from.leading;
        to[i] = lh_bf16_load(begin, i % runs * LH_RUN, from.columns, whole);
    }));
    x->data = memory;
    x->type = CUDA_R_16BF;
    x->leading = pitch;
    x->step = from.step == 0 ? 0 : from.rows * pitch;
    return LH_OK;
}

/* The bias as a matrix of one row. */
static lh_operand bias_of(const lh_matmul_args *args) {
    return {args->bias, CUDA_R_32F, 1, 1, args->n, args->n, 0};
}

static bool rounds_bias(const lh_matmul_args *args) {
    return lh_matmul_takes_epilogue(args) && lh_epilogue_rounds_bias(args);
}

size_t lh_cuda_matmul_workspace(const lh_matmul_args *args) {
    if (args->precision != LH_PRECISION_BF16) return 0;
    return rounded_bytes(left_of(args)) + rounded_bytes(right_of(args)) +
           (rounds_bias(args) ? rounded_bytes(bias_of(args)) : 0);
}

static lh_status round_operands(const lh_launch *launch, lh_gemm *gemm) {
    char *memory = (char *)launch->workspace;
    const size_t left_bytes = rounded_bytes(gemm->left), right_bytes = rounded_bytes(gemm->right);
    LH_CUDA_TRY(round_operand(launch, memory, &gemm->left));
    LH_CUDA_TRY(round_operand(launch, memory + left_bytes, &gemm->right));
    if (!rounds_bias(gemm->args)) return LH_OK;
    lh_operand bias = bias_of(gemm->args);
    LH_CUDA_TRY(round_operand(launch, memory + left_bytes + right_bytes, &bias));
    gemm->bias = bias.data;
    return LH_OK;
}

/* ---- the product ---- */

static lh_status multiply(const lh_launch *launch, const lh_gemm *gemm) {
    const lh_matmul_args *a = gemm->args;
    const lh_operand &left = gemm->left, &right = gemm->right;
    const float alpha = a->alpha, beta = a->write == LH_ADD ? 1 : 0;
    const cublasHandle_t blas = lh_stream_of(launch)->blas;
    const cublasOperation_t op_right = lh_blas_transpose(a->transpose_b),
                            op_left = lh_blas_transpose(a->transpose_a);
    const cublasComputeType_t compute = lh_blas_compute(a);
    const int n = (int)a->n, m = (int)a->m, k = (int)a->k,
              right_leading = lh_blas_leading(right.leading, right.columns),
              left_leading = lh_blas_leading(left.leading, left.columns),
              c_leading = lh_blas_leading(a->c_leading, a->n);
    if (a->batch == 1) /* cuBLAS has ways for it that it has not for one of a batch */
        return lh_blas_check(cublasGemmEx(blas, op_right, op_left, n, m, k, &alpha, right.data,
                                          right.type, right_leading, left.data, left.type,
                                          left_leading, &beta, a->c.data, lh_blas_type(a->c.dtype),
                                          c_leading, compute, CUBLAS_GEMM_DEFAULT));
    return lh_blas_check(cublasGemmStridedBatchedEx(
        blas, op_right, op_left, n, m, k, &alpha, right.data, right.type, right_leading, right.step,
        left.data, left.type, left_leading, left.step, &beta, a->c.data, lh_blas_type(a->c.dtype),
        c_leading, a->c_step, (int)a->batch, compute, CUBLAS_GEMM_DEFAULT));
}

/* C = act(C + bias), and what stood before the activation. */
template <typename element>
static lh_status finish(const lh_launch *launch, const lh_matmul_args *args) {
    const lh_matmul_args a = *args;
    element *c = lh_elements<element>(a.c), *pre = lh_elements<element>(a.pre);
    return lh_each_row_run(launch, a.batch * a.m, a.n, [=] __device__(int64_t row, int64_t begin) {
        const int64_t at = row / a.m * a.c_step + row % a.m * a.c_leading;
        lh_run value = lh_load_run(c + at, begin, a.n), bias = {};
        if (a.bias != NULL) bias = lh_load_run(a.bias, begin, a.n);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            value.at[n] += bias.at[n];
        if (pre != NULL) lh_store_run(pre + at, begin, a.n, LH_SET, value);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            value.at[n] = lh_unary_value(a.activation, value.at[n]);
        lh_store_run(c + at, begin, a.n, LH_SET, value);
    });
}

/* C = 0: the sum over no products. */
template <typename element>
static lh_status clear(const lh_launch *launch, const lh_matmul_args *args) {
    const lh_matmul_args a = *args;
    element *c = lh_elements<element>(a.c);
    return lh_each(launch, a.batch * a.m * a.n, [=] __device__(int64_t i) {
        const int64_t row = i / a.n;
        lh_store(&c[row / a.m * a.c_step + row % a.m * a.c_leading + i % a.n], LH_SET, 0);
    });
}

static lh_status by_passes(const lh_launch *launch, lh_gemm gemm) {
    const lh_matmul_args args = *gemm.args;
    const lh_matmul_args onto = lh_matmul_onto_residual(&args);
    if (args.residual.data != NULL) {
        const lh_copy_args copy = lh_matmul_residual_copy(&args);
        LH_CUDA_TRY(lh_cuda_copy(launch, &copy));
        gemm.args = &onto;
    }
    if (args.k > 0) {
        LH_CUDA_TRY(multiply(launch, &gemm));
    } else if (gemm.args->write == LH_SET) {
        LH_CUDA_TRY(LH_FOR_ELEMENT(args.c.dtype, clear, launch, &args));
    }
    return lh_matmul_has_finish(&args) ? LH_FOR_ELEMENT(args.c.dtype, finish, launch, &args)
                                       : LH_OK;
}

lh_status lh_cuda_matmul(const lh_launch *launch, const lh_matmul_args *args) {
    lh_gemm gemm = {args, left_of(args), right_of(args), args->bias};
    bool done = false;
    if (args->batch > INT_MAX) return LH_ESHAPE;
    if (args->batch * args->m * args->n == 0) return LH_OK;
    if (args->k > 0 && args->precision == LH_PRECISION_BF16)
        LH_CUDA_TRY(round_operands(launch, &gemm));
    if (lh_stream_of(launch)->epilogues && lh_matmul_takes_epilogue(args))
        LH_CUDA_TRY(lh_cuda_matmul_epilogue(launch, &gemm, &done));
    return done ? LH_OK : by_passes(launch, gemm);
}
