/* Matrix products through cuBLAS, which is column-major: C^T = op(B)^T op(A)^T. Bias and activation
 * follow in one pass over C. */
#include <cublas_v2.h>
#include <limits.h>

#include "kernels/cuda/unary.cuh"

size_t lh_cuda_matmul_workspace(const lh_matmul_args *args) {
    (void)args;
    return 0;
}

static lh_status check_blas(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return LH_OK;
    lh_device_explain("matmul: %s", cublasGetStatusString(status));
    return LH_EDEVICE;
}

static bool fits(int64_t size) {
    return size >= 0 && size <= INT_MAX;
}

/* cuBLAS wants a leading dimension of at least the rows that it sees, also where there is one. */
static int leading(int64_t given, int64_t columns) {
    return (int)lh_max(given, lh_max(columns, 1));
}

static lh_status multiply(const lh_launch *launch, const lh_matmul_args *a) {
    const real beta = a->write == LH_ADD ? 1 : 0;
    return check_blas(cublasSgemmStridedBatched(
        lh_stream_of(launch)->blas, a->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
        a->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)a->n, (int)a->m, (int)a->k, &a->alpha,
        a->b, leading(a->b_leading, a->transpose_b ? a->k : a->n), a->b_step, a->a,
        leading(a->a_leading, a->transpose_a ? a->m : a->k), a->a_step, &beta, a->c,
        leading(a->c_leading, a->n), a->c_step, (int)a->batch));
}

/* C = act(C + bias), and what stood before the activation. */
static lh_status finish(const lh_launch *launch, const lh_matmul_args *args) {
    const lh_matmul_args a = *args;
    return lh_each(launch, a.batch * a.m * a.n, [=] __device__(int64_t i) {
        const int64_t column = i % a.n, row = i / a.n;
        const int64_t at = row / a.m * a.c_step + row % a.m * a.c_leading + column;
        const real value = a.c[at] + (a.bias != NULL ? a.bias[column] : 0);
        if (a.pre != NULL) a.pre[at] = value;
        a.c[at] = lh_unary_value(a.activation, value);
    });
}

lh_status lh_cuda_matmul(const lh_launch *launch, const lh_matmul_args *args) {
    const bool epilogue =
        args->bias != NULL || args->pre != NULL || args->activation != LH_UNARY_IDENTITY;
    if (!fits(args->m) || !fits(args->n) || !fits(args->k) || !fits(args->batch)) return LH_ESHAPE;
    if (!lh_unary_known(args->activation)) return LH_EOPTION;
    if (args->write == LH_ADD && epilogue) return LH_EOPTION;
    if (args->batch * args->m * args->n == 0) return LH_OK;
    if (args->k > 0) {
        LH_CUDA_TRY(multiply(launch, args));
    } else if (args->write == LH_SET) {
        const lh_matmul_args a = *args;
        LH_CUDA_TRY(lh_each(launch, a.batch * a.m * a.n, [=] __device__(int64_t i) {
            const int64_t row = i / a.n;
            a.c[row / a.m * a.c_step + row % a.m * a.c_leading + i % a.n] = 0;
        }));
    }
    return epilogue ? finish(launch, args) : LH_OK;
}
