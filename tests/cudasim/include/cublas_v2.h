/* The calls of cuBLAS that kernels/cuda uses, answered by the host's BLAS. */
#ifndef LH_TESTS_CUDASIM_CUBLAS_H
#define LH_TESTS_CUDASIM_CUBLAS_H

#include "tests/cudasim/include/cuda_runtime.h"

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7
};

enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3
};

typedef struct cublasContext *cublasHandle_t;

CUDASIM_CHECKED cublasStatus_t cublasCreate(cublasHandle_t *handle);
CUDASIM_CHECKED cublasStatus_t cublasDestroy(cublasHandle_t handle);
CUDASIM_CHECKED cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
CUDASIM_CHECKED cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace,
                                                  size_t bytes);
CUDASIM_CHECKED cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
const char *cublasGetStatusString(cublasStatus_t status);

/* C = alpha op(A) op(B) + beta C for each of `batch`, column-major. */
CUDASIM_CHECKED cublasStatus_t cublasSgemmStridedBatched(
    cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
    int n, int k, const float *alpha, const float *a, int a_leading, long long a_step,
    const float *b, int b_leading, long long b_step, const float *beta, float *c, int c_leading,
    long long c_step, int batch);

#endif
