/* What the delta rule writes, in chunks of tokens; kernels/cpu/delta_rule.c has the formulas. Here
 * the triangular systems of all chunks are inverted first, a block for each, so that the walk over
 * the chunks is products alone: a block for each batch row, head and tile of value columns, which
 * nothing joins. Backward the same from the last chunk back, and then a block for each chunk of a
 * group, which goes through its heads, so that the gradient of k has one writer. */
#include "kernels/cuda/scan_chunk.cuh"

enum { SYSTEM = LH_SCAN_CHUNK * LH_SCAN_CHUNK };

/* beta of a token; 0 past the chunk. */
__device__ static inline real beta_at(const lh_delta_rule_spec &spec, const lh_scan_chunk &c,
                                      int64_t token) {
    if (token >= c.count) return 0;
    return spec.beta[(c.batch * spec.scan.length + c.first + token) * spec.scan.heads + c.head];
}

/* d_ij for j < i, else 0. */
__device__ static inline real between_others(const lh_scan_chunk &c, int64_t i, int64_t j) {
    return j < i ? lh_scan_between(c, i, j) : 0;
}

/* P of a chunk. */
__device__ static void mix(const lh_decay_scan_spec &scan, const lh_scan_chunk &c,
                           lh_scan_stage &stage, real (*mixed)[LH_SCAN_PITCH]) {
    lh_scan_tile products = {};
    lh_scan_multiply(
        scan.key_width,
        [&](int64_t row, int64_t k) {
            return lh_scan_load(scan.k, c, c.group, scan.key_width, row, k);
        },
        [&](int64_t k, int64_t column) {
            return lh_scan_load(scan.k, c, c.group, scan.key_width, column, k);
        },
        stage, products);
    lh_scan_each(products, [&](int row, int column, real product) {
        mixed[row][column] = product * between_others(c, row, column);
    });
    __syncthreads();
}

/* ---- Systems ---- */

/* Where the inverse of a chunk's system lies, [LH_SCAN_CHUNK][LH_SCAN_CHUNK]. */
__device__ static inline int64_t inverse_at(const lh_decay_scan_spec &scan,
                                            const lh_scan_chunk &c) {
    return (c.pair * lh_scan_chunks(scan) + c.first / LH_SCAN_CHUNK) * SYSTEM;
}

/* The inverses of 1 + beta P, a thread for each column; zeros past the chunk. */
__global__ void __launch_bounds__(LH_THREADS)
    delta_rule_invert(lh_delta_rule_spec spec, const double *sums, real *inverses) {
    LH_SHARED(lh_scan_stage, stage, [1]);
    LH_SHARED(real, mixed, [LH_SCAN_CHUNK][LH_SCAN_PITCH]);
    LH_SHARED(real, inverse, [LH_SCAN_CHUNK][LH_SCAN_PITCH]);
    const int64_t chunks = lh_scan_chunks(spec.scan);
    const int64_t tasks = spec.scan.batch * spec.scan.heads * chunks, own = threadIdx.x;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const lh_scan_chunk c = lh_scan_chunk_of(spec.scan, sums, task / chunks, task % chunks);
        mix(spec.scan, c, stage[0], mixed);
        for (int64_t i = 0; own < LH_SCAN_CHUNK && i < LH_SCAN_CHUNK; ++i) {
            real sum = 0;
            for (int64_t j = own; j < i; ++j)
                sum += mixed[i][j] * inverse[j][own];
            const bool inside = own <= i && i < c.count;
            inverse[i][own] = inside ? (real)(own == i) - beta_at(spec, c, i) * sum : 0;
        }
        __syncthreads();
        for (int64_t n = threadIdx.x; n < SYSTEM; n += LH_THREADS)
            inverses[inverse_at(spec.scan, c) + n] = inverse[n / LH_SCAN_CHUNK][n % LH_SCAN_CHUNK];
        __syncthreads();
    }
}

static int64_t inverses_count(const lh_decay_scan_spec &scan) {
    return scan.batch * scan.heads * lh_scan_chunks(scan) * SYSTEM;
}

static lh_status invert(const lh_launch *launch, const lh_delta_rule_spec &spec, const double *sums,
                        real *inverses) {
    const int64_t tasks = spec.scan.batch * spec.scan.heads * lh_scan_chunks(spec.scan);
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(delta_rule_invert, lh_blocks(tasks, 1), LH_THREADS, 0, launch, spec, sums,
                     inverses);
}

/* ---- Forward ---- */

/* One tile of the value columns of a batch row and head, through all chunks. */
typedef struct walk {
    int64_t pair, value; /* value: the first column */
} walk;

__device__ static inline walk walk_of(const lh_decay_scan_spec &scan, int64_t task) {
    const int64_t tiles = lh_chunk_count(scan.value_width, LH_SCAN_CHUNK);
    return {task / tiles, task % tiles * LH_SCAN_CHUNK};
}

static int64_t walks(const lh_decay_scan_spec &scan) {
    return scan.batch * scan.heads * lh_chunk_count(scan.value_width, LH_SCAN_CHUNK);
}

/* tile = rows of k times a state. */
__device__ static void read_state(const lh_decay_scan_spec &scan, const lh_scan_chunk &c,
                                  const walk &w, const real *state, lh_scan_stage &stage,
                                  lh_scan_tile &tile) {
    lh_scan_multiply(
        scan.key_width,
        [&](int64_t row, int64_t k) {
            return lh_scan_load(scan.k, c, c.group, scan.key_width, row, k);
        },
        [&](int64_t k, int64_t column) { return lh_scan_state(scan, state, k, w.value + column); },
        stage, tile);
}

/* to (+)= b_n from + k^T rows, in the columns of the walk; `to` may be `from`. */
__device__ static void pass_on(const lh_decay_scan_spec &scan, const lh_scan_chunk &c,
                               const walk &w, const real (*rows)[LH_SCAN_PITCH], const real *from,
                               real *to, lh_write write, lh_scan_stage &stage) {
    const real kept = lh_scan_since_start(c, c.count - 1);
    for (int64_t key = 0; key < scan.key_width; key += LH_SCAN_CHUNK) {
        lh_scan_tile tile = {};
        lh_scan_multiply(
            c.count,
            [&](int64_t row, int64_t t) {
                return lh_scan_load(scan.k, c, c.group, scan.key_width, t, key + row);
            },
            [&](int64_t t, int64_t column) { return rows[t][column]; }, stage, tile);
        lh_scan_each(tile, [&](int row, int column, real sum) {
            const int64_t k = key + row, v = w.value + column, i = k * scan.value_width + v;
            if (k < scan.key_width && v < scan.value_width)
                lh_store(&to[i], write, kept * from[i] + sum);
        });
    }
}

/* state[i] = start (NULL: zeros), in the columns of the walk. */
__device__ static void begin_state(const lh_decay_scan_spec &scan, const walk &w, const real *start,
                                   real *state) {
    const int64_t width = lh_min(LH_SCAN_CHUNK, scan.value_width - w.value);
    for (int64_t n = threadIdx.x; n < scan.key_width * width; n += LH_THREADS) {
        const int64_t i = n / width * scan.value_width + w.value + n % width;
        state[i] = start != NULL ? start[i] : 0;
    }
    __syncthreads();
}

__global__ void __launch_bounds__(LH_THREADS)
    delta_rule_walk(lh_delta_rule_forward_args a, const double *sums, const real *inverses,
                    real *states) {
    LH_SHARED(lh_scan_stage, stage, [1]);
    LH_SHARED(real, rows, [LH_SCAN_CHUNK][LH_SCAN_PITCH]);
    const lh_decay_scan_spec &scan = a.spec.scan;
    const int64_t size = scan.key_width * scan.value_width, chunks = lh_scan_chunks(scan);
    const int64_t tiles = lh_chunk_count(scan.value_width, LH_SCAN_CHUNK);
    for (int64_t task = blockIdx.x; task < scan.batch * scan.heads * tiles; task += gridDim.x) {
        const walk w = walk_of(scan, task);
        real *state = states + w.pair * size;
        begin_state(scan, w, scan.start + w.pair * size, state);
        for (int64_t n = 0; n < chunks; ++n) {
            const lh_scan_chunk c = lh_scan_chunk_of(scan, sums, w.pair, n);
            const real *inverse = inverses + inverse_at(scan, c);
            lh_scan_tile read = {}, u = {};
            read_state(scan, c, w, state, stage[0], read);
            lh_scan_each(read, [&](int row, int column, real sum) {
                const real v =
                    lh_scan_load(scan.v, c, c.head, scan.value_width, row, w.value + column);
                rows[row][column] =
                    beta_at(a.spec, c, row) * (v - lh_scan_since_start(c, row) * sum);
            });
            lh_scan_multiply(
                c.count, [&](int64_t row, int64_t t) { return inverse[row * LH_SCAN_CHUNK + t]; },
                [&](int64_t t, int64_t column) { return rows[t][column]; }, stage[0], u);
            lh_scan_each(u, [&](int row, int column, real sum) {
                rows[row][column] = lh_scan_to_end(c, row) * sum;
                if (row < c.count && w.value + column < scan.value_width)
                    lh_head_row<real>(a.u, c.batch, c.head, c.first + row)[w.value + column] = sum;
            });
            if (n < chunks - 1) pass_on(scan, c, w, rows, state, state, LH_SET, stage[0]);
        }
        __syncthreads();
    }
}

size_t lh_cuda_delta_rule_forward_workspace(const lh_delta_rule_forward_args *args) {
    const lh_decay_scan_spec &scan = args->spec.scan;
    const int64_t states = scan.batch * scan.heads * scan.key_width * scan.value_width;
    return lh_scan_sums_bytes(scan) + (size_t)(states + inverses_count(scan)) * sizeof(real);
}

lh_status lh_cuda_delta_rule_forward(const lh_launch *launch,
                                     const lh_delta_rule_forward_args *args) {
    const lh_decay_scan_spec &scan = args->spec.scan;
    double *sums = (double *)launch->workspace;
    real *inverses = (real *)(sums + scan.batch * scan.heads * scan.length);
    real *states = inverses + inverses_count(scan);
    if (walks(scan) == 0 || scan.length == 0) return LH_OK;
    LH_CUDA_TRY(lh_scan_sum_decays(launch, scan, sums));
    LH_CUDA_TRY(invert(launch, args->spec, sums, inverses));
    return LH_LAUNCH(delta_rule_walk, lh_blocks(walks(scan), 1), LH_THREADS, 0, launch, *args, sums,
                     inverses, states);
}

/* ---- Backward ---- */

typedef struct delta_back {
    lh_delta_rule_backward_args args;
    lh_decay_scan_spec scan; /* with u in place of v */
    const double *sums;
    const real *inverses, *states;
    real *gradients;
    real *solved; /* w of all tokens, [batch][heads][length][value_width] */
} delta_back;

/* Where w of a token lies. */
__device__ static inline int64_t solved_at(const lh_decay_scan_spec &scan, const lh_scan_chunk &c,
                                           int64_t token) {
    return (c.pair * scan.length + c.first + token) * scan.value_width;
}

__device__ static inline real solved_of(const delta_back &b, const lh_scan_chunk &c, int64_t token,
                                        int64_t value) {
    if (token >= c.count || value >= b.scan.value_width) return 0;
    return b.solved[solved_at(b.scan, c, token) + value];
}

/* w, and the gradients of the states behind all chunks and of the first state. */
__global__ void __launch_bounds__(LH_THREADS) delta_rule_walk_back(delta_back b) {
    LH_SHARED(lh_scan_stage, stage, [1]);
    LH_SHARED(real, rows, [LH_SCAN_CHUNK][LH_SCAN_PITCH]);
    const lh_decay_scan_spec &scan = b.scan;
    const int64_t size = scan.key_width * scan.value_width, chunks = lh_scan_chunks(scan);
    const int64_t tiles = lh_chunk_count(scan.value_width, LH_SCAN_CHUNK);
    for (int64_t task = blockIdx.x; task < scan.batch * scan.heads * tiles; task += gridDim.x) {
        const walk w = walk_of(scan, task);
        for (int64_t n = chunks - 1; n >= 0; --n) {
            const lh_scan_chunk c = lh_scan_chunk_of(scan, b.sums, w.pair, n);
            const real *inverse = b.inverses + inverse_at(scan, c);
            real *behind = b.gradients + c.state;
            lh_scan_tile read = {}, solved = {};
            if (n == chunks - 1) begin_state(scan, w, NULL, behind);
            read_state(scan, c, w, behind, stage[0], read);
            lh_scan_each(read, [&](int row, int column, real sum) {
                const real du =
                    lh_scan_load(b.args.du, c, c.head, scan.value_width, row, w.value + column);
                rows[row][column] = du + lh_scan_to_end(c, row) * sum;
            });
            lh_scan_multiply(
                c.count, [&](int64_t row, int64_t t) { return inverse[t * LH_SCAN_CHUNK + row]; },
                [&](int64_t t, int64_t column) { return rows[t][column]; }, stage[0], solved);
            lh_scan_each(solved, [&](int row, int column, real sum) {
                const int64_t value = w.value + column;
                rows[row][column] =
                    -lh_scan_since_start(c, row) * beta_at(b.args.spec, c, row) * sum;
                if (row < c.count && value < scan.value_width)
                    b.solved[solved_at(scan, c, row) + value] = sum;
            });
            if (n > 0) pass_on(scan, c, w, rows, behind, behind - size, LH_SET, stage[0]);
            if (n == 0 && b.args.dstart != NULL)
                pass_on(scan, c, w, rows, behind, b.args.dstart + w.pair * size,
                        b.args.dstart_write, stage[0]);
        }
        if (chunks == 0 && b.args.dstart != NULL && b.args.dstart_write == LH_SET)
            begin_state(scan, w, NULL, b.args.dstart + w.pair * size);
        __syncthreads();
    }
}

/* dv = beta w, and dbeta_i = w_i . (v_i - b_i k_i S - sum_j P_ij u_j). */
__device__ static void value_gradients(const delta_back &b, const lh_scan_chunk &c,
                                       lh_scan_shared &shared) {
    const lh_decay_scan_spec &scan = b.scan;
    real slope[LH_SCAN_EACH] = {0};
    for (int64_t value = 0; value < scan.value_width; value += LH_SCAN_CHUNK) {
        lh_scan_tile read = {}, tile = {};
        read_state(scan, c, {c.pair, value}, b.states + c.state, shared.stage, read);
        lh_scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.mixed[row][t]; },
            [&](int64_t t, int64_t column) {
                return lh_scan_load(scan.v, c, c.head, scan.value_width, t, value + column);
            },
            shared.stage, tile);
        for (int i = 0; i < LH_SCAN_EACH; ++i)
            for (int j = 0; j < LH_SCAN_EACH; ++j) {
                const int row = lh_scan_row(i);
                const int64_t at = value + lh_scan_column(j);
                const real solved = solved_of(b, c, row, at);
                const real v =
                    lh_scan_load(b.args.spec.scan.v, c, c.head, scan.value_width, row, at);
                slope[i] +=
                    solved * (v - lh_scan_since_start(c, row) * read.at[i][j] - tile.at[i][j]);
                if (row < c.count && at < scan.value_width && b.args.dv.act.data != NULL)
                    lh_store(lh_head_row<real>(b.args.dv, c.batch, c.head, c.first + row) + at,
                             b.args.dv_write, beta_at(b.args.spec, c, row) * solved);
            }
    }
    lh_scan_sum_rows(shared, slope, shared.read);
    const int64_t own = threadIdx.x, token = c.batch * scan.length + c.first + own;
    if (own < c.count && b.args.dbeta != NULL)
        lh_store(&b.args.dbeta[token * scan.heads + c.head], b.args.dbeta_write, shared.read[own]);
}

/* The gradient of k k^T, added to that of the heads before, and the slopes. */
__device__ static void product_gradients(const delta_back &b, const lh_scan_chunk &c,
                                         lh_scan_shared &shared, lh_scan_tile &products) {
    const lh_decay_scan_spec &scan = b.scan;
    lh_scan_tile tile = {};
    lh_scan_multiply(
        scan.value_width,
        [&](int64_t row, int64_t v) {
            return -beta_at(b.args.spec, c, row) * solved_of(b, c, row, v);
        },
        [&](int64_t v, int64_t column) {
            return lh_scan_load(scan.v, c, c.head, scan.value_width, column, v);
        },
        shared.stage, tile);
    for (int i = 0; i < LH_SCAN_EACH; ++i)
        for (int j = 0; j < LH_SCAN_EACH; ++j) {
            const int row = lh_scan_row(i), column = lh_scan_column(j);
            products.at[i][j] += tile.at[i][j] * between_others(c, row, column);
            shared.slopes[row][column] = tile.at[i][j] * shared.mixed[row][column];
        }
    __syncthreads();
}

/* What dk gets from the state before the chunk and from the gradient of that behind it. */
__device__ static void key_gradients(const delta_back &b, const lh_scan_chunk &c, bool first,
                                     lh_scan_shared &shared) {
    const lh_decay_scan_spec &scan = b.scan;
    const lh_write write = first ? b.args.dk_write : LH_ADD;
    real read[LH_SCAN_EACH] = {0}, kept[LH_SCAN_EACH] = {0};
    for (int64_t key = 0; key < scan.key_width; key += LH_SCAN_CHUNK) {
        lh_scan_tile before = {}, behind = {};
        lh_scan_multiply(
            scan.value_width,
            [&](int64_t row, int64_t v) {
                return -lh_scan_since_start(c, row) * beta_at(b.args.spec, c, row) *
                       solved_of(b, c, row, v);
            },
            [&](int64_t v, int64_t column) {
                return lh_scan_state(scan, b.states + c.state, key + column, v);
            },
            shared.stage, before);
        lh_scan_multiply(
            scan.value_width,
            [&](int64_t row, int64_t v) {
                return lh_scan_to_end(c, row) *
                       lh_scan_load(scan.v, c, c.head, scan.value_width, row, v);
            },
            [&](int64_t v, int64_t column) {
                return lh_scan_state(scan, b.gradients + c.state, key + column, v);
            },
            shared.stage, behind);
        for (int i = 0; i < LH_SCAN_EACH; ++i)
            for (int j = 0; j < LH_SCAN_EACH; ++j) {
                const int row = lh_scan_row(i);
                const int64_t at = key + lh_scan_column(j);
                const real k = lh_scan_load(scan.k, c, c.group, scan.key_width, row, at);
                real *to = lh_scan_key_gradient(scan, b.args.dk, c, row, at);
                read[i] += before.at[i][j] * k;
                kept[i] += behind.at[i][j] * k;
                if (to != NULL) lh_store(to, write, before.at[i][j] + behind.at[i][j]);
            }
    }
    lh_scan_sum_rows(shared, read, shared.read);
    lh_scan_sum_rows(shared, kept, shared.kept);
}

/* dk += (G + G^T) k, with G the gradient of k k^T. */
__device__ static void finish_keys(const delta_back &b, const lh_scan_chunk &c,
                                   lh_scan_shared &shared, lh_scan_tile &products) {
    const lh_decay_scan_spec &scan = b.scan;
    lh_scan_each(products,
                 [&](int row, int column, real sum) { shared.slopes[row][column] = sum; });
    for (int64_t key = 0; key < scan.key_width; key += LH_SCAN_CHUNK) {
        lh_scan_tile tile = {};
        lh_scan_multiply(
            c.count,
            [&](int64_t row, int64_t t) { return shared.slopes[row][t] + shared.slopes[t][row]; },
            [&](int64_t t, int64_t column) {
                return lh_scan_load(scan.k, c, c.group, scan.key_width, t, key + column);
            },
            shared.stage, tile);
        lh_scan_each(tile, [&](int row, int column, real sum) {
            real *to = lh_scan_key_gradient(scan, b.args.dk, c, row, key + column);
            if (to != NULL) *to += sum;
        });
    }
    __syncthreads();
}

__global__ void __launch_bounds__(LH_THREADS) delta_rule_gradients(delta_back b) {
    LH_SHARED(lh_scan_shared, all, [1]);
    lh_scan_shared &shared = all[0];
    const lh_decay_scan_spec &scan = b.scan;
    const int64_t chunks = lh_scan_chunks(scan), each = scan.heads / scan.groups;
    for (int64_t task = blockIdx.x; task < scan.batch * scan.groups * chunks; task += gridDim.x) {
        lh_scan_tile products = {};
        for (int64_t n = 0; n < each; ++n) {
            const lh_scan_chunk c =
                lh_scan_chunk_of(scan, b.sums, task / chunks * each + n, task % chunks);
            mix(scan, c, shared.stage, shared.mixed);
            value_gradients(b, c, shared);
            product_gradients(b, c, shared, products);
            key_gradients(b, c, n == 0, shared);
            lh_scan_decay_gradients(scan, c, b.states, b.gradients, b.args.dlog_decay,
                                    b.args.dlog_decay_write, shared);
            if (n == each - 1) finish_keys(b, c, shared, products);
        }
    }
}

static int64_t solved_count(const lh_decay_scan_spec &scan) {
    return scan.batch * scan.heads * scan.length * scan.value_width;
}

size_t lh_cuda_delta_rule_backward_workspace(const lh_delta_rule_backward_args *args) {
    const lh_decay_scan_spec &scan = args->spec.scan;
    const int64_t numbers =
        2 * lh_scan_states_count(scan) + inverses_count(scan) + solved_count(scan);
    return lh_scan_sums_bytes(scan) + (size_t)numbers * sizeof(real);
}

lh_status lh_cuda_delta_rule_backward(const lh_launch *launch,
                                      const lh_delta_rule_backward_args *args) {
    lh_decay_scan_spec scan = args->spec.scan;
    scan.v = args->u;
    double *sums = (double *)launch->workspace;
    real *states = (real *)(sums + scan.batch * scan.heads * scan.length);
    real *gradients = states + lh_scan_states_count(scan);
    real *inverses = gradients + lh_scan_states_count(scan);
    real *solved = inverses + inverses_count(scan);
    const delta_back back = {*args, scan, sums, inverses, states, gradients, solved};
    const int64_t tasks = scan.batch * scan.groups * lh_scan_chunks(scan);
    if (walks(scan) == 0) return LH_OK;
    LH_CUDA_TRY(lh_scan_sum_decays(launch, scan, sums));
    LH_CUDA_TRY(invert(launch, args->spec, sums, inverses));
    LH_CUDA_TRY(lh_scan_contributions(launch, scan, scan.k, scan.v, false, sums, states));
    LH_CUDA_TRY(lh_scan_join_states(launch, scan, false, sums, states, scan.start, NULL, LH_SET));
    LH_CUDA_TRY(
        LH_LAUNCH(delta_rule_walk_back, lh_blocks(walks(scan), 1), LH_THREADS, 0, launch, back));
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(delta_rule_gradients, lh_blocks(tasks, 1), LH_THREADS, 0, launch, back);
}
