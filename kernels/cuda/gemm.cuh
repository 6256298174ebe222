/* What cuBLAS is asked for. It is column-major: C^T = op(B)^T op(A)^T. */
#ifndef LH_KERNELS_CUDA_GEMM_CUH
#define LH_KERNELS_CUDA_GEMM_CUH

#include <cublas_v2.h>

#include "kernels/cuda/launch.cuh"

/* An operand as it lies in memory: `count` matrices of [rows][columns]. */
typedef struct lh_operand {
    const void *data;
    cudaDataType_t type;
    int64_t count, rows, columns, leading, step;
} lh_operand;

/* A product whose operands are what is multiplied: rounded, where they have to be. */
typedef struct lh_gemm {
    const lh_matmul_args *args;
    lh_operand left, right;
    const void *bias; /* as args', or rounded to the type of C */
} lh_gemm;

/* How cuBLAS names what the contract does. */
static inline cudaDataType_t lh_blas_type(lh_dtype dtype) {
    return dtype == LH_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

/* Products of f32 are made of tf32 where that is asked. */
static inline cublasComputeType_t lh_blas_compute(const lh_matmul_args *args) {
    return args->precision == LH_PRECISION_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/* Of an operand. */
static inline cublasOperation_t lh_blas_transpose(bool transposed) {
    return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* cuBLAS wants a leading dimension of at least the rows that it sees, also where there is one. */
static inline int lh_blas_leading(int64_t own, int64_t columns) {
    return (int)lh_max(own, lh_max(columns, 1));
}

/* LH_OK, or LH_EDEVICE after an explanation. */
static inline lh_status lh_blas_check(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return LH_OK;
    lh_device_explain("matmul: %s", cublasGetStatusString(status));
    return LH_EDEVICE;
}

#endif
