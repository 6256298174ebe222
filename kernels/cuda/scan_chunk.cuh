/* Chunks of a scan whose state is a matrix: what the kernels that walk over them have in common.
 * kernels/cpu/decay_scan.c has the formulas. Here what is left between tokens is exp of a
 * difference of sums from the chunk's start, in double, so that any thread has it at once.
 *
 * All products are tiles of 64 by 64 in f32 whose operands are functions of row and column: each
 * thread sums four by four elements, 16 apart. */
#ifndef LH_KERNELS_CUDA_SCAN_CHUNK_CUH
#define LH_KERNELS_CUDA_SCAN_CHUNK_CUH

#include "kernels/cuda/attention.cuh"

enum {
    LH_SCAN_CHUNK = 64,
    LH_SCAN_DEPTH = 16,
    LH_SCAN_EACH = 4,
    LH_SCAN_APART = LH_SCAN_CHUNK / LH_SCAN_EACH,
    LH_SCAN_PITCH = LH_SCAN_CHUNK + 1
};

/* Operands of a tile on their way; one each for a block. */
typedef struct lh_scan_stage {
    real left[LH_SCAN_DEPTH][LH_SCAN_PITCH], right[LH_SCAN_DEPTH][LH_SCAN_PITCH];
} lh_scan_stage;

/* What a thread has of a tile: rows row() + 16 n, columns column() + 16 n. */
typedef struct lh_scan_tile {
    real at[LH_SCAN_EACH][LH_SCAN_EACH];
} lh_scan_tile;

/* The n-th row of the tile that a thread has. */
__device__ static inline int lh_scan_row(int n) {
    return (int)threadIdx.x / LH_SCAN_APART + n * LH_SCAN_APART;
}

/* The n-th column. */
__device__ static inline int lh_scan_column(int n) {
    return (int)threadIdx.x % LH_SCAN_APART + n * LH_SCAN_APART;
}

/* tile += left right, summed over `depth`; left(row, k), right(k, column). */
template <typename first, typename second>
__device__ static inline void lh_scan_multiply(int64_t depth, first left, second right,
                                               lh_scan_stage &stage, lh_scan_tile &tile) {
    for (int64_t begin = 0; begin < depth; begin += LH_SCAN_DEPTH) {
        __syncthreads();
        for (int n = (int)threadIdx.x; n < LH_SCAN_CHUNK * LH_SCAN_DEPTH; n += LH_THREADS) {
            const int64_t a = begin + n % LH_SCAN_DEPTH, b = begin + n / LH_SCAN_CHUNK;
            stage.left[n % LH_SCAN_DEPTH][n / LH_SCAN_DEPTH] =
                a < depth ? left(n / LH_SCAN_DEPTH, a) : 0;
            stage.right[n / LH_SCAN_CHUNK][n % LH_SCAN_CHUNK] =
                b < depth ? right(b, n % LH_SCAN_CHUNK) : 0;
        }
        __syncthreads();
        for (int k = 0; k < LH_SCAN_DEPTH; ++k) {
            real a[LH_SCAN_EACH], b[LH_SCAN_EACH];
            for (int n = 0; n < LH_SCAN_EACH; ++n) {
                a[n] = stage.left[k][lh_scan_row(n)];
                b[n] = stage.right[k][lh_scan_column(n)];
            }
            for (int i = 0; i < LH_SCAN_EACH; ++i)
                for (int j = 0; j < LH_SCAN_EACH; ++j)
                    tile.at[i][j] += a[i] * b[j];
        }
    }
}

/* body(row, column, element) for what a thread has of a tile. */
template <typename work> __device__ static inline void lh_scan_each(lh_scan_tile &tile, work body) {
    for (int i = 0; i < LH_SCAN_EACH; ++i)
        for (int j = 0; j < LH_SCAN_EACH; ++j)
            body(lh_scan_row(i), lh_scan_column(j), tile.at[i][j]);
}

/* ---- A chunk as one head sees it ---- */

typedef struct lh_scan_chunk {
    int64_t pair, batch, head, group, first;
    int count;
    const double *sum; /* [count]: log_decay from the chunk's first token to this one */
    int64_t state;     /* where the states of its place lie */
} lh_scan_chunk;

/* Chunks of a batch row and head; the last may be shorter. */
LH_INLINE int64_t lh_scan_chunks(const lh_decay_scan_spec &spec) {
    return lh_chunk_count(spec.length, LH_SCAN_CHUNK);
}

/* Chunk `index` of pair = batch row * heads + head; `sums` is [pair][length]. */
__device__ static inline lh_scan_chunk
lh_scan_chunk_of(const lh_decay_scan_spec &spec, const double *sums, int64_t pair, int64_t index) {
    const int64_t head = pair % spec.heads, first = index * LH_SCAN_CHUNK;
    return {pair,
            pair / spec.heads,
            head,
            head / (spec.heads / spec.groups),
            first,
            (int)lh_min(LH_SCAN_CHUNK, spec.length - first),
            sums + pair * spec.length + first,
            (pair * lh_scan_chunks(spec) + index) * spec.key_width * spec.value_width};
}

/* Element `column` of a token's row; 0 past the chunk, past the width, and of what is not there. */
__device__ static inline real lh_scan_load(const lh_heads &view, const lh_scan_chunk &c,
                                           int64_t head, int64_t width, int64_t token,
                                           int64_t column) {
    if (token >= c.count || column >= width || view.act.data == NULL) return 0;
    return lh_head_row<real>(view, c.batch, head, c.first + token)[column];
}

/* Element of a state [key_width][value_width]; 0 outside. */
__device__ static inline real lh_scan_state(const lh_decay_scan_spec &spec, const real *state,
                                            int64_t key, int64_t value) {
    return key < spec.key_width && value < spec.value_width ? state[key * spec.value_width + value]
                                                            : 0;
}

/* Of a token, 0 past the chunk: b of kernels/cpu/decay_scan.c, what is left there of the state
 * before the chunk ... */
__device__ static inline real lh_scan_since_start(const lh_scan_chunk &c, int64_t token) {
    return token < c.count ? expf((real)c.sum[token]) : 0;
}

/* ... and e, what is left of the token at the end of the chunk. */
__device__ static inline real lh_scan_to_end(const lh_scan_chunk &c, int64_t token) {
    return token < c.count ? expf((real)(c.sum[c.count - 1] - c.sum[token])) : 0;
}

/* exp(c_i - c_j) for j <= i, else 0. */
__device__ static inline real lh_scan_between(const lh_scan_chunk &c, int64_t i, int64_t j) {
    return j <= i && i < c.count ? expf((real)(c.sum[i] - c.sum[j])) : 0;
}
/* ---- From chunk to chunk (scan_chunk.cu) ---- */

/* Of the sums of decays, and numbers in the states of all chunks. */
size_t lh_scan_sums_bytes(const lh_decay_scan_spec &spec);
int64_t lh_scan_states_count(const lh_decay_scan_spec &spec);

/* sums [batch][heads][length]: log_decay from the chunk's first token to this one. */
lh_status lh_scan_sum_decays(const lh_launch *launch, const lh_decay_scan_spec &spec, double *sums);

/* What the tokens of each chunk add: forward exp(c - c_j) k_j^T v_j to the state behind it,
 * backward exp(c_i) q_i^T dy_i to the gradient of the state before it. */
lh_status lh_scan_contributions(const lh_launch *launch, const lh_decay_scan_spec &spec,
                                const lh_heads &keys, const lh_heads &values, bool backward,
                                const double *sums, real *states);

/* Turns what chunks add into the state before each, or backward the gradient of that behind each:
 * from `from` (NULL: zeros) at one end to `to` (optional) at the other. */
lh_status lh_scan_join_states(const lh_launch *launch, const lh_decay_scan_spec &spec,
                              bool backward, const double *sums, real *states, const real *from,
                              real *to, lh_write write);

/* ---- Gradients within a chunk ---- */

/* What a block shares while it goes through the heads of a group. */
typedef struct lh_scan_shared {
    lh_scan_stage stage;
    real mixed[LH_SCAN_CHUNK][LH_SCAN_PITCH]; /* P_ij */
    real slopes[LH_SCAN_CHUNK]
               [LH_SCAN_PITCH]; /* P_ij dy_i . v_j; in the end the gradient of q k^T */
    real parts[LH_SCAN_CHUNK][LH_SCAN_APART]; /* of sums over rows, and of one over the block */
    real read[LH_SCAN_CHUNK], kept[LH_SCAN_CHUNK];
} lh_scan_shared;

/* to[row] = the sum over the threads that share the row. */
__device__ static inline void lh_scan_sum_rows(lh_scan_shared &shared, const real *own, real *to) {
    __syncthreads();
    for (int n = 0; n < LH_SCAN_EACH; ++n)
        shared.parts[lh_scan_row(n)][lh_scan_column(0)] = own[n];
    __syncthreads();
    if (threadIdx.x < LH_SCAN_CHUNK) {
        real sum = 0;
        for (int n = 0; n < LH_SCAN_APART; ++n)
            sum += shared.parts[threadIdx.x][n];
        to[threadIdx.x] = sum;
    }
    __syncthreads();
}

/* Where a gradient of q or k goes; NULL: nowhere. */
__device__ static inline real *lh_scan_key_gradient(const lh_decay_scan_spec &spec,
                                                    const lh_heads &view, const lh_scan_chunk &c,
                                                    int row, int64_t key) {
    if (row >= c.count || key >= spec.key_width || view.act.data == NULL) return NULL;
    return lh_head_row<real>(view, c.batch, c.group, c.first + row) + key;
}

/* The product of the state before the chunk and the gradient of the one behind it, for every
 * thread. */
__device__ static inline real lh_scan_state_slope(const lh_decay_scan_spec &spec, const real *state,
                                                  const real *gradient, lh_scan_shared &shared) {
    const int64_t size = spec.key_width * spec.value_width;
    real own = 0, *parts = &shared.parts[0][0];
    for (int64_t i = threadIdx.x; i < size; i += LH_THREADS)
        own += state[i] * gradient[i];
    __syncthreads();
    parts[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = LH_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

/* From shared slopes, read and kept the gradient of log_decay (NULL: not wanted): a thread for each
 * column sums the slopes from below, then one for each token what crosses it. */
__device__ static inline void lh_scan_decay_gradients(const lh_decay_scan_spec &spec,
                                                      const lh_scan_chunk &c, const real *states,
                                                      const real *gradients, real *dlog_decay,
                                                      lh_write write, lh_scan_shared &shared) {
    const int64_t own = threadIdx.x;
    if (dlog_decay == NULL) return;
    const real whole = lh_scan_since_start(c, c.count - 1) *
                       lh_scan_state_slope(spec, states + c.state, gradients + c.state, shared);
    if (own < c.count)
        for (int64_t t = c.count - 2; t > own; --t)
            shared.slopes[t][own] += shared.slopes[t + 1][own];
    __syncthreads();
    if (own < c.count) {
        real crossing = 0, read = 0, kept = 0;
        for (int64_t j = 0; j < own; ++j) {
            crossing += shared.slopes[own][j];
            kept += shared.kept[j];
        }
        for (int64_t i = own; i < c.count; ++i)
            read += shared.read[i];
        const int64_t token = c.batch * spec.length + c.first + own;
        lh_store(&dlog_decay[token * spec.heads + c.head], write, crossing + read + kept + whole);
    }
    __syncthreads();
}

#endif
