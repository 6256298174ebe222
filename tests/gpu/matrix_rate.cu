/* What the card reaches, as the measure of everything else: matrix products of cuBLAS in bf16, tf32
 * and f32 on random numbers, and the rate of copying. Prints CSV: name,result,size,value,unit; bf16
 * twice, by what a product leaves: the better is the rate, and training steps leave bf16. */
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 8192, WARMUP = 3, REPEATS = 20, COPIES = 20 };

static void must(bool good, const char *what) {
    if (good) return;
    fprintf(stderr, "matrix_rate: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

#define MUST(call) must((call) == 0, #call)

__global__ void fill(float *x, __nv_bfloat16 *rounded, size_t count) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned mixed = (unsigned)i * 2654435761u;
    x[i] = (float)((mixed ^ mixed >> 15) & 0xffffu) / 32768.0f - 1.0f;
    rounded[i] = __float2bfloat16_rn(x[i]);
}

/* Milliseconds since `from`. */
static float elapsed(cudaEvent_t from, cudaEvent_t to) {
    float ms = 0;
    MUST(cudaEventRecord(to));
    MUST(cudaEventSynchronize(to));
    MUST(cudaEventElapsedTime(&ms, from, to));
    return ms;
}

typedef struct bench {
    cublasHandle_t blas;
    cudaEvent_t from, to;
    float *x, *y, *z;
    __nv_bfloat16 *x16, *y16;
} bench;

static void measure(const bench *b, const char *name, const void *x, const void *y,
                    cudaDataType_t type, cudaDataType_t result, cublasComputeType_t compute) {
    const float one = 1, zero = 0;
    float ms = 0;
    for (int i = 0; i < WARMUP + REPEATS; ++i) {
        if (i == WARMUP) MUST(cudaEventRecord(b->from));
        MUST(cublasGemmEx(b->blas, CUBLAS_OP_N, CUBLAS_OP_N, SIZE, SIZE, SIZE, &one, x, type, SIZE,
                          y, type, SIZE, &zero, b->z, result, SIZE, compute, CUBLAS_GEMM_DEFAULT));
    }
    ms = elapsed(b->from, b->to) / REPEATS;
    printf("%s,%s,%d,%.6g,FLOP/s\n", name, result == CUDA_R_16BF ? "bf16" : "f32", SIZE,
           2e3 * SIZE * SIZE * (double)SIZE / ms);
}

int main() {
    const size_t count = (size_t)SIZE * SIZE;
    bench b;
    MUST(cublasCreate(&b.blas));
    MUST(cudaEventCreate(&b.from));
    MUST(cudaEventCreate(&b.to));
    MUST(cudaMalloc(&b.x, count * sizeof *b.x));
    MUST(cudaMalloc(&b.y, count * sizeof *b.y));
    MUST(cudaMalloc(&b.z, count * sizeof *b.z));
    MUST(cudaMalloc(&b.x16, count * sizeof *b.x16));
    MUST(cudaMalloc(&b.y16, count * sizeof *b.y16));
    fill<<<(unsigned)(count / 256), 256>>>(b.x, b.x16, count);
    fill<<<(unsigned)(count / 256), 256>>>(b.y, b.y16, count);
    MUST(cudaGetLastError());
    printf("name,result,size,value,unit\n");
    measure(&b, "bf16", b.x16, b.y16, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F);
    measure(&b, "bf16", b.x16, b.y16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F);
    measure(&b, "tf32", b.x, b.y, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
    measure(&b, "f32", b.x, b.y, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
    MUST(cudaEventRecord(b.from));
    for (int i = 0; i < COPIES; ++i)
        MUST(cudaMemcpyAsync(b.z, b.x, count * sizeof *b.x, cudaMemcpyDeviceToDevice));
    printf("copy,,%zu,%.6g,byte/s\n", count * sizeof *b.x,
           2e3 * COPIES * (double)(count * sizeof *b.x) / elapsed(b.from, b.to));
    return 0;
}
