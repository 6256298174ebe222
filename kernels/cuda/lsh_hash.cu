/* Hashing by random rotations: a block for 128 tokens of a head and a round, a thread for each. Its
 * products with 32 columns of the rotation are in registers; elements of the tokens and of the
 * columns come by way of shared memory, 32 at a time. */
#include "kernels/cuda/attention.cuh"

enum { TOKENS = 128, COLUMNS = 32, PIECE = 32, PITCH = PIECE + 1 };

/* ---- the place of the largest ---- */

/* A value of [y; -y] and where it stands. */
typedef struct hash_value {
    real value;
    int32_t at;
} hash_value;

/* The larger; of equals the first. */
__device__ static inline hash_value larger_hash(hash_value a, hash_value b) {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}

/* Takes the columns of a round one after the other. */
typedef struct hash_walk {
    int64_t factor;
    int32_t column, place, bucket; /* column: within the factor's */
    hash_value best;
} hash_walk;

__device__ static inline hash_walk begin_walk(void) {
    return {0, 0, 1, 0, {-INFINITY, INT32_MAX}};
}

__device__ static inline void take_column(const lh_lsh_hash_args &a, real y, hash_walk *walk) {
    while (a.factor[walk->factor] < 2)
        ++walk->factor; /* one bucket, no column */
    const int32_t factor = (int32_t)a.factor[walk->factor], half = factor / 2;
    walk->best = larger_hash(walk->best, {y, walk->column});
    walk->best = larger_hash(walk->best, {-y, half + walk->column});
    if (++walk->column < half) return;
    const int32_t at = walk->best.at == INT32_MAX ? 0 : walk->best.at;
    *walk = {walk->factor + 1, 0, walk->place * factor, walk->bucket + walk->place * at,
             begin_walk().best};
}

/* ---- products ---- */

/* A block's shared memory. */
typedef struct hash_memory {
    real x[TOKENS * PITCH];
    real rotation[PIECE * COLUMNS];
} hash_memory;

/* What a block works on: `count` columns of a round from rotation on, `pitch` from row to row. */
typedef struct hash_part {
    const real *rotation;
    int64_t pitch, count;
} hash_part;

/* Elements [begin, begin + PIECE) of tokens and columns; zeros past the ends. */
template <typename element>
__device__ static inline void stage_piece(const lh_lsh_hash_args &a, int64_t pair, int64_t token,
                                          const hash_part &part, int64_t begin,
                                          hash_memory *memory) {
    for (int i = (int)threadIdx.x; i < TOKENS * PIECE; i += TOKENS) {
        const int row = i / PIECE, d = i % PIECE;
        const bool there = token + row < a.length && begin + d < a.head_width;
        const element *x =
            lh_head_row<element>(a.x, pair / a.heads, pair % a.heads, there ? token + row : 0);
        memory->x[row * PITCH + d] = there ? lh_load(x + begin + d) : 0;
    }
    for (int i = (int)threadIdx.x; i < PIECE * COLUMNS; i += TOKENS) {
        const int64_t d = begin + i / COLUMNS, c = i % COLUMNS;
        const bool there = d < a.head_width && c < part.count;
        memory->rotation[i] = there ? part.rotation[d * part.pitch + c] : 0;
    }
}

template <typename element>
__device__ static inline void multiply_columns(const lh_lsh_hash_args &a, int64_t pair,
                                               int64_t token, const hash_part &part,
                                               hash_memory *memory, real (&y)[COLUMNS]) {
    const real *x = memory->x + (int)threadIdx.x * PITCH;
    LH_UNROLL
    for (int c = 0; c < COLUMNS; ++c)
        y[c] = 0;
    for (int64_t begin = 0; begin < a.head_width; begin += PIECE) {
        __syncthreads();
        stage_piece<element>(a, pair, token, part, begin, memory);
        __syncthreads();
        for (int d = 0; d < PIECE; ++d) {
            LH_UNROLL
            for (int c = 0; c < COLUMNS; ++c)
                y[c] += x[d] * memory->rotation[d * COLUMNS + c];
        }
    }
}

template <typename element>
__global__ void __launch_bounds__(TOKENS)
    hash_tokens(lh_lsh_hash_args a, int64_t columns, int64_t tiles, int64_t tasks) {
    LH_SHARED(hash_memory, memory, [1]);
    const int64_t pitch = a.rounds * columns;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t token = task % tiles * TOKENS, round = task / tiles % a.rounds;
        const int64_t pair = task / tiles / a.rounds, own = token + threadIdx.x;
        const real *rotation = a.rotation + pair * a.head_width * pitch + round * columns;
        hash_walk walk = begin_walk();
        for (int64_t begin = 0; begin < columns; begin += COLUMNS) {
            const hash_part part = {rotation + begin, pitch, lh_min(COLUMNS, columns - begin)};
            real y[COLUMNS];
            multiply_columns<element>(a, pair, token, part, memory, y);
            LH_UNROLL
            for (int c = 0; c < COLUMNS; ++c)
                if (c < part.count) take_column(a, y[c], &walk);
        }
        if (own < a.length) a.bucket[(pair * a.rounds + round) * a.length + own] = walk.bucket;
    }
}

/* ---- the launch ---- */

size_t lh_cuda_lsh_hash_workspace(const lh_lsh_hash_args *args) {
    (void)args;
    return 0;
}

template <typename element>
static lh_status hash(const lh_launch *launch, const lh_lsh_hash_args *args) {
    const int64_t columns = lh_lsh_columns(args->factors, args->factor);
    const int64_t tiles = lh_chunk_count(args->length, TOKENS);
    const int64_t tasks = args->batch * args->heads * args->rounds * tiles;
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH((hash_tokens<element>), lh_blocks(tasks, 1), TOKENS, 0, launch, *args, columns,
                     tiles, tasks);
}

lh_status lh_cuda_lsh_hash(const lh_launch *launch, const lh_lsh_hash_args *args) {
    return LH_FOR_ELEMENT(args->x.act.dtype, hash, launch, args);
}
