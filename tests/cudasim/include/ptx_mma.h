/* Two instructions of PTX that no header of the toolkit has: ldmatrix and mma, of shape m16n8k16
 * with operands in bf16. Which lane holds what is as in the tables of the PTX ISA. */
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
};

/* Lane l gives the address of row l % 8 of matrix l / 8; register m of `to` is then the lane's part
 * of matrix m. */
static inline void cudasim_load_matrices(unsigned (&to)[4], const __nv_bfloat16 *row,
                                         bool transposed, CUDASIM_PLACE) {
    cudasim_rows rows = {row, {}};
    cudasim_warp(transposed ? CUDASIM_COLUMNS : CUDASIM_ROWS, 0xffffffffu, (uint64_t)&rows, 0,
                 warpSize, file, line);
    for (int m = 0; m < 4; m++)
        to[m] = rows.found[m][0]->bits | (unsigned)rows.found[m][1]->bits << 16;
}

/* sums += a b, 16 x 16 by 16 x 8. */
static inline void cudasim_multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0,
                                        unsigned b1, CUDASIM_PLACE) {
    cudasim_operands operands = {{a[0], a[1], a[2], a[3]}, {b0, b1}, {}};
    cudasim_warp(CUDASIM_MULTIPLY, 0xffffffffu, (uint64_t)&operands, 0, warpSize, file, line);
    for (int i = 0; i < 4; i++)
        sums[i] += operands.sums[i];
}

#endif
