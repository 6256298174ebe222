/* A product with what follows it in one pass over C: bias and activation as an epilogue of
 * cuBLASLt's, a residual as its C beside another D. */
#include "kernels/cuda/matmul_epilogue.h"

#include <cublasLt.h>

#include "kernels/cuda/gemm.cuh"

/* A, B, C and D as cuBLASLt wants them described. */
typedef struct problem {
    cublasLtMatmulDescOpaque_t what;
    cublasLtMatrixLayoutOpaque_t a, b, c;
    cublasLtMatmulPreferenceOpaque_t preference;
} problem;

static cublasLtEpilogue_t epilogue_of(const lh_matmul_args *args) {
    const bool bias = args->bias != NULL;
    if (args->activation == LH_UNARY_RELU)
        return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    if (args->activation == LH_UNARY_GELU && args->pre.data != NULL)
        return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    if (args->activation == LH_UNARY_GELU)
        return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

template <typename type>
static lh_status describe(problem *p, cublasLtMatmulDescAttributes_t attribute, type value) {
    return lh_blas_check(cublasLtMatmulDescSetAttribute(&p->what, attribute, &value, sizeof value));
}

template <typename type>
static lh_status prefer(problem *p, cublasLtMatmulPreferenceAttributes_t attribute, type value) {
    return lh_blas_check(
        cublasLtMatmulPreferenceSetAttribute(&p->preference, attribute, &value, sizeof value));
}

static lh_status describe_epilogue(problem *p, const lh_gemm *gemm) {
    const lh_matmul_args *args = gemm->args;
    LH_CUDA_TRY(describe(p, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(args)));
    if (args->bias != NULL) LH_CUDA_TRY(describe(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm->bias));
    if (args->pre.data == NULL) return LH_OK;
    LH_CUDA_TRY(describe(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, args->pre.data));
    return describe(p, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, args->c_leading);
}

/* A matrix of rows as cuBLAS sees it: a column for each. */
static lh_status describe_matrix(cublasLtMatrixLayout_t layout, const lh_operand &x) {
    return lh_blas_check(cublasLtMatrixLayoutInit(layout, x.type, (uint64_t)x.columns,
                                                  (uint64_t)x.rows,
                                                  lh_blas_leading(x.leading, x.columns)));
}

static lh_status describe_product(problem *p, const lh_gemm *gemm) {
    const lh_matmul_args *args = gemm->args;
    const lh_operand c = {
        args->c.data, lh_blas_type(args->c.dtype), 1, args->m, args->n, args->c_leading, 0};
    LH_CUDA_TRY(lh_blas_check(cublasLtMatmulDescInit(&p->what, lh_blas_compute(args), CUDA_R_32F)));
    LH_CUDA_TRY(describe(p, CUBLASLT_MATMUL_DESC_TRANSA, lh_blas_transpose(args->transpose_b)));
    LH_CUDA_TRY(describe(p, CUBLASLT_MATMUL_DESC_TRANSB, lh_blas_transpose(args->transpose_a)));
    LH_CUDA_TRY(describe_matrix(&p->a, gemm->right));
    LH_CUDA_TRY(describe_matrix(&p->b, gemm->left));
    return describe_matrix(&p->c, c);
}

/* Parts of a sum whose result is bf16 are added in f32, as in other products (device.cu). */
static lh_status describe_preference(problem *p, const lh_cuda_stream *stream) {
    const uint32_t alignment = LH_EPILOGUE_ALIGNMENT;
    LH_CUDA_TRY(lh_blas_check(cublasLtMatmulPreferenceInit(&p->preference)));
    LH_CUDA_TRY(prefer(p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, stream->blas_workspace_bytes));
    LH_CUDA_TRY(prefer(
        p, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        (uint32_t)(CUBLASLT_REDUCTION_SCHEME_MASK & ~CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE)));
    LH_CUDA_TRY(prefer(p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment));
    LH_CUDA_TRY(prefer(p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment));
    LH_CUDA_TRY(prefer(p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment));
    return prefer(p, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);
}

lh_status lh_cuda_matmul_epilogue(const lh_launch *launch, const lh_gemm *gemm, bool *done) {
    const lh_cuda_stream *stream = lh_stream_of(launch);
    const lh_matmul_args *args = gemm->args;
    const cublasLtHandle_t lt = (cublasLtHandle_t)stream->blas; /* which every cuBLAS handle is */
    const bool onto = args->residual.data != NULL;
    const float alpha = args->alpha, beta = onto ? 1 : 0;
    const void *c = onto ? args->residual.data : args->c.data;
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    problem p = {};
    *done = false;
    LH_CUDA_TRY(describe_product(&p, gemm));
    LH_CUDA_TRY(describe_epilogue(&p, gemm));
    LH_CUDA_TRY(describe_preference(&p, stream));
    const cublasStatus_t asked = cublasLtMatmulAlgoGetHeuristic(lt, &p.what, &p.a, &p.b, &p.c, &p.c,
                                                                &p.preference, 1, &found, &count);
    if (asked == CUBLAS_STATUS_NOT_SUPPORTED || count == 0) return LH_OK;
    LH_CUDA_TRY(lh_blas_check(asked));
    *done = true;
    return lh_blas_check(cublasLtMatmul(lt, &p.what, &alpha, gemm->right.data, &p.a,
                                        gemm->left.data, &p.b, &beta, c, &p.c, args->c.data, &p.c,
                                        &found.algo, stream->blas_workspace,
                                        stream->blas_workspace_bytes, stream->stream));
}
