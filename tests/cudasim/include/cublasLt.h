/* The calls of cuBLASLt that kernels/cuda uses, answered by the host's BLAS. */
#ifndef LH_TESTS_CUDASIM_CUBLASLT_H
#define LH_TESTS_CUDASIM_CUBLASLT_H

#include "tests/cudasim/include/cublas_v2.h"

enum cublasLtEpilogue_t {
    CUBLASLT_EPILOGUE_DEFAULT = 1,
    CUBLASLT_EPILOGUE_RELU = 2,
    CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_GELU = 32,
    CUBLASLT_EPILOGUE_GELU_BIAS = 36,
    CUBLASLT_EPILOGUE_GELU_AUX = 160,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164
};

enum cublasLtMatmulDescAttributes_t {
    CUBLASLT_MATMUL_DESC_TRANSA = 3,
    CUBLASLT_MATMUL_DESC_TRANSB = 4,
    CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
    CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12
};

enum cublasLtMatmulPreferenceAttributes_t {
    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8
};

enum cublasLtReductionScheme_t {
    CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
    CUBLASLT_REDUCTION_SCHEME_MASK = 7
};

/* The bias, and what GELU was of, are in the type of D. */
struct cublasLtMatmulDescOpaque_t {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    cublasOperation_t transpose_a, transpose_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    void *aux;
    int64_t aux_leading;
};

struct cublasLtMatrixLayoutOpaque_t {
    cudaDataType_t type;
    uint64_t rows, columns;
    int64_t leading;
};

struct cublasLtMatmulPreferenceOpaque_t {
    uint64_t workspace;
    uint32_t reductions;
    uint32_t alignment[4]; /* of A, B, C and D, in bytes */
};

/* Good for addresses that are as aligned as was asked. */
struct cublasLtMatmulAlgo_t {
    uint32_t alignment[4];
};

struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
};

typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulPreferenceOpaque_t *cublasLtMatmulPreference_t;
typedef struct cublasLtContext *cublasLtHandle_t; /* or any cublasHandle_t */

CUDASIM_CHECKED cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t what,
                                                      cublasComputeType_t compute,
                                                      cudaDataType_t scale);
CUDASIM_CHECKED cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t what, cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t size);
CUDASIM_CHECKED cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout,
                                                        cudaDataType_t type, uint64_t rows,
                                                        uint64_t columns, int64_t leading);
CUDASIM_CHECKED cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference);
CUDASIM_CHECKED cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void *value, size_t size);

/* CUBLAS_STATUS_NOT_SUPPORTED where a GPU has no such kernel: rows of other than 16 bytes'
 * multiples, what GELU was of in rows of other than 8 elements' multiples. */
CUDASIM_CHECKED cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t what, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t *results,
    int *count);

/* D = epilogue(alpha op(A) op(B) + beta C), column-major. */
CUDASIM_CHECKED cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t what,
                                              const void *alpha, const void *a,
                                              cublasLtMatrixLayout_t a_layout, const void *b,
                                              cublasLtMatrixLayout_t b_layout, const void *beta,
                                              const void *c, cublasLtMatrixLayout_t c_layout,
                                              void *d, cublasLtMatrixLayout_t d_layout,
                                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                                              size_t workspace_bytes, cudaStream_t stream);

#endif
