#include "tests/cudasim/include/cublas_v2.h"

#include "tests/cudasim/machine.h"

#include <cblas.h>

struct cublasContext {
    int unused;
};

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t) {
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "success" : "an argument is invalid";
}

static bool argument_good(bool transposed, int rows, int columns, int leading) {
    return leading >= (transposed ? columns : rows) && leading >= 1;
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transpose_a,
                                         cublasOperation_t transpose_b, int m, int n, int k,
                                         const float *alpha, const float *a, int a_leading,
                                         long long a_step, const float *b, int b_leading,
                                         long long b_step, const float *beta, float *c,
                                         int c_leading, long long c_step, int batch) {
    const bool ta = transpose_a == CUBLAS_OP_T, tb = transpose_b == CUBLAS_OP_T;
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || !argument_good(ta, m, k, a_leading) ||
        !argument_good(tb, k, n, b_leading) || !argument_good(false, m, n, c_leading))
        return CUBLAS_STATUS_INVALID_VALUE;
    const device_scope scope;
    for (int i = 0; i < batch; i++)
        cblas_sgemm(CblasColMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                    m, n, k, *alpha, a + i * a_step, a_leading, b + i * b_step, b_leading, *beta,
                    c + i * c_step, c_leading);
    return CUBLAS_STATUS_SUCCESS;
}
