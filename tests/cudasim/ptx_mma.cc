/* ldmatrix, mma.m16n8k16 and mma.m16n8k8: what all lanes brought is dealt out. */
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

/* Of "Matrix Fragments for mma.m16n8k8", elements of 32 bits. */
static float tf32_of(unsigned word) {
    return __uint_as_float(word & ~0x1fffu);
}

/* What a warp multiplies, `depth` elements a sum. */
struct operands {
    float left[16][16], right[16][8];
    int depth;
};

static void gather_tf32(const thread *lanes, operands *all) {
    all->depth = 8;
    for (int lane = 0; lane < WARP; lane++) {
        const cudasim_operands *own = reinterpret_cast<cudasim_operands *>(lanes[lane].value);
        for (int i = 0; i < 4; i++)
            all->left[lane / 4 + i % 2 * 8][lane % 4 + i / 2 * 4] = tf32_of(own->a[i]);
        for (int i = 0; i < 2; i++)
            all->right[lane % 4 + i * 4][lane / 4] = tf32_of(own->b[i]);
    }
}

static void gather_bf16(const thread *lanes, operands *all) {
    int row, column;
    all->depth = 16;
    for (int lane = 0; lane < WARP; lane++) {
        const cudasim_operands *own = reinterpret_cast<cudasim_operands *>(lanes[lane].value);
        for (int i = 0; i < 8; i++) {
            place_left(lane, i, &row, &column);
            all->left[row][column] = half_of(own->a[i / 2], i % 2);
        }
        for (int i = 0; i < 4; i++) {
            place_right(lane, i, &row, &column);
            all->right[row][column] = half_of(own->b[i / 2], i % 2);
        }
    }
}

void multiply_matrices(const thread *lanes) {
    operands all;
    int row, column;
    if (reinterpret_cast<cudasim_operands *>(lanes[0].value)->tf32)
        gather_tf32(lanes, &all);
    else
        gather_bf16(lanes, &all);
    for (int lane = 0; lane < WARP; lane++) {
        cudasim_operands *own = reinterpret_cast<cudasim_operands *>(lanes[lane].value);
        for (int i = 0; i < 4; i++) {
            place_sum(lane, i, &row, &column);
            for (int l = 0; l < all.depth; l++)
                own->sums[i] += all.left[row][l] * all.right[l][column];
        }
    }
}
