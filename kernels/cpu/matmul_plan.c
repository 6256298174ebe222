/* The cut of a matrix product into tiles. */
#include "kernels/cpu/matmul_plan.h"

enum {
    TILE = 256,             /* a side; twice that is some 4 % faster, half of it 10 % slower */
    SMALL_TILE = 64,        /* a side, when there is little to share out */
    SHORT_SLICE = 512,      /* shorter slices of k spend too much on adding up */
    ENOUGH_TASKS = 8,       /* no finer cut once there are so many */
    TILE_MULTIPLE = 16,     /* tiles of whole register blocks */
    TASK_WORK = 1 << 21,    /* multiply-adds of a first task; see worth_refining */
    GRAIN_WORK = 1 << 19,   /* multiply-adds below which tasks are grouped */
    FEW_ROWS = 32,          /* so few rows of A do not pay for packing B */
    UNPACKED_WORK = 1000000 /* multiply-adds up to which OpenBLAS 0.3.17 and later does not pack */
};

static int64_t even_tile(int64_t size, int64_t count) {
    const int64_t tile = lh_max(1, lh_chunk_count(size, lh_max(1, count)));
    return lh_chunk_count(tile, TILE_MULTIPLE) * TILE_MULTIPLE;
}

static void count_tiles(lh_matmul_plan *plan, const lh_matmul_args *args) {
    plan->count_m = lh_chunk_count(args->m, plan->tile_m);
    plan->count_n = lh_chunk_count(args->n, plan->tile_n);
    plan->slices = lh_chunk_count(args->k, plan->tile_k);
}

/* Halves one side of the tiles, the cheapest to halve; false when they are as small as may be. */
static bool refine(lh_matmul_plan *plan, const lh_matmul_args *args) {
    const int64_t m = even_tile(args->m, 2 * plan->count_m);
    const int64_t n = even_tile(args->n, 2 * plan->count_n);
    if (plan->tile_m >= 2 * TILE)
        plan->tile_m = m;
    else if (plan->tile_n >= 2 * TILE)
        plan->tile_n = n;
    else if (plan->tile_k >= 2 * SHORT_SLICE)
        plan->tile_k = even_tile(args->k, 2 * plan->slices);
    else if (plan->tile_m >= plan->tile_n && plan->tile_m >= 2 * SMALL_TILE)
        plan->tile_m = m;
    else if (plan->tile_n >= 2 * SMALL_TILE)
        plan->tile_n = n;
    else
        return false;
    count_tiles(plan, args);
    return true;
}

/* The more tasks there are, the more work each must have to be halved once more: two threads are
 * worth having early, eight only for products that take long. */
static bool worth_refining(const lh_matmul_plan *plan, int64_t batch) {
    const int64_t tasks = batch * plan->count_m * plan->count_n * plan->slices;
    const int64_t work = plan->tile_m * plan->tile_n * plan->tile_k;
    return tasks < ENOUGH_TASKS && work >= tasks * tasks * TASK_WORK;
}

/* With few rows a tile narrow enough to skip packing is up to four times as fast. 0: there is no
 * such tile of a useful width. */
static int64_t unpacked_width(const lh_matmul_args *args) {
    if (args->transpose_a || args->m > FEW_ROWS || args->m * args->k == 0) return 0;
    const int64_t narrowest = args->transpose_b ? 2 * TILE_MULTIPLE : 4 * TILE_MULTIPLE;
    const int64_t width = lh_min(TILE, UNPACKED_WORK / (args->m * args->k));
    return width < narrowest ? 0 : width / TILE_MULTIPLE * TILE_MULTIPLE;
}

lh_matmul_plan lh_cpu_matmul_plan(const lh_matmul_args *args) {
    lh_matmul_plan plan = {.tile_k = lh_max(1, args->k)};
    plan.tile_m = even_tile(args->m, lh_max(1, (args->m + TILE) / (2 * TILE)));
    plan.tile_n = even_tile(args->n, lh_max(1, (args->n + TILE) / (2 * TILE)));
    const int64_t width = unpacked_width(args);
    if (width > 0) plan.tile_n = lh_min(plan.tile_n, width);
    count_tiles(&plan, args);
    while (worth_refining(&plan, args->batch) && refine(&plan, args)) {
    }
    return plan;
}

lh_matmul_tile lh_cpu_matmul_tile(const lh_matmul_args *args, const lh_matmul_plan *plan,
                                  int64_t place) {
    lh_matmul_tile tile;
    tile.n = lh_chunk(args->n, plan->tile_n, place % plan->count_n);
    place /= plan->count_n;
    tile.m = lh_chunk(args->m, plan->tile_m, place % plan->count_m);
    tile.member = place / plan->count_m;
    return tile;
}

int64_t lh_cpu_matmul_grain(const lh_matmul_args *args, const lh_matmul_plan *plan) {
    const int64_t work =
        lh_min(plan->tile_m, args->m) * lh_min(plan->tile_n, args->n) * plan->tile_k;
    return lh_max(1, GRAIN_WORK / work);
}
