/* The largest few scores of each row: a block takes a row, finds the worst of them eight bits at a
 * time, and takes the tokens that are no worse in their order. */
#include "kernels/cuda/warp.cuh"

enum { DIGIT_BITS = 8, DIGITS = LH_THREADS };
static_assert(1 << DIGIT_BITS == int(DIGITS), "a thread for each digit");

/* The worst score that is taken, and how many of those equal to it. */
typedef struct taken_scores {
    uint32_t worst;
    int32_t equal;
} taken_scores;

/* Larger keys are better: not a number, then from infinity down. Zeros of both signs are equal. */
__device__ static inline uint32_t key_of(real score) {
    if (isnan(score)) return 0xffffffffu;
    const uint32_t bits = __float_as_uint(score == 0 ? 0 : score);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/* counts[d] becomes the number of keys whose digit at `shift` is d, of those that agree with
 * `worst` above it. */
__device__ static inline void count_digits(const lh_top_tokens_args &a, const real *score,
                                           uint32_t worst, int shift, int32_t *counts) {
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t t = threadIdx.x; t < a.length; t += LH_THREADS) {
        const uint32_t key = key_of(score[t]);
        if (key >> shift >> DIGIT_BITS == worst >> shift >> DIGIT_BITS)
            atomicAdd(&counts[(key >> shift) % DIGITS], 1);
    }
    __syncthreads();
}

/* The digit among whose keys the last one lies that is taken. */
__device__ static inline void fix_digit(int shift, const int32_t *counts, taken_scores *taken) {
    int32_t better = 0;
    for (int d = (int)threadIdx.x + 1; d < DIGITS; ++d)
        better += counts[d];
    const bool own = better < taken->equal && taken->equal <= better + counts[threadIdx.x];
    __syncthreads();
    if (own) {
        taken->worst |= (uint32_t)threadIdx.x << shift;
        taken->equal -= better;
    }
    __syncthreads();
}

/* Lanes before this one that a ballot names. */
__device__ static inline int32_t lanes_before(unsigned ballot) {
    return __popc(ballot & ((1u << threadIdx.x % LH_WARP) - 1));
}

/* Writes the tokens whose scores are taken; found[0] and found[1] are of the better ones and of
 * those equal to the worst, a number for each warp. */
__device__ static inline void write_tokens(const lh_top_tokens_args &a, const real *score,
                                           taken_scores taken, int32_t first, int32_t *index,
                                           int32_t (*found)[LH_WARPS]) {
    const int warp = (int)(threadIdx.x / LH_WARP);
    int32_t better = 0, equal = 0; /* before this run of tokens */
    for (int64_t begin = 0; begin < a.length; begin += LH_THREADS) {
        const int64_t token = begin + threadIdx.x;
        const uint32_t key = token < a.length ? key_of(score[token]) : 0;
        const bool is_better = token < a.length && key > taken.worst;
        const bool is_equal = token < a.length && key == taken.worst;
        const unsigned betters = __ballot_sync(0xffffffffu, is_better),
                       equals = __ballot_sync(0xffffffffu, is_equal);
        if (threadIdx.x % LH_WARP == 0) {
            found[0][warp] = __popc(betters);
            found[1][warp] = __popc(equals);
        }
        __syncthreads();
        int32_t better_before = better + lanes_before(betters),
                equal_before = equal + lanes_before(equals);
        for (int w = 0; w < LH_WARPS; ++w) {
            better_before += w < warp ? found[0][w] : 0;
            equal_before += w < warp ? found[1][w] : 0;
            better += found[0][w];
            equal += found[1][w];
        }
        if (is_better || (is_equal && equal_before < taken.equal))
            index[better_before + lh_min(equal_before, taken.equal)] = first + (int32_t)token;
        __syncthreads();
    }
}

__global__ void __launch_bounds__(LH_THREADS) take_tokens(lh_top_tokens_args a) {
    LH_SHARED(int32_t, counts, [DIGITS]);
    LH_SHARED(int32_t, found, [2][LH_WARPS]);
    LH_SHARED(taken_scores, taken, [1]);
    for (int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const real *score = a.score + row * a.length;
        if (threadIdx.x == 0) taken[0] = {0, (int32_t)a.top};
        __syncthreads();
        for (int shift = 32 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
            count_digits(a, score, taken->worst, shift, counts);
            fix_digit(shift, counts, taken);
        }
        write_tokens(a, score, *taken, (int32_t)(row / a.group * a.length), a.index + row * a.top,
                     found);
    }
}

size_t lh_cuda_top_tokens_workspace(const lh_top_tokens_args *args) {
    (void)args;
    return 0;
}

lh_status lh_cuda_top_tokens(const lh_launch *launch, const lh_top_tokens_args *args) {
    if (args->rows * args->top == 0) return LH_OK;
    return LH_LAUNCH(take_tokens, lh_blocks(args->rows, 1), LH_THREADS, 0, launch, *args);
}
