/* The decaying scan in chunks of tokens; kernels/cpu/decay_scan.c has the formulas. Here
 * what is left between tokens is exp of a difference of sums from the chunk's start, in double, so
 * that any thread has it at once. Three launches
 * forward: what each chunk adds to the state, a block for each chunk and tile; the states between
 * chunks, a thread for each element, which walks over them; the outputs, a block for each chunk of
 * a head. Backward the same twice, and then a block for each chunk of a group, which goes through
 * its heads, so that the gradients of q and k have one writer.
 *
 * All products are tiles of 64 by 64 in f32 whose operands are functions of row and column: each
 * thread sums four by four elements, 16 apart. */
#include "kernels/cuda/attention.cuh"

enum { CHUNK = 64, DEPTH = 16, EACH = 4, APART = CHUNK / EACH, PITCH = CHUNK + 1 };

/* Operands of a tile on their way; one each for a block. */
typedef struct scan_stage {
    real left[DEPTH][PITCH], right[DEPTH][PITCH];
} scan_stage;

/* What a thread has of a tile: rows row() + 16 n, columns column() + 16 n. */
typedef struct scan_tile {
    real at[EACH][EACH];
} scan_tile;

__device__ static inline int scan_row(int n) {
    return (int)threadIdx.x / APART + n * APART;
}

__device__ static inline int scan_column(int n) {
    return (int)threadIdx.x % APART + n * APART;
}

/* tile += left right, summed over `depth`; left(row, k), right(k, column). */
template <typename first, typename second>
__device__ static void scan_multiply(int64_t depth, first left, second right, scan_stage &stage,
                                     scan_tile &tile) {
    for (int64_t begin = 0; begin < depth; begin += DEPTH) {
        __syncthreads();
        for (int n = (int)threadIdx.x; n < CHUNK * DEPTH; n += LH_THREADS) {
            const int64_t a = begin + n % DEPTH, b = begin + n / CHUNK;
            stage.left[n % DEPTH][n / DEPTH] = a < depth ? left(n / DEPTH, a) : 0;
            stage.right[n / CHUNK][n % CHUNK] = b < depth ? right(b, n % CHUNK) : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) {
            real a[EACH], b[EACH];
            for (int n = 0; n < EACH; ++n) {
                a[n] = stage.left[k][scan_row(n)];
                b[n] = stage.right[k][scan_column(n)];
            }
            for (int i = 0; i < EACH; ++i)
                for (int j = 0; j < EACH; ++j)
                    tile.at[i][j] += a[i] * b[j];
        }
    }
}

/* body(row, column, element) for what a thread has of a tile. */
template <typename work> __device__ static inline void scan_each(scan_tile &tile, work body) {
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j)
            body(scan_row(i), scan_column(j), tile.at[i][j]);
}

/* ---- A chunk as one head sees it ---- */

typedef struct scan_chunk {
    int64_t pair, batch, head, group, first;
    int count;
    const double *sum; /* [count]: log_decay from the chunk's first token to this one */
    int64_t state;     /* where the states of its place lie */
} scan_chunk;

LH_INLINE int64_t scan_chunks(const lh_decay_scan_spec &spec) {
    return lh_chunk_count(spec.length, CHUNK);
}

__device__ static inline scan_chunk scan_chunk_of(const lh_decay_scan_spec &spec,
                                                  const double *sums, int64_t pair, int64_t index) {
    const int64_t head = pair % spec.heads, first = index * CHUNK;
    return {pair,
            pair / spec.heads,
            head,
            head / (spec.heads / spec.groups),
            first,
            (int)lh_min(CHUNK, spec.length - first),
            sums + pair * spec.length + first,
            (pair * scan_chunks(spec) + index) * spec.key_width * spec.value_width};
}

/* Element `column` of a token's row; 0 past the chunk, past the width, and of what is not there. */
__device__ static inline real scan_load(const lh_heads &view, const scan_chunk &c, int64_t head,
                                        int64_t width, int64_t token, int64_t column) {
    if (token >= c.count || column >= width || view.act.data == NULL) return 0;
    return lh_head_row<real>(view, c.batch, head, c.first + token)[column];
}

/* Element of a state [key_width][value_width]; 0 outside. */
__device__ static inline real scan_state(const lh_decay_scan_spec &spec, const real *state,
                                         int64_t key, int64_t value) {
    return key < spec.key_width && value < spec.value_width ? state[key * spec.value_width + value]
                                                            : 0;
}

__device__ static inline real scan_since_start(const scan_chunk &c, int64_t token) {
    return token < c.count ? expf((real)c.sum[token]) : 0;
}

__device__ static inline real scan_to_end(const scan_chunk &c, int64_t token) {
    return token < c.count ? expf((real)(c.sum[c.count - 1] - c.sum[token])) : 0;
}

/* exp(c_i - c_j) for j <= i, else 0. */
__device__ static inline real scan_between(const scan_chunk &c, int64_t i, int64_t j) {
    return j <= i && i < c.count ? expf((real)(c.sum[i] - c.sum[j])) : 0;
}

/* ---- From chunk to chunk ---- */

static lh_status sum_decays(const lh_launch *launch, const lh_decay_scan_spec &spec, double *sums) {
    const int64_t chunks = scan_chunks(spec);
    return lh_each(launch, spec.batch * spec.heads * chunks, [=] __device__(int64_t i) {
        const int64_t pair = i / chunks, head = pair % spec.heads, batch = pair / spec.heads;
        const int64_t first = i % chunks * CHUNK, end = lh_min(spec.length, first + CHUNK);
        double sum = 0;
        for (int64_t t = first; t < end; ++t) {
            if (spec.log_decay != NULL)
                sum += (double)spec.log_decay[(batch * spec.length + t) * spec.heads + head];
            sums[pair * spec.length + t] = sum;
        }
    });
}

/* What the tokens of each chunk add: forward exp(c - c_j) k_j^T v_j to the state behind it,
 * backward exp(c_i) q_i^T dy_i to the gradient of the state before it. */
__global__ void __launch_bounds__(LH_THREADS)
    decay_scan_contribute(lh_decay_scan_spec spec, lh_heads keys, lh_heads values, bool backward,
                          const double *sums, real *states) {
    LH_SHARED(scan_stage, stage, [1]);
    const int64_t key_tiles = lh_chunk_count(spec.key_width, CHUNK);
    const int64_t value_tiles = lh_chunk_count(spec.value_width, CHUNK);
    const int64_t chunks = scan_chunks(spec);
    const int64_t tasks = spec.batch * spec.heads * chunks * key_tiles * value_tiles;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t n = task / value_tiles / key_tiles;
        const scan_chunk c = scan_chunk_of(spec, sums, n / chunks, n % chunks);
        const int64_t key = task / value_tiles % key_tiles * CHUNK;
        const int64_t value = task % value_tiles * CHUNK;
        scan_tile tile = {};
        scan_multiply(
            c.count,
            [&](int64_t row, int64_t t) {
                const real kept = backward ? scan_since_start(c, t) : scan_to_end(c, t);
                return kept * scan_load(keys, c, c.group, spec.key_width, t, key + row);
            },
            [&](int64_t t, int64_t column) {
                return scan_load(values, c, c.head, spec.value_width, t, value + column);
            },
            stage[0], tile);
        scan_each(tile, [&](int row, int column, real sum) {
            const int64_t i = key + row, j = value + column;
            if (i < spec.key_width && j < spec.value_width)
                states[c.state + i * spec.value_width + j] = sum;
        });
    }
}

/* Turns what chunks add into the state before each, or backward the gradient of that behind each:
 * from `from` (NULL: zeros) at one end to `to` (optional) at the other. */
static lh_status join_states(const lh_launch *launch, const lh_decay_scan_spec &spec, bool backward,
                             const double *sums, real *states, const real *from, real *to,
                             lh_write write) {
    const int64_t size = spec.key_width * spec.value_width, chunks = scan_chunks(spec);
    return lh_each(launch, spec.batch * spec.heads * size, [=] __device__(int64_t i) {
        real state = from != NULL ? from[i] : 0;
        for (int64_t n = 0; n < chunks; ++n) {
            const scan_chunk c = scan_chunk_of(spec, sums, i / size, backward ? chunks - 1 - n : n);
            real *slot = states + c.state + i % size;
            const real added = *slot;
            *slot = state;
            state = scan_since_start(c, c.count - 1) * state + added;
        }
        if (to != NULL) lh_store(&to[i], write, state);
    });
}

static lh_status run_contributions(const lh_launch *launch, const lh_decay_scan_spec &spec,
                                   const lh_heads &keys, const lh_heads &values, bool backward,
                                   const double *sums, real *states) {
    const int64_t tiles =
        lh_chunk_count(spec.key_width, CHUNK) * lh_chunk_count(spec.value_width, CHUNK);
    const int64_t tasks = spec.batch * spec.heads * scan_chunks(spec) * tiles;
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(decay_scan_contribute, lh_blocks(tasks, 1), LH_THREADS, 0, launch, spec, keys,
                     values, backward, sums, states);
}

/* ---- Forward ---- */

__global__ void __launch_bounds__(LH_THREADS)
    decay_scan_output(lh_decay_scan_forward_args a, const double *sums, const real *states) {
    LH_SHARED(scan_stage, stage, [1]);
    LH_SHARED(real, mixed, [CHUNK][PITCH]);
    const lh_decay_scan_spec &spec = a.spec;
    const int64_t chunks = scan_chunks(spec), tasks = spec.batch * spec.heads * chunks;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const scan_chunk c = scan_chunk_of(spec, sums, task / chunks, task % chunks);
        const auto q = [&](int64_t row, int64_t k) {
            return scan_load(spec.q, c, c.group, spec.key_width, row, k);
        };
        scan_tile products = {};
        scan_multiply(
            spec.key_width, q,
            [&](int64_t k, int64_t column) {
                return scan_load(spec.k, c, c.group, spec.key_width, column, k);
            },
            stage[0], products);
        scan_each(products, [&](int row, int column, real product) {
            mixed[row][column] = product * scan_between(c, row, column);
        });
        for (int64_t value = 0; value < spec.value_width; value += CHUNK) {
            scan_tile y = {};
            scan_multiply(
                spec.key_width,
                [&](int64_t row, int64_t k) { return scan_since_start(c, row) * q(row, k); },
                [&](int64_t k, int64_t column) {
                    return scan_state(spec, states + c.state, k, value + column);
                },
                stage[0], y);
            scan_multiply(
                c.count, [&](int64_t row, int64_t t) { return mixed[row][t]; },
                [&](int64_t t, int64_t column) {
                    return scan_load(spec.v, c, c.head, spec.value_width, t, value + column);
                },
                stage[0], y);
            scan_each(y, [&](int row, int column, real sum) {
                if (row < c.count && value + column < spec.value_width)
                    lh_head_row<real>(a.y, c.batch, c.head, c.first + row)[value + column] = sum;
            });
        }
        __syncthreads();
    }
}

static lh_status check(const lh_decay_scan_spec &spec) {
    const bool whole = spec.groups >= 1 && spec.heads >= 1 && spec.heads % spec.groups == 0;
    return whole && spec.key_width >= 1 && spec.value_width >= 1 ? LH_OK : LH_ESHAPE;
}

static size_t sums_bytes(const lh_decay_scan_spec &spec) {
    return (size_t)(spec.batch * spec.heads * spec.length) * sizeof(double);
}

static int64_t states_count(const lh_decay_scan_spec &spec) {
    return spec.batch * spec.heads * scan_chunks(spec) * spec.key_width * spec.value_width;
}

size_t lh_cuda_decay_scan_forward_workspace(const lh_decay_scan_forward_args *args) {
    return sums_bytes(args->spec) + (size_t)states_count(args->spec) * sizeof(real);
}

lh_status lh_cuda_decay_scan_forward(const lh_launch *launch,
                                     const lh_decay_scan_forward_args *args) {
    const lh_decay_scan_spec &spec = args->spec;
    LH_CUDA_TRY(check(spec));
    double *sums = (double *)launch->workspace;
    real *states = (real *)(sums + spec.batch * spec.heads * spec.length);
    const int64_t tasks = spec.batch * spec.heads * scan_chunks(spec);
    LH_CUDA_TRY(sum_decays(launch, spec, sums));
    LH_CUDA_TRY(run_contributions(launch, spec, spec.k, spec.v, false, sums, states));
    LH_CUDA_TRY(join_states(launch, spec, false, sums, states, spec.start, args->end, LH_SET));
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(decay_scan_output, lh_blocks(tasks, 1), LH_THREADS, 0, launch, *args, sums,
                     states);
}

/* ---- Backward ---- */

/* What a block shares while it goes through the heads of a group. */
typedef struct scan_shared {
    scan_stage stage;
    real mixed[CHUNK][PITCH];  /* P_ij */
    real slopes[CHUNK][PITCH]; /* P_ij dy_i . v_j; in the end the gradient of q k^T */
    real parts[CHUNK][APART];  /* of sums over rows, and of one over the block */
    real read[CHUNK], kept[CHUNK];
} scan_shared;

typedef struct scan_back {
    lh_decay_scan_backward_args args;
    const double *sums;
    const real *states, *gradients;
} scan_back;

/* to[row] = the sum over the threads that share the row. */
__device__ static void scan_sum_rows(scan_shared &shared, const real *own, real *to) {
    __syncthreads();
    for (int n = 0; n < EACH; ++n)
        shared.parts[scan_row(n)][scan_column(0)] = own[n];
    __syncthreads();
    if (threadIdx.x < CHUNK) {
        real sum = 0;
        for (int n = 0; n < APART; ++n)
            sum += shared.parts[threadIdx.x][n];
        to[threadIdx.x] = sum;
    }
    __syncthreads();
}

/* P of the chunk. */
__device__ static void scan_mix(const scan_back &b, const scan_chunk &c, scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    scan_tile products = {};
    scan_multiply(
        spec.key_width,
        [&](int64_t row, int64_t k) {
            return scan_load(spec.q, c, c.group, spec.key_width, row, k);
        },
        [&](int64_t k, int64_t column) {
            return scan_load(spec.k, c, c.group, spec.key_width, column, k);
        },
        shared.stage, products);
    scan_each(products, [&](int row, int column, real product) {
        shared.mixed[row][column] = product * scan_between(c, row, column);
    });
    __syncthreads();
}

/* dv, and what token j keeps to the end of the chunk. */
__device__ static void scan_value_gradients(const scan_back &b, const scan_chunk &c,
                                            scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    real kept[EACH] = {0};
    for (int64_t value = 0; value < spec.value_width; value += CHUNK) {
        scan_tile tile = {};
        scan_multiply(
            spec.key_width,
            [&](int64_t row, int64_t k) {
                return scan_to_end(c, row) * scan_load(spec.k, c, c.group, spec.key_width, row, k);
            },
            [&](int64_t k, int64_t column) {
                return scan_state(spec, b.gradients + c.state, k, value + column);
            },
            shared.stage, tile);
        for (int i = 0; i < EACH; ++i)
            for (int j = 0; j < EACH; ++j)
                kept[i] += tile.at[i][j] * scan_load(spec.v, c, c.head, spec.value_width,
                                                     scan_row(i), value + scan_column(j));
        scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.mixed[t][row]; },
            [&](int64_t t, int64_t column) {
                return scan_load(b.args.dy, c, c.head, spec.value_width, t, value + column);
            },
            shared.stage, tile);
        scan_each(tile, [&](int row, int column, real sum) {
            if (row < c.count && value + column < spec.value_width && b.args.dv.act.data != NULL)
                lh_store(lh_head_row<real>(b.args.dv, c.batch, c.head, c.first + row) + value +
                             column,
                         b.args.dv_write, sum);
        });
    }
    scan_sum_rows(shared, kept, shared.kept);
}

/* The gradient of q k^T, added to that of the heads before, and the slopes. */
__device__ static void scan_product_gradients(const scan_back &b, const scan_chunk &c,
                                              scan_shared &shared, scan_tile &products) {
    const lh_decay_scan_spec &spec = b.args.spec;
    scan_tile tile = {};
    scan_multiply(
        spec.value_width,
        [&](int64_t row, int64_t k) {
            return scan_load(b.args.dy, c, c.head, spec.value_width, row, k);
        },
        [&](int64_t k, int64_t column) {
            return scan_load(spec.v, c, c.head, spec.value_width, column, k);
        },
        shared.stage, tile);
    for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j) {
            const int row = scan_row(i), column = scan_column(j);
            products.at[i][j] += tile.at[i][j] * scan_between(c, row, column);
            shared.slopes[row][column] = tile.at[i][j] * shared.mixed[row][column];
        }
    __syncthreads();
}

/* Where a gradient of q or k goes; NULL: nowhere. */
__device__ static inline real *scan_key_gradient(const lh_decay_scan_spec &spec,
                                                 const lh_heads &view, const scan_chunk &c, int row,
                                                 int64_t key) {
    if (row >= c.count || key >= spec.key_width || view.act.data == NULL) return NULL;
    return lh_head_row<real>(view, c.batch, c.group, c.first + row) + key;
}

/* What dq and dk get from the states, and what is read of them. */
__device__ static void scan_key_gradients(const scan_back &b, const scan_chunk &c, bool first,
                                          scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    const lh_write dq_write = first ? b.args.dq_write : LH_ADD;
    const lh_write dk_write = first ? b.args.dk_write : LH_ADD;
    real read[EACH] = {0};
    for (int64_t key = 0; key < spec.key_width; key += CHUNK) {
        scan_tile q = {}, k = {};
        scan_multiply(
            spec.value_width,
            [&](int64_t row, int64_t v) {
                return scan_since_start(c, row) *
                       scan_load(b.args.dy, c, c.head, spec.value_width, row, v);
            },
            [&](int64_t v, int64_t column) {
                return scan_state(spec, b.states + c.state, key + column, v);
            },
            shared.stage, q);
        for (int i = 0; i < EACH; ++i)
            for (int j = 0; j < EACH; ++j)
                read[i] += q.at[i][j] * scan_load(spec.q, c, c.group, spec.key_width, scan_row(i),
                                                  key + scan_column(j));
        scan_each(q, [&](int row, int column, real sum) {
            real *to = scan_key_gradient(spec, b.args.dq, c, row, key + column);
            if (to != NULL) lh_store(to, dq_write, sum);
        });
        scan_multiply(
            spec.value_width,
            [&](int64_t row, int64_t v) {
                return scan_to_end(c, row) * scan_load(spec.v, c, c.head, spec.value_width, row, v);
            },
            [&](int64_t v, int64_t column) {
                return scan_state(spec, b.gradients + c.state, key + column, v);
            },
            shared.stage, k);
        scan_each(k, [&](int row, int column, real sum) {
            real *to = scan_key_gradient(spec, b.args.dk, c, row, key + column);
            if (to != NULL) lh_store(to, dk_write, sum);
        });
    }
    scan_sum_rows(shared, read, shared.read);
}

/* The product of the state before the chunk and the gradient of the one behind it, for every
 * thread. */
__device__ static real scan_state_slope(const scan_back &b, const scan_chunk &c,
                                        scan_shared &shared) {
    const int64_t size = b.args.spec.key_width * b.args.spec.value_width;
    real own = 0, *parts = &shared.parts[0][0];
    for (int64_t i = threadIdx.x; i < size; i += LH_THREADS)
        own += b.states[c.state + i] * b.gradients[c.state + i];
    __syncthreads();
    parts[threadIdx.x] = own;
    __syncthreads();
    for (unsigned half = LH_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    return parts[0];
}

/* A thread for each column sums the slopes from below, then one for each token what crosses it. */
__device__ static void scan_decay_gradients(const scan_back &b, const scan_chunk &c,
                                            scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    const int64_t own = threadIdx.x;
    if (b.args.dlog_decay == NULL) return;
    const real whole = scan_since_start(c, c.count - 1) * scan_state_slope(b, c, shared);
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
        lh_store(&b.args.dlog_decay[token * spec.heads + c.head], b.args.dlog_decay_write,
                 crossing + read + kept + whole);
    }
    __syncthreads();
}

/* dq += G k and dk += G^T q, with G the gradient of q k^T. */
__device__ static void scan_finish_keys(const scan_back &b, const scan_chunk &c,
                                        scan_shared &shared, scan_tile &products) {
    const lh_decay_scan_spec &spec = b.args.spec;
    scan_each(products, [&](int row, int column, real sum) { shared.slopes[row][column] = sum; });
    for (int64_t key = 0; key < spec.key_width; key += CHUNK) {
        scan_tile q = {}, k = {};
        scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.slopes[row][t]; },
            [&](int64_t t, int64_t column) {
                return scan_load(spec.k, c, c.group, spec.key_width, t, key + column);
            },
            shared.stage, q);
        scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.slopes[t][row]; },
            [&](int64_t t, int64_t column) {
                return scan_load(spec.q, c, c.group, spec.key_width, t, key + column);
            },
            shared.stage, k);
        for (int i = 0; i < EACH; ++i)
            for (int j = 0; j < EACH; ++j) {
                const int row = scan_row(i);
                const int64_t column = key + scan_column(j);
                real *dq = scan_key_gradient(spec, b.args.dq, c, row, column);
                real *dk = scan_key_gradient(spec, b.args.dk, c, row, column);
                if (dq != NULL) *dq += q.at[i][j];
                if (dk != NULL) *dk += k.at[i][j];
            }
    }
    __syncthreads();
}

__global__ void __launch_bounds__(LH_THREADS) decay_scan_gradients(scan_back b) {
    LH_SHARED(scan_shared, all, [1]);
    scan_shared &shared = all[0];
    const lh_decay_scan_spec &spec = b.args.spec;
    const int64_t chunks = scan_chunks(spec), each = spec.heads / spec.groups;
    for (int64_t task = blockIdx.x; task < spec.batch * spec.groups * chunks; task += gridDim.x) {
        scan_tile products = {};
        for (int64_t n = 0; n < each; ++n) {
            const scan_chunk c =
                scan_chunk_of(spec, b.sums, task / chunks * each + n, task % chunks);
            scan_mix(b, c, shared);
            scan_value_gradients(b, c, shared);
            scan_product_gradients(b, c, shared, products);
            scan_key_gradients(b, c, n == 0, shared);
            scan_decay_gradients(b, c, shared);
            if (n == each - 1) scan_finish_keys(b, c, shared, products);
        }
    }
}

size_t lh_cuda_decay_scan_backward_workspace(const lh_decay_scan_backward_args *args) {
    return sums_bytes(args->spec) + 2 * (size_t)states_count(args->spec) * sizeof(real);
}

lh_status lh_cuda_decay_scan_backward(const lh_launch *launch,
                                      const lh_decay_scan_backward_args *args) {
    const lh_decay_scan_spec &spec = args->spec;
    LH_CUDA_TRY(check(spec));
    double *sums = (double *)launch->workspace;
    real *states = (real *)(sums + spec.batch * spec.heads * spec.length);
    real *gradients = states + states_count(spec);
    const int64_t tasks = spec.batch * spec.groups * scan_chunks(spec);
    LH_CUDA_TRY(sum_decays(launch, spec, sums));
    LH_CUDA_TRY(run_contributions(launch, spec, spec.k, spec.v, false, sums, states));
    LH_CUDA_TRY(join_states(launch, spec, false, sums, states, spec.start, NULL, LH_SET));
    LH_CUDA_TRY(run_contributions(launch, spec, spec.q, args->dy, true, sums, gradients));
    LH_CUDA_TRY(join_states(launch, spec, true, sums, gradients, args->dend, args->dstart,
                            args->dstart_write));
    if (tasks == 0) return LH_OK;
    const scan_back back = {*args, sums, states, gradients};
    return LH_LAUNCH(decay_scan_gradients, lh_blocks(tasks, 1), LH_THREADS, 0, launch, back);
}
