/* What CUDA C++ has that C++ has not: qualifiers, the place of a thread, barriers, exchanges within
 * a warp, atomics, device functions. */
#ifndef LH_TESTS_CUDASIM_BUILTIN_H
#define LH_TESTS_CUDASIM_BUILTIN_H

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

/* Where in the source a thread stands: every waiting call carries its own. */
#define CUDASIM_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {
    }
};

struct float2 {
    float x, y;
};

struct alignas(16) float4 {
    float x, y, z, w;
};

struct int2 {
    int x, y;
};

struct alignas(16) int4 {
    int x, y, z, w;
};

static inline float2 make_float2(float x, float y) {
    return float2{x, y};
}

static inline float4 make_float4(float x, float y, float z, float w) {
    return float4{x, y, z, w};
}

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
static const int warpSize = 32;

/* ---- Barriers ---- */

enum cudasim_vote { CUDASIM_COUNT, CUDASIM_AND, CUDASIM_OR };

/* All threads of the block; gives the votes of all. */
int cudasim_barrier(cudasim_vote vote, int predicate, const char *file, int line);

static inline void __syncthreads(CUDASIM_PLACE) {
    cudasim_barrier(CUDASIM_COUNT, 0, file, line);
}

static inline int __syncthreads_count(int predicate, CUDASIM_PLACE) {
    return cudasim_barrier(CUDASIM_COUNT, predicate, file, line);
}

static inline int __syncthreads_and(int predicate, CUDASIM_PLACE) {
    return cudasim_barrier(CUDASIM_AND, predicate, file, line);
}

static inline int __syncthreads_or(int predicate, CUDASIM_PLACE) {
    return cudasim_barrier(CUDASIM_OR, predicate, file, line);
}

static inline void __threadfence() {
}

static inline void __threadfence_block() {
}

/* ---- Within a warp ---- */

enum cudasim_exchange {
    CUDASIM_WAIT,
    CUDASIM_MEET, /* as WAIT, but orders nothing in memory */
    CUDASIM_FROM_LANE,
    CUDASIM_FROM_BELOW,
    CUDASIM_FROM_ABOVE,
    CUDASIM_FROM_XOR,
    CUDASIM_BALLOT,
    CUDASIM_MATCH,
    CUDASIM_ROWS, /* the value is an address, as in the next two: include/ptx_mma.h */
    CUDASIM_COLUMNS,
    CUDASIM_MULTIPLY
};

/* The lanes of `mask` meet; each gives `value` and gets what `kind` says. */
uint64_t cudasim_warp(cudasim_exchange kind, unsigned mask, uint64_t value, int argument, int width,
                      const char *file, int line);

static inline void __syncwarp(unsigned mask = 0xffffffffu, CUDASIM_PLACE) {
    cudasim_warp(CUDASIM_WAIT, mask, 0, 0, warpSize, file, line);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, CUDASIM_PLACE) {
    return (unsigned)cudasim_warp(CUDASIM_BALLOT, mask, predicate != 0, 0, warpSize, file, line);
}

static inline int __any_sync(unsigned mask, int predicate, CUDASIM_PLACE) {
    return __ballot_sync(mask, predicate, file, line) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, CUDASIM_PLACE) {
    return __ballot_sync(mask, !predicate, file, line) == 0;
}

template <typename type> unsigned __match_any_sync(unsigned mask, type value, CUDASIM_PLACE) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return (unsigned)cudasim_warp(CUDASIM_MATCH, mask, bits, 0, warpSize, file, line);
}

template <typename type>
type cudasim_shuffle(cudasim_exchange kind, unsigned mask, type value, int argument, int width,
                     const char *file, int line) {
    static_assert(sizeof(type) <= sizeof(uint64_t), "a shuffle moves at most eight bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = cudasim_warp(kind, mask, bits, argument, width, file, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename type>
type __shfl_sync(unsigned mask, type value, int lane, int width = warpSize, CUDASIM_PLACE) {
    return cudasim_shuffle(CUDASIM_FROM_LANE, mask, value, lane, width, file, line);
}

template <typename type>
type __shfl_up_sync(unsigned mask, type value, unsigned distance, int width = warpSize,
                    CUDASIM_PLACE) {
    return cudasim_shuffle(CUDASIM_FROM_BELOW, mask, value, (int)distance, width, file, line);
}

template <typename type>
type __shfl_down_sync(unsigned mask, type value, unsigned distance, int width = warpSize,
                      CUDASIM_PLACE) {
    return cudasim_shuffle(CUDASIM_FROM_ABOVE, mask, value, (int)distance, width, file, line);
}

template <typename type>
type __shfl_xor_sync(unsigned mask, type value, int bits, int width = warpSize, CUDASIM_PLACE) {
    return cudasim_shuffle(CUDASIM_FROM_XOR, mask, value, bits, width, file, line);
}

/* ---- Atomics: one thread runs at a time, so plain updates will do. They are no races ---- */

#define CUDASIM_ATOMIC __attribute__((no_sanitize("thread"), noinline))

template <typename type> struct cudasim_same { typedef type is; };
template <typename type> using cudasim_value = typename cudasim_same<type>::is;

template <typename type> CUDASIM_ATOMIC type atomicExch(type *at, cudasim_value<type> value) {
    const type old = *at;
    *at = value;
    return old;
}

template <typename type> CUDASIM_ATOMIC type atomicAdd(type *at, cudasim_value<type> value) {
    return atomicExch(at, (type)(*at + value));
}

template <typename type> CUDASIM_ATOMIC type atomicMax(type *at, cudasim_value<type> value) {
    return atomicExch(at, *at < value ? value : *at);
}

template <typename type> CUDASIM_ATOMIC type atomicMin(type *at, cudasim_value<type> value) {
    return atomicExch(at, value < *at ? value : *at);
}

template <typename type> CUDASIM_ATOMIC type atomicOr(type *at, cudasim_value<type> value) {
    return atomicExch(at, (type)(*at | value));
}

template <typename type> CUDASIM_ATOMIC type atomicAnd(type *at, cudasim_value<type> value) {
    return atomicExch(at, (type)(*at & value));
}

template <typename type>
CUDASIM_ATOMIC type atomicCAS(type *at, cudasim_value<type> expected, cudasim_value<type> value) {
    return *at == expected ? atomicExch(at, value) : *at;
}

/* ---- Device functions ---- */

/* The host's library owns these names, too. */
#define __expf(x)  expf(x)
#define __logf(x)  logf(x)
#define __log2f(x) log2f(x)

template <typename type> type max(type a, type b) {
    return a < b ? b : a;
}

template <typename type> type min(type a, type b) {
    return b < a ? b : a;
}

template <typename type> type __ldg(const type *from) {
    return *from;
}

template <typename to, typename from> to cudasim_bits(from value) {
    to out;
    static_assert(sizeof out == sizeof value, "the same number of bytes");
    memcpy(&out, &value, sizeof out);
    return out;
}

static inline unsigned __float_as_uint(float x) {
    return cudasim_bits<unsigned>(x);
}

static inline float __uint_as_float(unsigned x) {
    return cudasim_bits<float>(x);
}

static inline int __float_as_int(float x) {
    return cudasim_bits<int>(x);
}

static inline float __int_as_float(int x) {
    return cudasim_bits<float>(x);
}

static inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}

static inline float __fdividef(float a, float b) {
    return a / b;
}

static inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}

static inline int __ffs(int x) {
    return __builtin_ffs(x);
}

static inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

#endif
