/* What the costs of several kernels have in common. */
#include "kernels/cost/cost.h"

enum { COLUMN_STRETCH = 64 }; /* rows: kernels/cuda/column_sums.cuh */

double lh_cost_bytes(lh_act act, double count) {
    if (act.data == NULL) return 0;
    return count * (act.dtype == LH_BF16 ? 2 : LH_COST_REAL);
}

double lh_cost_reals(const void *data, double count) {
    return data != NULL ? count * LH_COST_REAL : 0;
}

void lh_cost_write(lh_cost *cost, double bytes, lh_write write) {
    cost->written += bytes;
    if (write == LH_ADD) cost->read += bytes;
}

void lh_cost_launch(lh_cost *cost, int64_t count) {
    cost->launches += count > 0;
}

void lh_cost_column_sums(lh_cost *cost, int64_t rows, int64_t width, double read, const real *y,
                         lh_write write) {
    if (y == NULL) return;
    const int64_t partial = lh_chunk_count(rows, COLUMN_STRETCH) * width;
    lh_cost_launch(cost, partial);
    lh_cost_launch(cost, width);
    cost->read += read + (double)partial * LH_COST_REAL;
    cost->written += (double)partial * LH_COST_REAL;
    cost->flops += 2.0 * (double)(rows * width);
    lh_cost_write(cost, (double)width * LH_COST_REAL, write);
}
