/* Products on the host, for the simulated cuBLAS and cuBLASLt. */
#ifndef LH_TESTS_CUDASIM_HOST_PRODUCT_H
#define LH_TESTS_CUDASIM_HOST_PRODUCT_H

#include "tests/cudasim/include/cublas_v2.h"

#include <vector>

struct cublasContext {
    cudaStream_t stream;
};

/* A column-major matrix in device memory. */
struct blas_matrix {
    const void *data;
    cudaDataType_t type;
    bool transposed;
    int leading;
};

float blas_element(const void *data, cudaDataType_t type, size_t i);
void store_blas_element(void *data, cudaDataType_t type, size_t i, float value);

/* Adds alpha op(A) op(B), in tf32 what tensor cores see of it, to `sums`, column-major [m][n] with
 * m elements to a column. */
void multiply_on_host(bool in_tf32, int m, int n, int k, float alpha, blas_matrix a, blas_matrix b,
                      float *sums);

/* Whether the types go together; alpha and beta are float. */
bool blas_types_good(cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                     cublasComputeType_t compute);

/* Where an operand in bf16 is no multiple of 16 bytes from row to row, it is counted. */
void count_unaligned(const void *data, cudaDataType_t type, int elements, int leading,
                     long long step);

#endif
