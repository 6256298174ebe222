/* Activations in memory, f32 or bf16: kernels are templates of their element, which is loaded to a
 * real and stored from one. */
#ifndef LH_KERNELS_CUDA_ELEMENT_CUH
#define LH_KERNELS_CUDA_ELEMENT_CUH

#include <cuda_bf16.h>

#include "kernels/cuda/launch.cuh"

/* One element as a real, whatever it is in memory. */
__device__ static inline real lh_load(const real *x) {
    return *x;
}

__device__ static inline real lh_load(const __nv_bfloat16 *x) {
    return __bfloat162float(*x);
}

/* Beside that of a real in launch.cuh; rounds once, to nearest even. */
__device__ static inline void lh_store(__nv_bfloat16 *y, lh_write write, real value) {
    *y = __float2bfloat16_rn(write == LH_ADD ? lh_load(y) + value : value);
}

/* An activation as what it is. */
template <typename element> LH_INLINE element *lh_elements(const lh_act &x) {
    return static_cast<element *>(x.data);
}

/* ---- runs of neighbours ---- */

/* What a thread loads and stores at once: with a single element of 2 bytes to a thread too few
 * bytes would be under way to keep the memory busy. */
enum { LH_RUN = 4 };

typedef struct lh_run {
    real at[LH_RUN];
} lh_run;

/* The same elements as they lie in memory, moved by one instruction. */
template <typename element> struct __align__(LH_RUN * sizeof(element)) lh_packed_run {
    element at[LH_RUN];
};

/* Whether elements [begin, begin + 4) of `count` may be moved in one piece; begin is a multiple
 * of 4.
 */
template <typename element>
__device__ static inline bool lh_is_packed(const element *x, int64_t begin, int64_t count) {
    return (uintptr_t)x % sizeof(lh_packed_run<element>) == 0 && begin + LH_RUN <= count;
}

/* Elements [begin, begin + 4) of `count`; 0 past the end. */
template <typename element>
__device__ static inline lh_run lh_load_run(const element *x, int64_t begin, int64_t count) {
    lh_run run;
    if (lh_is_packed(x, begin, count)) {
        const lh_packed_run<element> packed =
            *reinterpret_cast<const lh_packed_run<element> *>(x + begin);
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            run.at[n] = lh_load(&packed.at[n]);
    } else {
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            run.at[n] = begin + n < count ? lh_load(&x[begin + n]) : 0;
    }
    return run;
}

/* Stores or adds a run; nothing past the end. */
template <typename element>
__device__ static inline void lh_store_run(element *y, int64_t begin, int64_t count, lh_write write,
                                           const lh_run &run) {
    if (lh_is_packed(y, begin, count)) {
        lh_packed_run<element> *place = reinterpret_cast<lh_packed_run<element> *>(y + begin);
        lh_packed_run<element> packed = {};
        if (write == LH_ADD) packed = *place;
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            lh_store(&packed.at[n], write, run.at[n]);
        *place = packed;
    } else {
        LH_UNROLL
        for (int n = 0; n < LH_RUN; ++n)
            if (begin + n < count) lh_store(&y[begin + n], write, run.at[n]);
    }
}

/* Calls body(begin), a __device__ lambda, for the runs of `count` elements in any order. */
template <typename work>
static inline lh_status lh_each_run(const lh_launch *launch, int64_t count, work body) {
    return lh_each(launch, lh_chunk_count(count, LH_RUN),
                   [=] __device__(int64_t i) { body(i * LH_RUN); });
}

/* The same for the rows of a matrix: body(row, begin). */
template <typename work>
static inline lh_status lh_each_row_run(const lh_launch *launch, int64_t rows, int64_t width,
                                        work body) {
    const int64_t runs = lh_chunk_count(width, LH_RUN);
    return lh_each(launch, rows * runs,
                   [=] __device__(int64_t i) { body(i / runs, i % runs * LH_RUN); });
}

/* The same where the dtype is known to the call alone, for elements that are few or far between. */
__device__ static inline real lh_load_as(const lh_act &x, int64_t i) {
    return x.dtype == LH_BF16 ? lh_load(lh_elements<__nv_bfloat16>(x) + i)
                              : lh_elements<real>(x)[i];
}

/* Stores or adds one. */
__device__ static inline void lh_store_as(const lh_act &y, int64_t i, lh_write write, real value) {
    if (y.dtype == LH_BF16)
        lh_store(lh_elements<__nv_bfloat16>(y) + i, write, value);
    else
        lh_store(lh_elements<real>(y) + i, write, value);
}

/* Calls the instance of a function template for a dtype; gives its lh_status. */
#define LH_FOR_ELEMENT(dtype, function, ...)                                                       \
    ((dtype) == LH_REAL   ? function<real>(__VA_ARGS__)                                            \
     : (dtype) == LH_BF16 ? function<__nv_bfloat16>(__VA_ARGS__)                                   \
                          : LH_EOPTION)

#endif
