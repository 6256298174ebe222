/* The decaying scan in chunks of tokens; kernels/cpu/decay_scan.c has the formulas. Three launches
 * forward: what each chunk adds to the state; the states between chunks; the outputs, a block for
 * each chunk of a head. Backward the first two twice, and then a block for each chunk of a group,
 * which goes through its heads, so that the gradients of q and k have one writer. */
#include "kernels/cuda/scan_chunk.cuh"

/* ---- Forward ---- */

__global__ void __launch_bounds__(LH_THREADS)
    decay_scan_output(lh_decay_scan_forward_args a, const double *sums, const real *states) {
    LH_SHARED(lh_scan_stage, stage, [1]);
    LH_SHARED(real, mixed, [LH_SCAN_CHUNK][LH_SCAN_PITCH]);
    const lh_decay_scan_spec &spec = a.spec;
    const int64_t chunks = lh_scan_chunks(spec), tasks = spec.batch * spec.heads * chunks;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const lh_scan_chunk c = lh_scan_chunk_of(spec, sums, task / chunks, task % chunks);
        const auto q = [&](int64_t row, int64_t k) {
            return lh_scan_load(spec.q, c, c.group, spec.key_width, row, k);
        };
        lh_scan_tile products = {};
        lh_scan_multiply(
            spec.key_width, q,
            [&](int64_t k, int64_t column) {
                return lh_scan_load(spec.k, c, c.group, spec.key_width, column, k);
            },
            stage[0], products);
        lh_scan_each(products, [&](int row, int column, real product) {
            mixed[row][column] = product * lh_scan_between(c, row, column);
        });
        for (int64_t value = 0; value < spec.value_width; value += LH_SCAN_CHUNK) {
            lh_scan_tile y = {};
            lh_scan_multiply(
                spec.key_width,
                [&](int64_t row, int64_t k) { return lh_scan_since_start(c, row) * q(row, k); },
                [&](int64_t k, int64_t column) {
                    return lh_scan_state(spec, states + c.state, k, value + column);
                },
                stage[0], y);
            lh_scan_multiply(
                c.count, [&](int64_t row, int64_t t) { return mixed[row][t]; },
                [&](int64_t t, int64_t column) {
                    return lh_scan_load(spec.v, c, c.head, spec.value_width, t, value + column);
                },
                stage[0], y);
            lh_scan_each(y, [&](int row, int column, real sum) {
                if (row < c.count && value + column < spec.value_width)
                    lh_head_row<real>(a.y, c.batch, c.head, c.first + row)[value + column] = sum;
            });
        }
        __syncthreads();
    }
}

size_t lh_cuda_decay_scan_forward_workspace(const lh_decay_scan_forward_args *args) {
    return lh_scan_sums_bytes(args->spec) + (size_t)lh_scan_states_count(args->spec) * sizeof(real);
}

lh_status lh_cuda_decay_scan_forward(const lh_launch *launch,
                                     const lh_decay_scan_forward_args *args) {
    const lh_decay_scan_spec &spec = args->spec;
    double *sums = (double *)launch->workspace;
    real *states = (real *)(sums + spec.batch * spec.heads * spec.length);
    const int64_t tasks = spec.batch * spec.heads * lh_scan_chunks(spec);
    LH_CUDA_TRY(lh_scan_sum_decays(launch, spec, sums));
    LH_CUDA_TRY(lh_scan_contributions(launch, spec, spec.k, spec.v, false, sums, states));
    LH_CUDA_TRY(
        lh_scan_join_states(launch, spec, false, sums, states, spec.start, args->end, LH_SET));
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(decay_scan_output, lh_blocks(tasks, 1), LH_THREADS, 0, launch, *args, sums,
                     states);
}

/* ---- Backward ---- */

typedef struct scan_back {
    lh_decay_scan_backward_args args;
    const double *sums;
    const real *states, *gradients;
} scan_back;

/* P of the chunk. */
__device__ static void scan_mix(const scan_back &b, const lh_scan_chunk &c,
                                lh_scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    lh_scan_tile products = {};
    lh_scan_multiply(
        spec.key_width,
        [&](int64_t row, int64_t k) {
            return lh_scan_load(spec.q, c, c.group, spec.key_width, row, k);
        },
        [&](int64_t k, int64_t column) {
            return lh_scan_load(spec.k, c, c.group, spec.key_width, column, k);
        },
        shared.stage, products);
    lh_scan_each(products, [&](int row, int column, real product) {
        shared.mixed[row][column] = product * lh_scan_between(c, row, column);
    });
    __syncthreads();
}

/* dv, and what token j keeps to the end of the chunk. */
__device__ static void scan_value_gradients(const scan_back &b, const lh_scan_chunk &c,
                                            lh_scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    real kept[LH_SCAN_EACH] = {0};
    for (int64_t value = 0; value < spec.value_width; value += LH_SCAN_CHUNK) {
        lh_scan_tile tile = {};
        lh_scan_multiply(
            spec.key_width,
            [&](int64_t row, int64_t k) {
                return lh_scan_to_end(c, row) *
                       lh_scan_load(spec.k, c, c.group, spec.key_width, row, k);
            },
            [&](int64_t k, int64_t column) {
                return lh_scan_state(spec, b.gradients + c.state, k, value + column);
            },
            shared.stage, tile);
        for (int i = 0; i < LH_SCAN_EACH; ++i)
            for (int j = 0; j < LH_SCAN_EACH; ++j)
                kept[i] += tile.at[i][j] * lh_scan_load(spec.v, c, c.head, spec.value_width,
                                                        lh_scan_row(i), value + lh_scan_column(j));
        lh_scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.mixed[t][row]; },
            [&](int64_t t, int64_t column) {
                return lh_scan_load(b.args.dy, c, c.head, spec.value_width, t, value + column);
            },
            shared.stage, tile);
        lh_scan_each(tile, [&](int row, int column, real sum) {
            if (row < c.count && value + column < spec.value_width && b.args.dv.act.data != NULL)
                lh_store(lh_head_row<real>(b.args.dv, c.batch, c.head, c.first + row) + value +
                             column,
                         b.args.dv_write, sum);
        });
    }
    lh_scan_sum_rows(shared, kept, shared.kept);
}

/* The gradient of q k^T, added to that of the heads before, and the slopes. */
__device__ static void scan_product_gradients(const scan_back &b, const lh_scan_chunk &c,
                                              lh_scan_shared &shared, lh_scan_tile &products) {
    const lh_decay_scan_spec &spec = b.args.spec;
    lh_scan_tile tile = {};
    lh_scan_multiply(
        spec.value_width,
        [&](int64_t row, int64_t k) {
            return lh_scan_load(b.args.dy, c, c.head, spec.value_width, row, k);
        },
        [&](int64_t k, int64_t column) {
            return lh_scan_load(spec.v, c, c.head, spec.value_width, column, k);
        },
        shared.stage, tile);
    for (int i = 0; i < LH_SCAN_EACH; ++i)
        for (int j = 0; j < LH_SCAN_EACH; ++j) {
            const int row = lh_scan_row(i), column = lh_scan_column(j);
            products.at[i][j] += tile.at[i][j] * lh_scan_between(c, row, column);
            shared.slopes[row][column] = tile.at[i][j] * shared.mixed[row][column];
        }
    __syncthreads();
}

/* What dq and dk get from the states, and what is read of them. */
__device__ static void scan_key_gradients(const scan_back &b, const lh_scan_chunk &c, bool first,
                                          lh_scan_shared &shared) {
    const lh_decay_scan_spec &spec = b.args.spec;
    const lh_write dq_write = first ? b.args.dq_write : LH_ADD;
    const lh_write dk_write = first ? b.args.dk_write : LH_ADD;
    real read[LH_SCAN_EACH] = {0};
    for (int64_t key = 0; key < spec.key_width; key += LH_SCAN_CHUNK) {
        lh_scan_tile q = {}, k = {};
        lh_scan_multiply(
            spec.value_width,
            [&](int64_t row, int64_t v) {
                return lh_scan_since_start(c, row) *
                       lh_scan_load(b.args.dy, c, c.head, spec.value_width, row, v);
            },
            [&](int64_t v, int64_t column) {
                return lh_scan_state(spec, b.states + c.state, key + column, v);
            },
            shared.stage, q);
        for (int i = 0; i < LH_SCAN_EACH; ++i)
            for (int j = 0; j < LH_SCAN_EACH; ++j)
                read[i] += q.at[i][j] * lh_scan_load(spec.q, c, c.group, spec.key_width,
                                                     lh_scan_row(i), key + lh_scan_column(j));
        lh_scan_each(q, [&](int row, int column, real sum) {
            real *to = lh_scan_key_gradient(spec, b.args.dq, c, row, key + column);
            if (to != NULL) lh_store(to, dq_write, sum);
        });
        lh_scan_multiply(
            spec.value_width,
            [&](int64_t row, int64_t v) {
                return lh_scan_to_end(c, row) *
                       lh_scan_load(spec.v, c, c.head, spec.value_width, row, v);
            },
            [&](int64_t v, int64_t column) {
                return lh_scan_state(spec, b.gradients + c.state, key + column, v);
            },
            shared.stage, k);
        lh_scan_each(k, [&](int row, int column, real sum) {
            real *to = lh_scan_key_gradient(spec, b.args.dk, c, row, key + column);
            if (to != NULL) lh_store(to, dk_write, sum);
        });
    }
    lh_scan_sum_rows(shared, read, shared.read);
}

/* dq += G k and dk += G^T q, with G the gradient of q k^T. */
__device__ static void scan_finish_keys(const scan_back &b, const lh_scan_chunk &c,
                                        lh_scan_shared &shared, lh_scan_tile &products) {
    const lh_decay_scan_spec &spec = b.args.spec;
    lh_scan_each(products,
                 [&](int row, int column, real sum) { shared.slopes[row][column] = sum; });
    for (int64_t key = 0; key < spec.key_width; key += LH_SCAN_CHUNK) {
        lh_scan_tile q = {}, k = {};
        lh_scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.slopes[row][t]; },
            [&](int64_t t, int64_t column) {
                return lh_scan_load(spec.k, c, c.group, spec.key_width, t, key + column);
            },
            shared.stage, q);
        lh_scan_multiply(
            c.count, [&](int64_t row, int64_t t) { return shared.slopes[t][row]; },
            [&](int64_t t, int64_t column) {
                return lh_scan_load(spec.q, c, c.group, spec.key_width, t, key + column);
            },
            shared.stage, k);
        for (int i = 0; i < LH_SCAN_EACH; ++i)
            for (int j = 0; j < LH_SCAN_EACH; ++j) {
                const int row = lh_scan_row(i);
                const int64_t column = key + lh_scan_column(j);
                real *dq = lh_scan_key_gradient(spec, b.args.dq, c, row, column);
                real *dk = lh_scan_key_gradient(spec, b.args.dk, c, row, column);
                if (dq != NULL) *dq += q.at[i][j];
                if (dk != NULL) *dk += k.at[i][j];
            }
    }
    __syncthreads();
}

__global__ void __launch_bounds__(LH_THREADS) decay_scan_gradients(scan_back b) {
    LH_SHARED(lh_scan_shared, all, [1]);
    lh_scan_shared &shared = all[0];
    const lh_decay_scan_spec &spec = b.args.spec;
    const int64_t chunks = lh_scan_chunks(spec), each = spec.heads / spec.groups;
    for (int64_t task = blockIdx.x; task < spec.batch * spec.groups * chunks; task += gridDim.x) {
        lh_scan_tile products = {};
        for (int64_t n = 0; n < each; ++n) {
            const lh_scan_chunk c =
                lh_scan_chunk_of(spec, b.sums, task / chunks * each + n, task % chunks);
            scan_mix(b, c, shared);
            scan_value_gradients(b, c, shared);
            scan_product_gradients(b, c, shared, products);
            scan_key_gradients(b, c, n == 0, shared);
            lh_scan_decay_gradients(spec, c, b.states, b.gradients, b.args.dlog_decay,
                                    b.args.dlog_decay_write, shared);
            if (n == each - 1) scan_finish_keys(b, c, shared, products);
        }
    }
}

size_t lh_cuda_decay_scan_backward_workspace(const lh_decay_scan_backward_args *args) {
    return lh_scan_sums_bytes(args->spec) +
           2 * (size_t)lh_scan_states_count(args->spec) * sizeof(real);
}

lh_status lh_cuda_decay_scan_backward(const lh_launch *launch,
                                      const lh_decay_scan_backward_args *args) {
    const lh_decay_scan_spec &spec = args->spec;
    double *sums = (double *)launch->workspace;
    real *states = (real *)(sums + spec.batch * spec.heads * spec.length);
    real *gradients = states + lh_scan_states_count(spec);
    const int64_t tasks = spec.batch * spec.groups * lh_scan_chunks(spec);
    LH_CUDA_TRY(lh_scan_sum_decays(launch, spec, sums));
    LH_CUDA_TRY(lh_scan_contributions(launch, spec, spec.k, spec.v, false, sums, states));
    LH_CUDA_TRY(lh_scan_join_states(launch, spec, false, sums, states, spec.start, NULL, LH_SET));
    LH_CUDA_TRY(lh_scan_contributions(launch, spec, spec.q, args->dy, true, sums, gradients));
    LH_CUDA_TRY(lh_scan_join_states(launch, spec, true, sums, gradients, args->dend, args->dstart,
                                    args->dstart_write));
    if (tasks == 0) return LH_OK;
    const scan_back back = {*args, sums, states, gradients};
    return LH_LAUNCH(decay_scan_gradients, lh_blocks(tasks, 1), LH_THREADS, 0, launch, back);
}
