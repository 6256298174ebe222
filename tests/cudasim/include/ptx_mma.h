/* Instructions of PTX that no header of the toolkit has: ldmatrix and mma, of shape m16n8k16 with
 * operands in bf16 and of m16n8k8 in tf32, and the rounding to tf32. Which lane holds what is as in
 * the tables of the PTX ISA. */
#ifndef LH_TESTS_CUDASIM_PTX_MMA_H
#define LH_TESTS_CUDASIM_PTX_MMA_H

#include "tests/cudasim/include/cuda_bf16.h"

/* What a lane brings to ldmatrix.x4 and gets: the address of a row of eight elements; of each of
 * four 8 x 8 matrices two elements. */
struct cudasim_rows {
    const void *row;
    const __nv_bfloat16 *found[4][2];
};

/* What a lane brings to mma and gets: registers of two elements, the lower one in the lower half.
 */
struct cudasim_operands {
    unsigned a[4], b[2];
    float sums[4];
    bool tf32; /* registers are floats, of which the last 13 bits are not read */
};

/* Lane l gives the address of row l % 8 of matrix l / 8; register m of `to` is then the lane's part
 * of matrix m. */
static inline void cudasim_load_matrices(unsigned (&to)[4], const void *row, bool transposed,
                                         CUDASIM_PLACE) {
    cudasim_rows rows = {row, {}};
    cudasim_warp(transposed ? CUDASIM_COLUMNS : CUDASIM_ROWS, 0xffffffffu, (uint64_t)&rows, 0,
                 warpSize, file, line);
    for (int m = 0; m < 4; m++)
        to[m] = rows.found[m][0]->bits | (unsigned)rows.found[m][1]->bits << 16;
}

static inline void cudasim_multiply(float (&sums)[4], const unsigned *a, unsigned b0, unsigned b1,
                                    bool tf32, const char *file, int line) {
    cudasim_operands operands = {{a[0], a[1], a[2], a[3]}, {b0, b1}, {}, tf32};
    cudasim_warp(CUDASIM_MULTIPLY, 0xffffffffu, (uint64_t)&operands, 0, warpSize, file, line);
    for (int i = 0; i < 4; i++)
        sums[i] += operands.sums[i];
}

/* sums += a b, 16 x 16 by 16 x 8. */
static inline void cudasim_multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                        unsigned b1, CUDASIM_PLACE) {
    cudasim_multiply(sums, a, b0, b1, false, file, line);
}

/* The same of 16 x 8 by 8 x 8, in tf32. */
static inline void cudasim_multiply_add_tf32(float (&sums)[4], const unsigned *a, unsigned b0,
                                             unsigned b1, CUDASIM_PLACE) {
    cudasim_multiply(sums, a, b0, b1, true, file, line);
}

/* To nearest, ties away from zero. */
static inline unsigned cudasim_round_tf32(float x) {
    const unsigned bits = __float_as_uint(x);
    return isfinite(x) ? (bits + 0x1000u) & ~0x1fffu : bits;
}

#endif
