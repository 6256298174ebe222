/* Products of a warp by mma.m16n8k16 with bf16 operands and by mma.m16n8k8 with tf32 operands,
 * which lie in memory as floats; sums are f32. Unlike wmma, PTX tells which lane holds what (PTX
 * ISA, "Matrix Fragments for mma.m16n8k16"), so that what is done to single sums needs no memory,
 * and sums can be operands of the next product. With row = lane / 4, column = 2 (lane % 4):
 *
 *   sums, 16 x 8    0, 1: of row, at column and column + 1; 2, 3: of row + 8
 *   left, 16 x 16   registers of two neighbours: of row, row + 8, and both again 8 columns on
 *   right, 16 x 8   the same of the transposed matrix: at column and 8 on
 *
 * In tf32 a register is one element: left, 16 x 8, of row and row + 8 at lane % 4, and both again 4
 * columns on; right, 8 x 8, the same of the transposed matrix. Two such products make one of 16.
 */
#ifndef LH_KERNELS_CUDA_MMA_CUH
#define LH_KERNELS_CUDA_MMA_CUH

#include "kernels/cuda/bf16.cuh"

#ifndef __CUDACC__
#include <ptx_copy.h>
#include <ptx_mma.h>
#endif

enum {
    LH_MMA_ROWS = 16,   /* of the sums; also what is summed over */
    LH_MMA_COLUMNS = 8, /* of the sums */
    LH_MMA_SUMS = 4,    /* of a lane */
    LH_MMA_LANES = 4    /* that share a row of the sums */
};

typedef float lh_mma_sums[LH_MMA_SUMS];
typedef unsigned lh_mma_left[4];
typedef unsigned lh_mma_left_tf32[8]; /* of 8 columns, and of the next 8 */
typedef unsigned lh_mma_right[4];     /* two for each 8 columns of the sums */
typedef unsigned lh_mma_right_tf32[8];

/* The left operand of 16 columns and the right one of 16 others, by the type that operands have in
 * memory. */
template <typename operand> struct lh_left_of { typedef lh_mma_left type; };
template <> struct lh_left_of<float> { typedef lh_mma_left_tf32 type; };
template <typename operand> struct lh_right_of { typedef lh_mma_right type; };
template <> struct lh_right_of<float> { typedef lh_mma_right_tf32 type; };

/* Registers of four 8 x 8 matrices in shared memory: lane l gives row l % 8 of matrix l / 8,
 * aligned to 16 bytes. By rows, or transposed. Four floats are a row, too, by rows alone. */
#ifdef __CUDACC__
__device__ static inline void lh_load_matrices(unsigned (&to)[4], const void *row,
                                               bool transposed) {
    const unsigned address = (unsigned)__cvta_generic_to_shared(row);
    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(address)
                     : "memory");
}

/* sums += left right */
__device__ static inline void lh_multiply_add(lh_mma_sums &sums, const lh_mma_left &left,
                                              unsigned right_0, unsigned right_1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_0), "r"(right_1));
}

/* The same of 8 columns and rows in tf32; `left` names four registers. */
__device__ static inline void lh_multiply_add_tf32(lh_mma_sums &sums, const unsigned *left,
                                                   unsigned right_0, unsigned right_1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_0), "r"(right_1));
}

/* The nearest number of 10 bits behind the point, which is what tensor cores read of a float. */
__device__ static inline unsigned lh_round_tf32(real x) {
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
    return rounded;
}

/* Asks for 16 bytes in shared memory, zeros unless they are `there`: the thread has them after
 * lh_await_copies, the block after a barrier, too. */
__device__ static inline void lh_copy_later(void *to, const void *from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}

/* Waits until what the calling thread asked for is there; others' takes a barrier besides. */
__device__ static inline void lh_await_copies(void) {
    asm volatile("cp.async.wait_all;" : : : "memory");
}

/* 2^x, 0 where that is no normal number. */
__device__ static inline real lh_exp2(real x) {
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

/* Two sums as neighbours of an operand. */
__device__ static inline unsigned lh_pack(real low, real high) {
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}
#else
#define lh_load_matrices     cudasim_load_matrices
#define lh_multiply_add      cudasim_multiply_add
#define lh_multiply_add_tf32 cudasim_multiply_add_tf32
#define lh_round_tf32        cudasim_round_tf32
#define lh_copy_later        cudasim_copy_later
#define lh_await_copies      cudasim_await_copies
#define lh_exp2              exp2f

/* As the instruction packs them: the low one in the low half. */
static inline unsigned lh_pack(real low, real high) {
    return __float2bfloat16_rn(low).bits | (unsigned)__float2bfloat16_rn(high).bits << 16;
}
#endif

/* Of a lane's sum number n: its row ... */
__device__ static inline int lh_mma_row(int lane, int n) {
    return lane / LH_MMA_LANES + n / 2 * 8;
}

/* ... and its column. */
__device__ static inline int lh_mma_column(int lane, int n) {
    return lane % LH_MMA_LANES * 2 + n % 2;
}

/* ---- operands out of a matrix in shared memory, `pitch` elements from row to row ---- */

/* The row of a 16 x 16 block that a lane names: matrices go down its rows first ... */
__device__ static inline const __nv_bfloat16 *lh_row_downwards(const __nv_bfloat16 *block,
                                                               int pitch, int lane) {
    return block + lane % 16 * pitch + lane / 16 * 8;
}

/* ... or along its columns. */
__device__ static inline const __nv_bfloat16 *lh_row_across(const __nv_bfloat16 *block, int pitch,
                                                            int lane) {
    return block + (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * 8;
}

/* Sets a lane's sums of `count` blocks of columns to 0. */
template <int count> __device__ static inline void lh_clear_sums(lh_mma_sums (&sums)[count]) {
    LH_UNROLL
    for (int i = 0; i < count; ++i) {
        LH_UNROLL
        for (int n = 0; n < LH_MMA_SUMS; ++n)
            sums[i][n] = 0;
    }
}

/* The left operand of a block of 16 x 16. */
__device__ static inline void lh_load_left(const __nv_bfloat16 *block, int pitch, int lane,
                                           lh_mma_left &left) {
    lh_load_matrices(left, lh_row_downwards(block, pitch, lane), false);
}

/* The same in tf32, of two products of 8 columns. */
__device__ static inline void lh_load_left(const float *block, int pitch, int lane,
                                           lh_mma_left_tf32 &left) {
    LH_UNROLL
    for (int half = 0; half < 2; ++half) {
        unsigned part[4];
        lh_load_matrices(part, block + lane % 16 * pitch + half * 8 + lane / 16 * 4, false);
        LH_UNROLL
        for (int i = 0; i < 4; ++i)
            left[half * 4 + i] = part[i];
    }
}

/* The right operand of a product with the transpose of 16 others ... */
template <int pitch>
__device__ static inline void lh_load_across(const __nv_bfloat16 *others, int lane,
                                             lh_mma_right &right) {
    lh_load_matrices(right, lh_row_across(others, pitch, lane), false);
}

template <int pitch>
__device__ static inline void lh_load_across(const float *others, int lane,
                                             lh_mma_right_tf32 &right) {
    LH_UNROLL
    for (int n = 0; n < 2; ++n) {
        unsigned part[4];
        lh_load_matrices(part, others + (n * 8 + lane % 8) * pitch + lane / 8 * 4, false);
        LH_UNROLL
        for (int i = 0; i < 4; ++i)
            right[n * 4 + i] = part[i];
    }
}

/* ... or with 16 others, in tf32 for a left operand that was made of sums. */
template <int pitch>
__device__ static inline void lh_load_downwards(const __nv_bfloat16 *others, int lane,
                                                lh_mma_right &right) {
    lh_load_matrices(right, lh_row_downwards(others, pitch, lane), true);
}

template <int pitch>
__device__ static inline void lh_load_downwards(const float *others, int lane,
                                                lh_mma_right_tf32 &right) {
    LH_UNROLL
    for (int half = 0; half < 2; ++half) {
        const float *row =
            others + (half * 8 + lh_mma_column(lane, 0)) * pitch + lane / LH_MMA_LANES;
        LH_UNROLL
        for (int n = 0; n < 2; ++n) {
            right[n * 4 + half * 2] = __float_as_uint(row[n * 8]);
            right[n * 4 + half * 2 + 1] = __float_as_uint(row[pitch + n * 8]);
        }
    }
}

/* sums += left right: 16 columns. */
__device__ static inline void lh_multiply_blocks(const lh_mma_left &left, const lh_mma_right &right,
                                                 lh_mma_sums (&sums)[2]) {
    lh_multiply_add(sums[0], left, right[0], right[1]);
    lh_multiply_add(sums[1], left, right[2], right[3]);
}

/* The same in tf32, as two products of 8 columns each. */
__device__ static inline void lh_multiply_blocks(const lh_mma_left_tf32 &left,
                                                 const lh_mma_right_tf32 &right,
                                                 lh_mma_sums (&sums)[2]) {
    LH_UNROLL
    for (int n = 0; n < 2; ++n) {
        lh_multiply_add_tf32(sums[n], left, right[n * 4], right[n * 4 + 1]);
        lh_multiply_add_tf32(sums[n], left + 4, right[n * 4 + 2], right[n * 4 + 3]);
    }
}

/* Two neighbouring blocks of sums, rounded, as the left operand of the next product. */
__device__ static inline void lh_make_left(const lh_mma_sums &low, const lh_mma_sums &high,
                                           lh_mma_left &left) {
    left[0] = lh_pack(low[0], low[1]);
    left[1] = lh_pack(low[2], low[3]);
    left[2] = lh_pack(high[0], high[1]);
    left[3] = lh_pack(high[2], high[3]);
}

/* In tf32 a lane's neighbouring sums are columns 4 apart of the operand: what is summed over comes
 * in another order, the same on both sides. */
__device__ static inline void lh_make_left(const lh_mma_sums &low, const lh_mma_sums &high,
                                           lh_mma_left_tf32 &left) {
    LH_UNROLL
    for (int i = 0; i < 4; ++i) {
        const int n = i % 2 * 2 + i / 2;
        left[i] = lh_round_tf32(low[n]);
        left[4 + i] = lh_round_tf32(high[n]);
    }
}

#endif
