/* The calls of cuBLAS that the kernels make, as plain loops on the host. */
#include "tests/cudasim/cudasim.h"
#include "tests/cudasim/host_product.h"
#include "tests/cudasim/include/cuda_bf16.h"
#include "tests/cudasim/simulator.h"

#include <cblas.h>

cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = new cublasContext();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
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

float blas_element(const void *data, cudaDataType_t type, size_t i) {
    return type == CUDA_R_16BF ? __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[i])
                               : static_cast<const float *>(data)[i];
}

void store_blas_element(void *data, cudaDataType_t type, size_t i, float value) {
    if (type == CUDA_R_16BF)
        static_cast<__nv_bfloat16 *>(data)[i] = __float2bfloat16_rn(value);
    else
        static_cast<float *>(data)[i] = value;
}

/* A matrix of A or B as floats, [leading][columns] as it lies in memory; in tf32 what the tensor
 * cores see of them. */
static std::vector<float> floats_of(const blas_matrix &x, bool in_tf32, int rows, int columns) {
    std::vector<float> out((size_t)x.leading * (size_t)columns);
    for (int j = 0; j < columns; j++) {
        for (int i = 0; i < rows; i++) {
            const size_t at = (size_t)j * (size_t)x.leading + (size_t)i;
            out[at] = blas_element(x.data, x.type, at);
            if (in_tf32 && !isnan(out[at]))
                out[at] = __uint_as_float((__float_as_uint(out[at]) + 0x1000u) & ~0x1fffu);
        }
    }
    return out;
}

void multiply_on_host(bool in_tf32, int m, int n, int k, float alpha, blas_matrix a, blas_matrix b,
                      float *sums) {
    const std::vector<float> left =
        floats_of(a, in_tf32, a.transposed ? k : m, a.transposed ? m : k);
    const std::vector<float> right =
        floats_of(b, in_tf32, b.transposed ? n : k, b.transposed ? k : n);
    cblas_sgemm(CblasColMajor, a.transposed ? CblasTrans : CblasNoTrans,
                b.transposed ? CblasTrans : CblasNoTrans, m, n, k, alpha, left.data(), a.leading,
                right.data(), b.leading, 1, sums, m);
}

static bool shape_good(bool transposed, int rows, int columns, int leading) {
    return leading >= (transposed ? columns : rows) && leading >= 1;
}

bool blas_types_good(cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                     cublasComputeType_t compute) {
    if (a == CUDA_R_32F) return b == a && c == a;
    return a == CUDA_R_16BF && b == a && compute == CUBLAS_COMPUTE_32F;
}

/* C = alpha op(A) op(B) + beta C, rounded once. What C held is read only when it is kept. */
static void one_product(bool in_tf32, int m, int n, int k, float alpha, blas_matrix a,
                        blas_matrix b, float beta, void *c, cudaDataType_t type, int leading) {
    std::vector<float> sums((size_t)m * (size_t)n);
    const auto place = [=](size_t i) { return i / (size_t)m * (size_t)leading + i % (size_t)m; };
    for (size_t i = 0; i < sums.size() && beta != 0; i++)
        sums[i] = beta * blas_element(c, type, place(i));
    multiply_on_host(in_tf32, m, n, k, alpha, a, b, sums.data());
    for (size_t i = 0; i < sums.size(); i++)
        store_blas_element(c, type, place(i), sums[i]);
}

static long unaligned;

long cudasim_unaligned_operands(void) {
    return unaligned;
}

/* Of rows with so many elements, `leading` apart, and matrices `step` apart. */
void count_unaligned(const void *data, cudaDataType_t type, int elements, int leading,
                     long long step) {
    enum { grain = 16 / sizeof(__nv_bfloat16) };
    if (type != CUDA_R_16BF) return;
    unaligned += (uintptr_t)data % 16 != 0 || elements % grain != 0 || leading % grain != 0 ||
                 step % grain != 0;
}

static const void *matrix_at(const void *data, cudaDataType_t type, long long offset) {
    const size_t size = type == CUDA_R_16BF ? sizeof(__nv_bfloat16) : sizeof(float);
    return static_cast<const char *>(data) + offset * (long long)size;
}

static cublasStatus_t multiply_all(const void *what, cublasHandle_t handle,
                                   cublasOperation_t transpose_a, cublasOperation_t transpose_b,
                                   int m, int n, int k, const void *alpha, const void *a,
                                   cudaDataType_t a_type, int a_leading, long long a_step,
                                   const void *b, cudaDataType_t b_type, int b_leading,
                                   long long b_step, const void *beta, void *c,
                                   cudaDataType_t c_type, int c_leading, long long c_step,
                                   int batch, cublasComputeType_t compute) {
    const bool ta = transpose_a == CUBLAS_OP_T, tb = transpose_b == CUBLAS_OP_T;
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (m < 0 || n < 0 || k < 0 || batch < 0 || !shape_good(ta, m, k, a_leading) ||
        !shape_good(tb, k, n, b_leading) || !shape_good(false, m, n, c_leading) ||
        !blas_types_good(a_type, b_type, c_type, compute))
        return CUBLAS_STATUS_INVALID_VALUE;
    const float by = *static_cast<const float *>(alpha), keeps = *static_cast<const float *>(beta);
    for (const void *operand : {a, b, static_cast<const void *>(c)})
        cudasim_check_pointer("cuBLAS", operand);
    count_launch();
    count_unaligned(a, a_type, ta ? k : m, a_leading, a_step);
    count_unaligned(b, b_type, tb ? n : k, b_leading, b_step);
    const auto run = [=] {
        const device_scope scope;
        const bool in_tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
        for (int i = 0; i < batch; i++)
            one_product(in_tf32, m, n, k, by,
                        {matrix_at(a, a_type, i * a_step), a_type, ta, a_leading},
                        {matrix_at(b, b_type, i * b_step), b_type, tb, b_leading}, keeps,
                        const_cast<void *>(matrix_at(c, c_type, i * c_step)), c_type, c_leading);
        return cudaSuccess;
    };
    submit(handle->stream, what, run);
    return CUBLAS_STATUS_SUCCESS;
}

/* One product is asked of cublasGemmEx: on a GPU that has more ways to make it. */
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                                          cublasOperation_t transpose_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType_t a_type,
                                          int a_leading, long long a_step, const void *b,
                                          cudaDataType_t b_type, int b_leading, long long b_step,
                                          const void *beta, void *c, cudaDataType_t c_type,
                                          int c_leading, long long c_step, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
    if (batch < 2) return CUBLAS_STATUS_INVALID_VALUE;
    return multiply_all(reinterpret_cast<const void *>(cublasGemmStridedBatchedEx), handle,
                        transpose_a, transpose_b, m, n, k, alpha, a, a_type, a_leading, a_step, b,
                        b_type, b_leading, b_step, beta, c, c_type, c_leading, c_step, batch,
                        compute);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transpose_a,
                            cublasOperation_t transpose_b, int m, int n, int k, const void *alpha,
                            const void *a, cudaDataType_t a_type, int a_leading, const void *b,
                            cudaDataType_t b_type, int b_leading, const void *beta, void *c,
                            cudaDataType_t c_type, int c_leading, cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
    return multiply_all(reinterpret_cast<const void *>(cublasGemmEx), handle, transpose_a,
                        transpose_b, m, n, k, alpha, a, a_type, a_leading, 0, b, b_type, b_leading,
                        0, beta, c, c_type, c_leading, 0, 1, compute);
}
