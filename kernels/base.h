/* What every other file stands on: status codes, number types, write modes, small sums.
 * Included by C11 and by CUDA sources, so it keeps to what both accept. */
#ifndef LH_KERNELS_BASE_H
#define LH_KERNELS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a fallible function ended. The message that belongs to it is in harness/engine/error.h. */
typedef enum lh_status {
    LH_OK = 0,
    LH_ESHAPE,     /* sizes that do not fit each other */
    LH_ETYPE,      /* wrong dtype, or a kind of value that the callee does not take */
    LH_EOPTION,    /* unknown or out-of-range option */
    LH_EMEMORY,    /* host or device memory exhausted */
    LH_EDEVICE,    /* the device refused or was lost */
    LH_EIO,        /* open, read, write, rename, fsync */
    LH_EFORMAT,    /* malformed input file */
    LH_ESTATE,     /* called in the wrong order */
    LH_EINTERRUPT, /* stopped by a signal */
    LH_EINTERNAL   /* a broken invariant of ours */
} lh_status;

/* The compute type of the host: double in the gradient-check build. */
#ifdef LH_REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

/* A literal in the compute type, so that no float expression is silently done in double. */
#define LH_R(x) ((real)(x))

/* LH_REAL is `real`: f32, or f64 in the gradient-check build. Activations of a run in bf16 lie in
 * memory as LH_BF16. */
typedef enum lh_dtype { LH_REAL = 0, LH_BF16, LH_I32 } lh_dtype;

/* Activations, or their gradients, as they lie in memory. What `data` leads to is what `dtype`
 * says; data NULL: not there. */
typedef struct lh_act {
    void *data;
    lh_dtype dtype; /* LH_REAL or LH_BF16 */
} lh_act;

/* How a kernel writes a gradient: the first contribution sets, later ones add, so that
 * no gradient buffer is ever cleared first. */
typedef enum lh_write { LH_SET = 0, LH_ADD = 1 } lh_write;

/* What a matrix product rounds its operands to before it multiplies them; sums are f32 in any case.
 * The CPU knows f32, and bf16 where it has oneDNN and the instructions. */
typedef enum lh_precision {
    LH_PRECISION_F32 = 0,
    LH_PRECISION_TF32, /* 8 bits of exponent, 10 of mantissa */
    LH_PRECISION_BF16  /* 8 and 7 */
} lh_precision;

#define LH_MAX_RANK 5

/* A helper of hosts and GPUs. */
#ifdef __CUDACC__
#define LH_INLINE static __host__ __device__ __forceinline__
#else
#define LH_INLINE static inline
#endif

LH_INLINE int64_t lh_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

LH_INLINE int64_t lh_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Chunks of `size` that cover `count`; the last may be short. */
LH_INLINE int64_t lh_chunk_count(int64_t count, int64_t size) {
    return (count + size - 1) / size;
}

/* The next multiple of `grain`. */
LH_INLINE size_t lh_round_up(size_t bytes, size_t grain) {
    return (bytes + grain - 1) / grain * grain;
}

#endif
