/* ldmatrix and mma.m16n8k16: what all lanes brought is dealt out. */
#include "tests/cudasim/include/ptx_mma.h"

#include "tests/cudasim/simulator.h"

enum { ROW_ALIGNMENT = 16, MATRIX_ROWS = 8 };

/* By rows a lane gets two neighbours of row lane / 4, transposed two neighbours of column lane / 4.
 */
void find_matrices(const thread *lanes, int lane, bool transposed) {
    cudasim_rows *own = reinterpret_cast<cudasim_rows *>(lanes[lane].value);
    const int line = lane / 4, pair = lane % 4 * 2;
    if ((uintptr_t)own->row % ROW_ALIGNMENT != 0)
        trap("a row of ldmatrix is not aligned to %d bytes at %s:%d", ROW_ALIGNMENT,
             lanes[lane].file, lanes[lane].line);
    for (int m = 0; m < 4; m++) {
        for (int i = 0; i < 2; i++) {
            const int row = transposed ? pair + i : line, column = transposed ? line : pair + i;
            const uint64_t giver = lanes[m * MATRIX_ROWS + row].value;
            const void *first = reinterpret_cast<const cudasim_rows *>(giver)->row;
            own->found[m][i] = static_cast<const __nv_bfloat16 *>(first) + column;
        }
    }
}

static float half_of(unsigned word, int half) {
    return __bfloat162float(__nv_bfloat16{(uint16_t)(word >> 16 * half)});
}

/* Tables of "Matrix Fragments for mma.m16n8k16", elements of 16 bits: element i of a lane. */

static void place_left(int lane, int i, int *row, int *column) {
    const bool upper = i < 2 || (i >= 4 && i < 6);
    *row = lane / 4 + (upper ? 0 : 8);
    *column = lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
}

static void place_right(int lane, int i, int *row, int *column) {
    *row = lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8);
    *column = lane / 4;
}

static void place_sum(int lane, int i, int *row, int *column) {
    *row = lane / 4 + (i < 2 ? 0 : 8);
    *column = lane % 4 * 2 + (i & 1);
}

void multiply_matrices(const thread *lanes) {
    float left[16][16], right[16][8];
    int row, column;
    for (int lane = 0; lane < WARP; lane++) {
        const cudasim_operands *own = reinterpret_cast<cudasim_operands *>(lanes[lane].value);
        for (int i = 0; i < 8; i++) {
            place_left(lane, i, &row, &column);
            left[row][column] = half_of(own->a[i / 2], i % 2);
        }
        for (int i = 0; i < 4; i++) {
            place_right(lane, i, &row, &column);
            right[row][column] = half_of(own->b[i / 2], i % 2);
        }
    }
    for (int lane = 0; lane < WARP; lane++) {
        cudasim_operands *own = reinterpret_cast<cudasim_operands *>(lanes[lane].value);
        for (int i = 0; i < 4; i++) {
            place_sum(lane, i, &row, &column);
            for (int l = 0; l < 16; l++)
                own->sums[i] += left[row][l] * right[l][column];
        }
    }
}
