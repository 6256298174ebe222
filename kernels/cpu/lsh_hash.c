/* Hashing by random rotations: a tile of tokens times a round's rotation, then the place of the
 * largest. */
#include <math.h>

#include "kernels/cpu/attention_inside.h"
#include "kernels/cpu/kernels_cpu.h"

enum { ROWS = 64 };

/* A tile's products, and its tokens where they are not reals. */
static size_t scratch_bytes(const lh_lsh_hash_args *args) {
    const int64_t widened = args->x.act.dtype == LH_REAL ? 0 : args->head_width;
    const int64_t columns = lh_lsh_columns(args->factors, args->factor);
    return lh_attention_align((size_t)(ROWS * (columns + widened)) * sizeof(real));
}

/* Where `value` first stands among sign * y, or `count`. */
static int find(const real *y, int count, real sign, real value) {
    int at = count;
#pragma omp simd reduction(min : at)
    for (int c = 0; c < count; ++c)
        at = sign * y[c] == value && c < at ? c : at;
    return at;
}

/* Of [y; -y], y [half]: the first of the largest. */
static int32_t argmax(const real *y, int half) {
    real most = 0;
#pragma omp simd reduction(max : most)
    for (int c = 0; c < half; ++c)
        most = (real)fabs(y[c]) > most ? (real)fabs(y[c]) : most;
    const int at = find(y, half, 1, most);
    if (at < half) return at;
    const int below = find(y, half, -1, most);
    return below < half ? half + below : 0;
}

static int32_t bucket_of(const lh_lsh_hash_args *args, const real *y) {
    int32_t bucket = 0, place = 1;
    for (int64_t f = 0; f < args->factors; ++f) {
        const int half = (int)args->factor[f] / 2;
        bucket += place * argmax(y, half);
        place *= (int32_t)args->factor[f];
        y += half;
    }
    return bucket;
}

static void hash_tile(const lh_lsh_hash_args *args, int64_t pair, lh_range rows, real *memory) {
    const int64_t columns = lh_lsh_columns(args->factors, args->factor);
    const int64_t pitch = args->rounds * columns, count = rows.end - rows.begin;
    const lh_attention_operand tokens =
        lh_attention_operand_of(args->x, pair / args->heads, pair % args->heads, rows.begin);
    const lh_rows x =
        lh_cpu_attention_load(tokens, count, args->head_width, memory + ROWS * columns);
    const lh_rows y = {memory, columns};
    for (int64_t round = 0; round < args->rounds; ++round) {
        const real *r = args->rotation + pair * args->head_width * pitch + round * columns;
        const lh_rows rotation = {(real *)r, pitch};
        int32_t *bucket = args->bucket + (pair * args->rounds + round) * args->length + rows.begin;
        lh_blas_multiply(false, false, count, columns, args->head_width, 1, x, rotation, 0, y);
        for (int64_t row = 0; row < count; ++row)
            bucket[row] = bucket_of(args, memory + row * columns);
    }
}

size_t lh_cpu_lsh_hash_workspace(const lh_lsh_hash_args *args) {
    return (size_t)lh_attention_slots() * scratch_bytes(args);
}

lh_status lh_cpu_lsh_hash(const lh_launch *launch, const lh_lsh_hash_args *args) {
    const int64_t tiles = lh_chunk_count(args->length, ROWS);
    const int64_t tasks = args->batch * args->heads * tiles;
    uint8_t *memory = launch->workspace;
#pragma omp parallel for schedule(static) num_threads(lh_attention_threads()) if (tasks > 1)
    for (int64_t task = 0; task < tasks; ++task) {
        uint8_t *slot = memory + (size_t)lh_attention_thread() * scratch_bytes(args);
        hash_tile(args, task / tiles, lh_chunk(args->length, ROWS, task % tiles),
                  (real *)(void *)slot);
    }
    return LH_OK;
}
