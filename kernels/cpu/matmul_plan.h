/* How a matrix product is cut into tiles, by its shape alone, so that every thread count computes
 * the same calls. Where C is small and k long (the gradient of a weight matrix) k is cut into
 * slices too, which are added in order. */
#ifndef LH_KERNELS_CPU_MATMUL_PLAN_H
#define LH_KERNELS_CPU_MATMUL_PLAN_H

#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/kernels.h"

typedef struct lh_matmul_plan {
    int64_t tile_m, tile_n, tile_k;
    int64_t count_m, count_n, slices;
} lh_matmul_plan;

/* One tile of one batch member. */
typedef struct lh_matmul_tile {
    int64_t member;
    lh_range m, n, k;
} lh_matmul_tile;

lh_matmul_plan lh_cpu_matmul_plan(const lh_matmul_args *args);

/* Tile `place` of C, with all of k. */
lh_matmul_tile lh_cpu_matmul_tile(const lh_matmul_args *args, const lh_matmul_plan *plan,
                                  int64_t place);

static inline int64_t lh_matmul_tasks(const lh_matmul_args *args, const lh_matmul_plan *plan) {
    return args->batch * plan->count_m * plan->count_n * plan->slices;
}

/* Tasks that a thread takes at once: those of little work are grouped. */
int64_t lh_cpu_matmul_grain(const lh_matmul_args *args, const lh_matmul_plan *plan);

/* Products of operands in bf16, for sizes other than 0. */
size_t lh_cpu_matmul_bf16_workspace(const lh_matmul_args *args);
lh_status lh_cpu_matmul_bf16(const lh_launch *launch, const lh_matmul_args *args);

#endif
