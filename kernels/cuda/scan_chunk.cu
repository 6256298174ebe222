/* From chunk to chunk of a scan: what each chunk adds to the state, a block for each chunk and
 * tile; then the states between chunks, a thread for each element, which walks over them. */
#include "kernels/cuda/scan_chunk.cuh"

size_t lh_scan_sums_bytes(const lh_decay_scan_spec &spec) {
    return (size_t)(spec.batch * spec.heads * spec.length) * sizeof(double);
}

int64_t lh_scan_states_count(const lh_decay_scan_spec &spec) {
    return spec.batch * spec.heads * lh_scan_chunks(spec) * spec.key_width * spec.value_width;
}

lh_status lh_scan_sum_decays(const lh_launch *launch, const lh_decay_scan_spec &spec,
                             double *sums) {
    const int64_t chunks = lh_scan_chunks(spec);
    return lh_each(launch, spec.batch * spec.heads * chunks, [=] __device__(int64_t i) {
        const int64_t pair = i / chunks, head = pair % spec.heads, batch = pair / spec.heads;
        const int64_t first = i % chunks * LH_SCAN_CHUNK,
                      end = lh_min(spec.length, first + LH_SCAN_CHUNK);
        double sum = 0;
        for (int64_t t = first; t < end; ++t) {
            if (spec.log_decay != NULL)
                sum += (double)spec.log_decay[(batch * spec.length + t) * spec.heads + head];
            sums[pair * spec.length + t] = sum;
        }
    });
}

static __global__ void __launch_bounds__(LH_THREADS)
    scan_contribute(lh_decay_scan_spec spec, lh_heads keys, lh_heads values, bool backward,
                    const double *sums, real *states) {
    LH_SHARED(lh_scan_stage, stage, [1]);
    const int64_t key_tiles = lh_chunk_count(spec.key_width, LH_SCAN_CHUNK);
    const int64_t value_tiles = lh_chunk_count(spec.value_width, LH_SCAN_CHUNK);
    const int64_t chunks = lh_scan_chunks(spec);
    const int64_t tasks = spec.batch * spec.heads * chunks * key_tiles * value_tiles;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t n = task / value_tiles / key_tiles;
        const lh_scan_chunk c = lh_scan_chunk_of(spec, sums, n / chunks, n % chunks);
        const int64_t key = task / value_tiles % key_tiles * LH_SCAN_CHUNK;
        const int64_t value = task % value_tiles * LH_SCAN_CHUNK;
        lh_scan_tile tile = {};
        lh_scan_multiply(
            c.count,
            [&](int64_t row, int64_t t) {
                const real kept = backward ? lh_scan_since_start(c, t) : lh_scan_to_end(c, t);
                return kept * lh_scan_load(keys, c, c.group, spec.key_width, t, key + row);
            },
            [&](int64_t t, int64_t column) {
                return lh_scan_load(values, c, c.head, spec.value_width, t, value + column);
            },
            stage[0], tile);
        lh_scan_each(tile, [&](int row, int column, real sum) {
            const int64_t i = key + row, j = value + column;
            if (i < spec.key_width && j < spec.value_width)
                states[c.state + i * spec.value_width + j] = sum;
        });
    }
}

lh_status lh_scan_contributions(const lh_launch *launch, const lh_decay_scan_spec &spec,
                                const lh_heads &keys, const lh_heads &values, bool backward,
                                const double *sums, real *states) {
    const int64_t tiles = lh_chunk_count(spec.key_width, LH_SCAN_CHUNK) *
                          lh_chunk_count(spec.value_width, LH_SCAN_CHUNK);
    const int64_t tasks = spec.batch * spec.heads * lh_scan_chunks(spec) * tiles;
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH(scan_contribute, lh_blocks(tasks, 1), LH_THREADS, 0, launch, spec, keys,
                     values, backward, sums, states);
}

lh_status lh_scan_join_states(const lh_launch *launch, const lh_decay_scan_spec &spec,
                              bool backward, const double *sums, real *states, const real *from,
                              real *to, lh_write write) {
    const int64_t size = spec.key_width * spec.value_width, chunks = lh_scan_chunks(spec);
    return lh_each(launch, spec.batch * spec.heads * size, [=] __device__(int64_t i) {
        real state = from != NULL ? from[i] : 0;
        for (int64_t n = 0; n < chunks; ++n) {
            const lh_scan_chunk c =
                lh_scan_chunk_of(spec, sums, i / size, backward ? chunks - 1 - n : n);
            real *slot = states + c.state + i % size;
            const real added = *slot;
            *slot = state;
            state = lh_scan_since_start(c, c.count - 1) * state + added;
        }
        if (to != NULL) lh_store(&to[i], write, state);
    });
}
