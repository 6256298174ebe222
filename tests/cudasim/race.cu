/* Kernels with one mistake each, for tests/cudasim/races.sh: race
 * sound|barrier|warp|shuffle|product|blocks|copy|early|alignment. Prints a sum, so that nothing
 * is left out as unused. */
#include "kernels/cuda/attention_tile.cuh"

#include <stdio.h>
#include <string.h>

enum { COUNT = 64, BLOCKS = 3, NUMBERS = COUNT * BLOCKS };

enum mistake { SOUND, BARRIER, WARP, SHUFFLE, PRODUCT, SHARED_PLACE, COPY, EARLY, ALIGNMENT };

/* A thread reads what another thread of its block has written. */
__global__ void across_block(float *x, mistake wrong) {
    LH_SHARED(float, row, [COUNT]);
    row[threadIdx.x] = (float)threadIdx.x;
    if (wrong != BARRIER) __syncthreads();
    const unsigned block = wrong == SHARED_PLACE ? 0 : blockIdx.x;
    x[block * COUNT + threadIdx.x] += row[COUNT - 1 - threadIdx.x];
}

/* A lane reads what another lane has written. */
__global__ void across_warp(float *x, mistake wrong) {
    LH_SHARED(float, row, [COUNT]);
    row[threadIdx.x] = (float)threadIdx.x;
    if (wrong == SHUFFLE) (void)__shfl_xor_sync(0xffffffffu, 1, 1);
    if (wrong != WARP && wrong != SHUFFLE) __syncwarp();
    x[blockIdx.x * COUNT + threadIdx.x] += row[threadIdx.x ^ 1];
    __syncwarp();
    row[threadIdx.x ^ 2] = 0;
    atomicAdd(&x[0], 1);
}

typedef struct __align__(32) race_tile {
    __nv_bfloat16 at[LH_STEP * LH_STEP];
}
race_tile;

/* A matrix is loaded of what the lanes have written. */
__global__ void by_product(float *x, mistake wrong) {
    LH_SHARED(race_tile, tile, [1]);
    unsigned registers[4];
    for (int i = (int)threadIdx.x; i < LH_STEP * LH_STEP; i += LH_WARP)
        tile[0].at[i] = __float2bfloat16_rn((float)i);
    if (wrong != PRODUCT) __syncwarp();
    lh_load_matrices(registers, tile[0].at + threadIdx.x % LH_STEP * LH_STEP, false);
    x[threadIdx.x] += (float)registers[0];
}

/* A thread reads what another has asked for, and then what the other asks to be overwritten. */
__global__ void by_copy(const float *from, float *x, mistake wrong) {
    LH_SHARED(float4, row, [LH_WARP]);
    const int at = (int)threadIdx.x;
    lh_copy_later(&row[at], from + 4 * at, true);
    lh_await_copies();
    if (wrong != COPY) __syncthreads();
    x[at] += row[at ^ 1].x;
    if (wrong != EARLY) __syncthreads();
    lh_copy_later(&row[at], from, true); /* over what the other reads */
    if (wrong == EARLY) __syncthreads();
    lh_await_copies();
    x[at] += row[at].x;
}

__global__ void load_four(const float *x, float *y, int first) {
    const float4 run = *reinterpret_cast<const float4 *>(x + first);
    y[0] = run.x + run.y + run.z + run.w;
}

#define RUN(kernel, grid, block, ...)                                                              \
    (LH_LAUNCH_SYNTAX(kernel, grid, block, 0, nullptr, __VA_ARGS__), cudaGetLastError())

/* Not inlined, so that what it adds to lies in memory that the sanitizer watches. */
__device__ static __attribute__((noinline)) void add(float *sum, float value) {
    *sum += value;
}

/* Threads that wait for nobody, each on the stack that the one before has left. */
__global__ void on_one_stack(float *x, int count) {
    float sum = 0;
    for (int i = 0; i < count; ++i)
        add(&sum, (float)i);
    x[blockIdx.x * COUNT + threadIdx.x] += sum;
}

static mistake mistake_of(const char *name) {
    static const char *const names[] = {"sound",  "barrier", "warp",  "shuffle",  "product",
                                        "blocks", "copy",    "early", "alignment"};
    for (int i = 0; i < 9; ++i)
        if (strcmp(name, names[i]) == 0) return (mistake)i;
    return SOUND;
}

int main(int count, char **words) {
    const mistake wrong = mistake_of(count > 1 ? words[1] : "sound");
    float host[NUMBERS] = {0}, *x = nullptr, sum = 0;
    cudaError_t bad = cudaMalloc((void **)&x, sizeof host);
    if (bad == cudaSuccess) bad = cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    if (bad == cudaSuccess) bad = RUN(across_block, BLOCKS, COUNT, x, wrong);
    if (bad == cudaSuccess) bad = RUN(across_warp, BLOCKS, COUNT, x, wrong);
    if (bad == cudaSuccess) bad = RUN(by_product, 1, LH_WARP, x, wrong);
    if (bad == cudaSuccess) bad = RUN(by_copy, 1, LH_WARP, x + LH_WARP, x, wrong);
    if (bad == cudaSuccess) bad = RUN(on_one_stack, BLOCKS, COUNT, x, NUMBERS);
    if (bad == cudaSuccess) bad = RUN(load_four, 1, 1, x, x + 8, wrong == ALIGNMENT ? 1 : 4);
    if (bad == cudaSuccess) bad = cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    for (const float one : host)
        sum += one;
    printf("%s %g\n", cudaGetErrorString(bad), (double)sum);
    return bad != cudaSuccess;
}
