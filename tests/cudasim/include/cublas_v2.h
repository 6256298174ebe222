/* The calls of cuBLAS that kernels/cuda uses, answered by the host's BLAS. */
#ifndef LH_TESTS_CUDASIM_CUBLAS_H
#define LH_TESTS_CUDASIM_CUBLAS_H

#include "tests/cudasim/include/cuda_runtime.h"

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};

enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH = 0,
    CUBLAS_PEDANTIC_MATH = 2,
    CUBLAS_TF32_TENSOR_OP_MATH = 3,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
};

enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_16BF = 14 };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_TF32 = 77 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };

typedef struct cublasContext *cublasHandle_t;

CUDASIM_CHECKED cublasStatus_t cublasCreate(cublasHandle_t *handle);
CUDASIM_CHECKED cublasStatus_t cublasDestroy(cublasHandle_t handle);
CUDASIM_CHECKED cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
CUDASIM_CHECKED cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace,
                                                  size_t bytes);
CUDASIM_CHECKED cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
const char *cublasGetStatusString(cublasStatus_t status);

/* C = alpha op(A) op(B) + beta C for each of `batch`, column-major. A and B are float or bf16, and
 * then so may C be; alpha and beta are float. */
CUDASIM_CHECKED cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
    int n, int k, const void *alpha, const void *a, cudaDataType_t a_type, int a_leading,
    long long a_step, const void *b, cudaDataType_t b_type, int b_leading, long long b_step,
    const void *beta, void *c, cudaDataType_t c_type, int c_leading, long long c_step, int batch,
    cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
/* Of one. */
CUDASIM_CHECKED cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int m,
    int n, int k, const void *alpha, const void *a, cudaDataType_t a_type, int a_leading,
    const void *b, cudaDataType_t b_type, int b_leading, const void *beta, void *c,
    cudaDataType_t c_type, int c_leading, cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

#endif
