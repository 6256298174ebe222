/* Matrix products through cuBLAS, which is column-major: C^T = op(B)^T op(A)^T. In bf16 operands
 * that lie in memory as f32 are rounded into workspace first. Bias and activation follow in one
 * pass over C. */
#include <cublas_v2.h>
#include <limits.h>

#include "kernels/cuda/bf16.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/unary.cuh"

/* Rows of tensor-core operands begin at multiples of 16 bytes. */
enum { BF16_GRAIN = 8, WORKSPACE_ALIGNMENT = 256 };

/* An operand as it lies in memory: `count` matrices of [rows][columns]. */
typedef struct operand {
    const void *data;
    cudaDataType_t type;
    int64_t count, rows, columns, leading, step;
} operand;

static cudaDataType_t type_of(lh_dtype dtype) {
    return dtype == LH_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static operand left_of(const lh_matmul_args *a) {
    return {a->a.data,
            type_of(a->a.dtype),
            a->a_step == 0 ? lh_min(1, a->batch) : a->batch,
            a->transpose_a ? a->k : a->m,
            a->transpose_a ? a->m : a->k,
            a->a_leading,
            a->a_step};
}

static operand right_of(const lh_matmul_args *a) {
    return {a->b.data,
            type_of(a->b.dtype),
            a->b_step == 0 ? lh_min(1, a->batch) : a->batch,
            a->transpose_b ? a->n : a->k,
            a->transpose_b ? a->k : a->n,
            a->b_leading,
            a->b_step};
}

/* ---- bf16 ---- */

static int64_t rounded_pitch(const operand &x) {
    return lh_chunk_count(x.columns, BF16_GRAIN) * BF16_GRAIN;
}

/* Workspace for an operand of a product in bf16. */
static size_t rounded_bytes(const operand &x) {
    if (x.type == CUDA_R_16BF) return 0;
    const size_t bytes = (size_t)(x.count * x.rows * rounded_pitch(x)) * sizeof(__nv_bfloat16);
    return lh_round_up(bytes, WORKSPACE_ALIGNMENT);
}

/* Rounds an operand into `memory`, where it then lies, unless it was bf16 all along. */
static lh_status round_operand(const lh_launch *launch, void *memory, operand *x) {
    const operand from = *x;
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

size_t lh_cuda_matmul_workspace(const lh_matmul_args *args) {
    if (args->precision != LH_PRECISION_BF16) return 0;
    return rounded_bytes(left_of(args)) + rounded_bytes(right_of(args));
}

/* ---- the product ---- */

static lh_status check_blas(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return LH_OK;
    lh_device_explain("matmul: %s", cublasGetStatusString(status));
    return LH_EDEVICE;
}

/* cuBLAS wants a leading dimension of at least the rows that it sees, also where there is one. */
static int leading(int64_t own, int64_t columns) {
    return (int)lh_max(own, lh_max(columns, 1));
}

static lh_status multiply(const lh_launch *launch, const lh_matmul_args *a) {
    const float alpha = a->alpha, beta = a->write == LH_ADD ? 1 : 0;
    operand left = left_of(a), right = right_of(a);
    if (a->precision == LH_PRECISION_BF16) {
        char *memory = (char *)launch->workspace;
        const size_t left_bytes = rounded_bytes(left);
        LH_CUDA_TRY(round_operand(launch, memory, &left));
        LH_CUDA_TRY(round_operand(launch, memory + left_bytes, &right));
    }
    const cublasHandle_t blas = lh_stream_of(launch)->blas;
    const cublasOperation_t op_right = a->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                            op_left = a->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasComputeType_t compute =
        a->precision == LH_PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const int n = (int)a->n, m = (int)a->m, k = (int)a->k,
              right_leading = leading(right.leading, right.columns),
              left_leading = leading(left.leading, left.columns),
              c_leading = leading(a->c_leading, a->n);
    if (a->batch == 1) /* cuBLAS has ways for it that it has not for one of a batch */
        return check_blas(cublasGemmEx(blas, op_right, op_left, n, m, k, &alpha, right.data,
                                       right.type, right_leading, left.data, left.type,
                                       left_leading, &beta, a->c.data, type_of(a->c.dtype),
                                       c_leading, compute, CUBLAS_GEMM_DEFAULT));
    return check_blas(cublasGemmStridedBatchedEx(
        blas, op_right, op_left, n, m, k, &alpha, right.data, right.type, right_leading, right.step,
        left.data, left.type, left_leading, left.step, &beta, a->c.data, type_of(a->c.dtype),
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

lh_status lh_cuda_matmul(const lh_launch *launch, const lh_matmul_args *args) {
    if (args->batch > INT_MAX) return LH_ESHAPE;
    if (args->batch * args->m * args->n == 0) return LH_OK;
    if (args->k > 0) {
        LH_CUDA_TRY(multiply(launch, args));
    } else if (args->write == LH_SET) {
        LH_CUDA_TRY(LH_FOR_ELEMENT(args->c.dtype, clear, launch, args));
    }
    return lh_matmul_has_finish(args) ? LH_FOR_ELEMENT(args->c.dtype, finish, launch, args) : LH_OK;
}
