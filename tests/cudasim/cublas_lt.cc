/* The calls of cuBLASLt that the kernels make, as plain loops on the host. */
#include "tests/cudasim/include/cublasLt.h"

#include "tests/cudasim/cudasim.h"
#include "tests/cudasim/host_product.h"
#include "tests/cudasim/launch.h"
#include "tests/cudasim/simulator.h"

#include <cstring>

enum { LEAST_ALIGNMENT = 16, AUX_GRAIN = 8, PART_AUX = 128, PART_BIAS = 4, NOT_ASKED = 256 };

static long epilogues;
static bool are_found = true;

long cudasim_epilogues(void) {
    return epilogues;
}

void cudasim_find_epilogues(bool found) {
    are_found = found;
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t what, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
    *what = {compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr,
             nullptr, 0};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType_t type,
                                        uint64_t rows, uint64_t columns, int64_t leading) {
    *layout = {type, rows, columns, leading};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
    *preference = {0, CUBLASLT_REDUCTION_SCHEME_MASK, {NOT_ASKED, NOT_ASKED, NOT_ASKED, NOT_ASKED}};
    return CUBLAS_STATUS_SUCCESS;
}

/* A value of another size than the attribute's is refused. */
template <typename type> static cublasStatus_t set(type *place, const void *value, size_t size) {
    if (size != sizeof *place) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(place, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t what,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size) {
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&what->transpose_a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&what->transpose_b, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return set(&what->epilogue, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return set(&what->bias, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
        return set(&what->aux, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
        return set(&what->aux_leading, value, size);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size) {
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        return set(&preference->workspace, value, size);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        return set(&preference->reductions, value, size);
    default:
        return set(&preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                   value, size);
    }
}

static bool takes_bias(const cublasLtMatmulDescOpaque_t &what) {
    return (what.epilogue & PART_BIAS) != 0;
}

static bool leaves_aux(const cublasLtMatmulDescOpaque_t &what) {
    return (what.epilogue & PART_AUX) != 0;
}

static bool shape_good(const cublasLtMatmulDescOpaque_t &what,
                       const cublasLtMatrixLayoutOpaque_t &a, const cublasLtMatrixLayoutOpaque_t &b,
                       const cublasLtMatrixLayoutOpaque_t &c,
                       const cublasLtMatrixLayoutOpaque_t &d) {
    const bool ta = what.transpose_a == CUBLAS_OP_T, tb = what.transpose_b == CUBLAS_OP_T;
    for (const auto *x : {&a, &b, &c, &d})
        if (x->leading < (int64_t)x->rows || x->rows == 0 || x->columns == 0) return false;
    return (ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns &&
           (ta ? a.rows : a.columns) == (tb ? b.columns : b.rows) && c.rows == d.rows &&
           c.columns == d.columns && c.type == d.type &&
           blas_types_good(a.type, b.type, d.type, what.compute) && what.scale == CUDA_R_32F;
}

static bool epilogue_good(const cublasLtMatmulDescOpaque_t &what,
                          const cublasLtMatrixLayoutOpaque_t &d) {
    if (takes_bias(what) != (what.bias != nullptr) || leaves_aux(what) != (what.aux != nullptr))
        return false;
    return !leaves_aux(what) || what.aux_leading >= (int64_t)d.rows;
}

static bool rows_aligned(const cublasLtMatrixLayoutOpaque_t &x) {
    const int64_t size = x.type == CUDA_R_16BF ? 2 : 4;
    return x.leading * size % LEAST_ALIGNMENT == 0;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t what,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t *results,
                                              int *count) {
    *count = 0;
    if (handle == nullptr || wanted < 1 || !shape_good(*what, *a, *b, *c, *d) ||
        !epilogue_good(*what, *d))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!are_found || !rows_aligned(*a) || !rows_aligned(*b) || !rows_aligned(*d) ||
        (leaves_aux(*what) && what->aux_leading % AUX_GRAIN != 0))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *results = {{}, 0, CUBLAS_STATUS_SUCCESS, 1};
    memcpy(results->algo.alignment, preference->alignment, sizeof preference->alignment);
    *count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static float activated(const cublasLtMatmulDescOpaque_t &what, float x) {
    const float cubic = 0.044715f, factor = 0.7978845608f; /* of GELU by tanh */
    const int part = what.epilogue & ~PART_AUX & ~PART_BIAS;
    if (part == CUBLASLT_EPILOGUE_RELU) return x > 0 ? x : 0;
    if (part == CUBLASLT_EPILOGUE_GELU)
        return 0.5f * x * (1 + tanhf(factor * (x + cubic * x * x * x)));
    return x;
}

/* A matrix as it is given to a product. */
struct operand {
    const void *data;
    cublasLtMatrixLayoutOpaque_t layout;
};

static cudaError_t compute(const cublasLtMatmulDescOpaque_t &what, float alpha, const operand &a,
                           const operand &b, float beta, const operand &c, void *d) {
    const device_scope scope;
    const size_t m = c.layout.rows, n = c.layout.columns;
    const bool ta = what.transpose_a == CUBLAS_OP_T;
    const uint64_t k = ta ? a.layout.rows : a.layout.columns;
    std::vector<float> sums(m * n);
    multiply_on_host(
        what.compute == CUBLAS_COMPUTE_32F_FAST_TF32, (int)m, (int)n, (int)k, alpha,
        {a.data, a.layout.type, ta, (int)a.layout.leading},
        {b.data, b.layout.type, what.transpose_b == CUBLAS_OP_T, (int)b.layout.leading},
        sums.data());
    for (size_t i = 0; i < m * n; i++) {
        const size_t row = i % m, column = i / m;
        const size_t at = column * (size_t)c.layout.leading + row;
        float value = sums[i];
        if (beta != 0) value += beta * blas_element(c.data, c.layout.type, at);
        if (takes_bias(what)) value += blas_element(what.bias, c.layout.type, row);
        if (leaves_aux(what))
            store_blas_element(what.aux, c.layout.type, column * (size_t)what.aux_leading + row,
                               value);
        store_blas_element(d, c.layout.type, at, activated(what, value));
    }
    return cudaSuccess;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t what, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspace_bytes, cudaStream_t stream) {
    const void *given[] = {a, b, c, d};
    if (handle == nullptr || !shape_good(*what, *a_layout, *b_layout, *c_layout, *d_layout) ||
        !epilogue_good(*what, *d_layout) || (workspace_bytes > 0) != (workspace != nullptr))
        return CUBLAS_STATUS_INVALID_VALUE;
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)given[i] % algo->alignment[i] != 0) return CUBLAS_STATUS_INVALID_VALUE;
    if ((uintptr_t)what->aux % LEAST_ALIGNMENT != 0) return CUBLAS_STATUS_INVALID_VALUE;
    for (const void *pointer :
         {a, b, c, static_cast<const void *>(d), what->bias, static_cast<const void *>(what->aux),
          static_cast<const void *>(workspace)})
        cudasim_check_pointer("cuBLASLt", pointer);
    count_launch();
    count_unaligned(a, a_layout->type, (int)a_layout->rows, (int)a_layout->leading, 0);
    count_unaligned(b, b_layout->type, (int)b_layout->rows, (int)b_layout->leading, 0);
    epilogues++;
    const cublasLtMatmulDescOpaque_t kept = *what;
    const operand left = {a, *a_layout}, right = {b, *b_layout}, addend = {c, *c_layout};
    const float by = *static_cast<const float *>(alpha), keeps = *static_cast<const float *>(beta);
    submit(stream, reinterpret_cast<const void *>(cublasLtMatmul),
           [=] { return compute(kept, by, left, right, keeps, addend, d); });
    return CUBLAS_STATUS_SUCCESS;
}
