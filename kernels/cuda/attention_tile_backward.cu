/* Attention on tensor cores, backward: passes over queries (dq, and the sums of bias and head
 * scale) and over keys (dk, dv); that over distances lies in attention_tile_positions.cu. */
#include "kernels/cuda/attention_tile_backward.cuh"

enum {
    BLOCK_PITCH = LH_STEP + 2, /* of the gradients of 16 x 16 scores: lanes 16 apart meet no bank */
    BLOCK_FLOATS = LH_STEP * BLOCK_PITCH
};

/* ---- workspace ---- */

typedef struct tile_parts {
    real *delta; /* dO . O: [batch][heads][queries] */
    real *scale; /* sums of the head scale's gradient by 16 queries: [batch][heads][stripes] */
    real *bias;  /* of the bias' gradient by warps: [batch][heads][tiles][warps][buckets] */
    real *positions;
    lh_kept_table kept;
} tile_parts;

/* Sums of the bias' gradient for a batch row and head. */
static int64_t bias_pieces(const lh_attention_spec *spec) {
    return lh_chunk_count(spec->queries, LH_TILE) * LH_TILE_WARPS;
}

static size_t lay_out(const lh_attention_backward_args *args, void *memory, tile_parts *p) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t heads = spec->batch * spec->heads;
    const int64_t sums = bias_pieces(spec) * spec->buckets;
    char *at = (char *)memory;
    size_t bytes = lh_take(&at, heads * spec->queries, &p->delta);
    bytes += lh_take(&at, heads * lh_chunk_count(spec->queries, LH_STEP), &p->scale);
    bytes += lh_take(&at, args->dbias != NULL ? heads * sums : 0, &p->bias);
    bytes += lh_take(&at, lh_attention_tile_position_sums(args), &p->positions);
    return bytes + lh_take_kept_table(spec, &at, &p->kept);
}

size_t lh_attention_tile_backward_workspace(const lh_attention_backward_args *args) {
    tile_parts p;
    return lay_out(args, NULL, &p);
}

/* ---- shared memory ---- */

template <int width, bool placed, typename operand = __nv_bfloat16>
struct backward_memory : lh_backward_memory<width, placed, operand> {
    float bias[LH_TILE_DIAGONALS + 1];
    int32_t bucket[LH_TILE_DIAGONALS + 1];
    lh_seen_keys seen[LH_TILE];
    lh_pair_kept kept;
};

/* Over queries, for the gradient of the bias: of each warp 16 x 16 gradients, which with position
 * vectors lie where products did, and their sums by diagonals. */
template <int width, bool placed, int stripes, typename operand>
struct query_memory : backward_memory<width, placed, operand> {
    enum { warps = LH_TILE_WARPS / stripes, diagonals = LH_TILE + stripes * LH_STEP - 1 };
    float block[placed ? 1 : warps][BLOCK_FLOATS], diagonal[warps][diagonals + 1];
    __device__ float *block_of(int warp) {
        return placed ? this->product[warp] : block[warp];
    }
};

/* Blocks on a multiprocessor, as many as have the registers; a warp has one stripe. Where registers
 * allowed two, and half of the warps, an H200 was slower. */
template <int width, bool placed, typename operand> struct resident {
    enum { plain = !placed && sizeof(operand) == sizeof(__nv_bfloat16) };
    enum { narrow = plain && width < LH_WIDEST_TILE, stripes = 1 };
    enum { queries = narrow ? 4 : 2, keys = narrow ? 3 : 2 };
};

/* ---- over queries ---- */

/* What a warp sums up for its queries. */
template <int width, int stripes> struct query_rows {
    lh_warp_place at;
    real scale_sum[stripes];
    lh_sums dq[stripes][width / LH_STEP];
    int32_t bucket; /* of which bias_sum is the gradient; -1: of none, or of several */
    real bias_sum;  /* of all pairs since the bucket changed */
};

/* Sums up for another bucket, and adds the last one's to `sums`, one for each bucket. */
template <int width, int stripes>
__device__ static inline void change_bucket(int32_t bucket, real *sums,
                                            query_rows<width, stripes> *rows) {
    if (rows->bucket == bucket) return;
    const real sum = lh_warp_sum(rows->bias_sum);
    if (rows->bucket >= 0 && rows->at.lane == 0) sums[rows->bucket] += sum;
    rows->bucket = bucket;
    rows->bias_sum = 0;
}

/* Of 16 x 16 pairs where a lane's first is `cell`: their first diagonal among the warp's. */
__device__ static inline int first_diagonal(const lh_warp_place &at, const lh_cell &cell) {
    const int query = cell.query - lh_row_at(at.lane, 0), key = cell.key - lh_column_at(at.lane, 0);
    return query - at.first - key + LH_TILE - LH_STEP;
}

/* Adds 16 x 16 gradients to the sums of their diagonals, by row - column + 15; a warp's work. Lanes
 * l and l + 16 go along diagonal l and, in the rows before it begins, l - 16, in 8 rows each. */
__device__ static inline void add_diagonals(lh_sums &gradients, float *block, float *sums) {
    enum { rows = LH_STEP / 2 };
    const int lane = lh_lane(), diagonal = lane % LH_STEP, half = lane / LH_STEP;
    real sum = 0, before = 0;
    lh_write_sums(gradients, BLOCK_PITCH, block);
    __syncwarp();
    LH_UNROLL
    for (int n = 0; n < rows; ++n) {
        const int row = half * rows + n;
        const real gradient = block[row * BLOCK_PITCH + (row - diagonal + LH_STEP) % LH_STEP];
        sum += row >= diagonal ? gradient : 0;
        before += row >= diagonal ? 0 : gradient;
    }
    const real others = __shfl_xor_sync(0xffffffffu, half == 0 ? before : sum, LH_STEP);
    const int number = diagonal + LH_STEP - 1 - half * LH_STEP;
    if (number >= 0) sums[number] += (half == 0 ? sum : before) + others;
    __syncwarp();
}

/* Adds the sums of a warp's diagonals, of which the first is of row `first`, to those of their
 * buckets. */
template <int diagonals>
__device__ static inline void add_buckets(const lh_attention_spec &spec, const float *diagonal,
                                          const int32_t *bucket, real *sums) {
    for (int64_t b = lh_lane(); b < spec.buckets; b += LH_WARP) {
        real sum = 0;
        for (int x = 0; x < diagonals; ++x)
            sum += bucket[x] == b ? diagonal[x] : 0;
        sums[b] += sum;
    }
    __syncwarp();
}

/* A warp's queries and the 64 staged keys. */
template <int width, bool placed, int stripes, typename operand, typename multiplying>
__device__ static inline void visit_keys(const lh_attention_spec &spec, const lh_tile_pair &pair,
                                         int64_t head, const lh_pair_bias &bias, real *bias_sums,
                                         const operand *vectors, const multiplying &multiply,
                                         query_memory<width, placed, stripes, operand> *memory,
                                         query_rows<width, stripes> *rows) {
    const lh_slope_terms terms = lh_slope_terms_of(spec, pair, head, bias);
    const bool by_diagonals = bias_sums != NULL && !bias.one;
    float *diagonal = memory->diagonal[rows->at.warp];
    const auto visit = [&](auto known) {
        enum { plain = decltype(known)::is };
        const auto differentiate = [&](int s, const auto &cell_of, lh_sums &scores,
                                       lh_sums &slopes) {
            const auto sum_up = [&](real gradient, real score) {
                rows->scale_sum[s] += gradient * score;
                rows->bias_sum += gradient;
            };
            lh_differentiate<plain>(spec, terms, pair, cell_of, sum_up, *memory, scores, slopes);
            if (!plain && by_diagonals)
                add_diagonals(slopes, memory->block_of(rows->at.warp),
                              diagonal + first_diagonal(rows->at, cell_of(0)));
        };
        lh_visit_keys<width>(memory, rows->at, vectors, multiply, differentiate, rows->dq);
    };
    change_bucket(bias_sums != NULL ? bias.bucket : -1, bias_sums, rows);
    for (int x = rows->at.lane; by_diagonals && x < memory->diagonals; x += LH_WARP)
        diagonal[x] = 0;
    lh_visit_either(terms.plain, visit);
    if (by_diagonals)
        add_buckets<query_memory<width, placed, stripes, operand>::diagonals>(
            spec, diagonal, memory->bucket + rows->at.first, bias_sums);
}

/* Stripe s of a block's queries from `first` on. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
store_queries(const lh_attention_backward_args &a, const tile_parts &p, int64_t batch, int64_t head,
              int64_t first, int s, query_memory<width, placed, stripes, operand> *memory,
              query_rows<width, stripes> *rows) {
    const lh_attention_spec &spec = a.spec;
    const int64_t all = lh_chunk_count(spec.queries, LH_STEP);
    const int own = rows->at.first + s * LH_STEP;
    const real scale_sum = lh_warp_sum(rows->scale_sum[s]);
    if (first + own >= spec.queries) return;
    if (rows->at.lane == 0)
        p.scale[(batch * spec.heads + head) * all + (first + own) / LH_STEP] = scale_sum;
    if (a.dq.act.data == NULL) return;
    const lh_tile_rows to =
        lh_rows_of(a.dq, batch, head, first + own, spec.queries, spec.head_width, a.dq_write);
    lh_store_rows<width>(rows->dq[s], spec.scale * lh_scale_of_head(spec, head), to,
                         lh_scratch_of<width>(memory->row[0], own), rows->at.lane);
}

/* A pair of a source without position vectors. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
visit_plain_keys(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t head,
                 const lh_pair_bias &bias, real *bias_sums,
                 query_memory<width, placed, stripes, operand> *memory,
                 query_rows<width, stripes> *rows) {
    const int first = rows->at.first;
    const auto multiply = [&](int c, auto &scores, auto &slopes) {
        lh_multiply_both(*memory, first, c, scores, slopes);
    };
    if (first < pair.queries)
        visit_keys<width>(spec, pair, head, bias, bias_sums, (const operand *)NULL, multiply,
                          memory, rows);
}

/* With them: a pair's vectors take the place of its values, whose products come first. A block's
 * work. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
visit_placed_keys(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t head,
                  const lh_pair_bias &bias, real *bias_sums,
                  query_memory<width, placed, stripes, operand> *memory,
                  query_rows<width, stripes> *rows) {
    enum { pitch = lh_tile_shape<width, operand>::pitch };
    const int first = rows->at.first;
    operand *vectors = memory->other + memory->tile;
    lh_sums ready[1][LH_TILE_STEPS];
    lh_clear_all(ready);
    lh_multiply(*memory, 1, first, 0, ready);
    __syncthreads();
    lh_stage_positions<width>(spec, pair, head, vectors);
    lh_await_copies();
    __syncthreads();
    const auto multiply = [&](int c, auto &scores, auto &slopes) {
        lh_multiply_positions<width, false>(memory->row[0] + first * pitch,
                                            lh_band_of<width>(vectors, first, c),
                                            memory->product[rows->at.warp], scores[0][0]);
        lh_multiply(*memory, 0, first, c, scores);
        lh_pick(ready[0], c / LH_STEP, slopes[0][0]);
    };
    if (first < pair.queries)
        visit_keys<width>(spec, pair, head, bias, bias_sums, vectors, multiply, memory, rows);
}

/* A warp's sums of the bias' gradient, zeros; those of warps that there are not, too. */
template <int stripes>
__device__ static inline real *begin_bias(const lh_attention_spec &spec, real *sums, int64_t task,
                                          const lh_warp_place &at) {
    real *own = sums + (task * LH_TILE_WARPS + at.warp * stripes) * spec.buckets;
    for (int64_t b = at.lane; b < stripes * spec.buckets; b += LH_WARP)
        own[b] = 0;
    __syncwarp();
    return own;
}

/* A block's 64 queries and all the keys of a source that they see. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void pass_source(const lh_attention_backward_args &a, const tile_parts &p,
                                          int s, int64_t batch, int64_t head, int64_t first,
                                          real *bias_sums,
                                          query_memory<width, placed, stripes, operand> *memory,
                                          query_rows<width, stripes> *rows) {
    enum { threads = LH_TILE_THREADS / stripes };
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &keys = spec.source[s];
    const int64_t last = lh_min(first + LH_TILE, spec.queries) - 1;
    const lh_span seen = lh_keys_seen(spec, s, first, last);
    const lh_pair_limits limits = lh_limits_of(spec, s, batch, spec.queries, seen.end);
    for (int64_t base = seen.begin; base < seen.end; base += LH_TILE) {
        const lh_tile_pair pair = lh_pair_tiles(limits, first, base);
        __syncthreads();
        lh_stage_tile<width, threads>(keys.k, batch, head, base, seen.end, spec.head_width,
                                      memory->other);
        lh_stage_tile<width, threads>(keys.v, batch, head, base, seen.end, spec.head_width,
                                      memory->other + memory->tile);
        const lh_pair_bias bias =
            lh_stage_bias<threads>(spec, pair, head, LH_LEAST_BIAS, memory->bias, memory->bucket);
        lh_stage_seen(spec, pair, memory);
        lh_stage_kept(spec, p.kept, pair, head, &memory->kept);
        lh_await_copies();
        __syncthreads();
        const bool by_place = placed && !keys.everywhere;
        if constexpr (placed)
            if (by_place) visit_placed_keys<width>(spec, pair, head, bias, bias_sums, memory, rows);
        if (!by_place) visit_plain_keys<width>(spec, pair, head, bias, bias_sums, memory, rows);
    }
}

template <int width, bool placed, int stripes, typename operand>
__global__ void __launch_bounds__((lh_backward_block<stripes>::threads),
                                  (resident<width, placed, operand>::queries))
    pass_queries(lh_attention_backward_args a, tile_parts p, int64_t tiles, int64_t tasks) {
    typedef query_memory<width, placed, stripes, operand> block_memory;
    enum { threads = lh_backward_block<stripes>::threads };
    LH_SHARED_DYNAMIC(block_memory, memory);
    const lh_attention_spec &spec = a.spec;
    const bool biased = a.dbias != NULL && spec.bias != NULL;
    query_rows<width, stripes> rows;
    rows.at = lh_find_place<stripes>();
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE;
        real *bias_sums = biased ? begin_bias<stripes>(spec, p.bias, task, rows.at) : NULL;
        rows.bucket = -1;
        rows.bias_sum = 0;
        LH_UNROLL
        for (int s = 0; s < stripes; ++s)
            rows.scale_sum[s] = 0;
        lh_clear_all(rows.dq);
        lh_stage_tile<width, threads>(a.q, batch, head, first, spec.queries, spec.head_width,
                                      memory->row[0]);
        lh_stage_tile<width, threads>(a.dout, batch, head, first, spec.queries, spec.head_width,
                                      memory->row[1]);
        lh_stage_queries(a, p.delta, batch, head, first, memory);
        for (int s = 0; s < spec.source_count; ++s)
            pass_source<width>(a, p, s, batch, head, first, bias_sums, memory, &rows);
        change_bucket(-1, bias_sums, &rows);
        lh_await_copies();
        __syncthreads();
        LH_UNROLL
        for (int s = 0; s < stripes; ++s)
            store_queries<width>(a, p, batch, head, first, s, memory, &rows);
        __syncthreads();
    }
}

/* ---- over keys ---- */

/* What a warp sums up for its keys. */
template <int width, int stripes> struct key_rows {
    lh_warp_place at;
    lh_sums dk[stripes][width / LH_STEP], dv[stripes][width / LH_STEP];
};

/* A warp's keys and the 64 staged queries. */
template <int width, bool placed, int stripes, typename operand, typename multiplying>
__device__ static inline void
visit_queries(const lh_attention_spec &spec, const lh_tile_pair &pair, int64_t head,
              const lh_pair_bias &bias, const multiplying &multiply,
              backward_memory<width, placed, operand> *memory, key_rows<width, stripes> *rows) {
    const lh_slope_terms terms = lh_slope_terms_of(spec, pair, head, bias);
    const auto visit = [&](auto known) {
        enum { plain = decltype(known)::is };
        const auto differentiate = [&](int, const auto &cell_of, lh_sums &scores, lh_sums &slopes) {
            lh_differentiate<plain>(
                spec, terms, pair, cell_of, [](real, real) {}, *memory, scores, slopes);
        };
        lh_visit_queries<width>(memory, rows->at, multiply, differentiate, rows->dk, rows->dv);
    };
    lh_visit_either(terms.plain, visit);
}

/* A pair of a source without position vectors; a block's work, as below. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
visit_plain_queries(const lh_attention_backward_args &a, const lh_tile_pair &pair, int64_t head,
                    const lh_pair_bias &bias, backward_memory<width, placed, operand> *memory,
                    key_rows<width, stripes> *rows) {
    const int first = rows->at.first;
    lh_stage_tile<width, LH_TILE_THREADS / stripes>(a.dout, pair.batch, head, pair.query,
                                                    a.spec.queries, a.spec.head_width,
                                                    memory->other + memory->tile);
    lh_await_copies();
    __syncthreads();
    const auto multiply = [&](int c, auto &scores, auto &slopes) {
        lh_multiply_both(*memory, first, c, scores, slopes);
    };
    if (first < pair.keys) visit_queries<width>(a.spec, pair, head, bias, multiply, memory, rows);
}

/* With them: the gradients of the outputs take the place of a pair's vectors, whose products come
 * first. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
visit_placed_queries(const lh_attention_backward_args &a, const lh_tile_pair &pair, int64_t head,
                     const lh_pair_bias &bias, backward_memory<width, placed, operand> *memory,
                     key_rows<width, stripes> *rows) {
    enum { pitch = lh_tile_shape<width, operand>::pitch };
    const int first = rows->at.first;
    operand *vectors = memory->other + memory->tile;
    lh_sums ready[1][LH_TILE_STEPS];
    lh_stage_positions<width>(a.spec, pair, head, vectors);
    lh_await_copies();
    __syncthreads();
    LH_UNROLL
    for (int c = 0; c < LH_TILE_STEPS; ++c)
        lh_multiply_positions<width, true>(memory->other + c * LH_STEP * pitch,
                                           lh_band_of<width>(vectors, c * LH_STEP, first),
                                           memory->product[rows->at.warp], ready[0][c]);
    lh_multiply(*memory, 0, first, 0, ready);
    __syncthreads();
    lh_stage_tile<width, LH_TILE_THREADS / stripes>(a.dout, pair.batch, head, pair.query,
                                                    a.spec.queries, a.spec.head_width,
                                                    memory->other + memory->tile);
    lh_await_copies();
    __syncthreads();
    const auto multiply = [&](int c, auto &scores, auto &slopes) {
        lh_pick(ready[0], c / LH_STEP, scores[0][0]);
        lh_clear_all(slopes);
        lh_multiply(*memory, 1, first, c, slopes);
    };
    if (first < pair.keys) visit_queries<width>(a.spec, pair, head, bias, multiply, memory, rows);
}

/* Stripe s of a block's keys from `first` on. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void store_keys(const lh_attention_spec &spec, const lh_key_source &source,
                                         int64_t batch, int64_t head, int64_t first, int s,
                                         backward_memory<width, placed, operand> *memory,
                                         key_rows<width, stripes> *rows) {
    const int own = rows->at.first + s * LH_STEP, lane = rows->at.lane;
    const int64_t key = first + own;
    if (key >= source.count) return;
    if (source.dk.act.data != NULL) {
        const lh_tile_rows to =
            lh_rows_of(source.dk, batch, head, key, source.count, spec.head_width, source.write);
        lh_store_rows<width>(rows->dk[s], spec.scale * lh_scale_of_head(spec, head), to,
                             lh_scratch_of<width>(memory->row[0], own), lane);
    }
    if (source.dv.act.data != NULL) {
        const lh_tile_rows to =
            lh_rows_of(source.dv, batch, head, key, source.count, spec.head_width, source.write);
        lh_store_rows<width>(rows->dv[s], 1, to, lh_scratch_of<width>(memory->row[1], own), lane);
    }
}

/* A block's 64 keys of a source and all the queries that see them. */
template <int width, bool placed, int stripes, typename operand>
__device__ static inline void
pass_key_tile(const lh_attention_backward_args &a, const tile_parts &p, int s, int64_t batch,
              int64_t head, int64_t first, backward_memory<width, placed, operand> *memory,
              key_rows<width, stripes> *rows) {
    enum { threads = LH_TILE_THREADS / stripes };
    const lh_attention_spec &spec = a.spec;
    const lh_key_source &keys = spec.source[s];
    const int64_t last = lh_min(first + LH_TILE, keys.count) - 1;
    const lh_span seen = lh_queries_seeing(spec, s, first, last);
    lh_stage_tile<width, threads>(keys.k, batch, head, first, keys.count, spec.head_width,
                                  memory->row[0]);
    lh_stage_tile<width, threads>(keys.v, batch, head, first, keys.count, spec.head_width,
                                  memory->row[1]);
    const lh_pair_limits limits = lh_limits_of(spec, s, batch, seen.end, keys.count);
    for (int64_t base = seen.begin; base < seen.end; base += LH_TILE) {
        const lh_tile_pair pair = lh_pair_tiles(limits, base, first);
        __syncthreads();
        lh_stage_tile<width, threads>(a.q, batch, head, base, seen.end, spec.head_width,
                                      memory->other);
        lh_stage_queries(a, p.delta, batch, head, base, memory);
        const lh_pair_bias bias =
            lh_stage_bias<threads>(spec, pair, head, LH_LEAST_BIAS, memory->bias, memory->bucket);
        lh_stage_seen(spec, pair, memory);
        lh_stage_kept(spec, p.kept, pair, head, &memory->kept);
        const bool by_place = placed && !keys.everywhere;
        if constexpr (placed)
            if (by_place) visit_placed_queries<width>(a, pair, head, bias, memory, rows);
        if (!by_place) visit_plain_queries<width>(a, pair, head, bias, memory, rows);
    }
}

template <int width, bool placed, int stripes, typename operand>
__global__ void __launch_bounds__((lh_backward_block<stripes>::threads),
                                  (resident<width, placed, operand>::keys))
    pass_keys(lh_attention_backward_args a, int source, tile_parts p, int64_t tiles,
              int64_t tasks) {
    typedef backward_memory<width, placed, operand> block_memory;
    LH_SHARED_DYNAMIC(block_memory, memory);
    const lh_attention_spec &spec = a.spec;
    key_rows<width, stripes> rows;
    rows.at = lh_find_place<stripes>();
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t head = task / tiles % spec.heads, batch = task / tiles / spec.heads;
        const int64_t first = task % tiles * LH_TILE;
        lh_clear_all(rows.dk);
        lh_clear_all(rows.dv);
        pass_key_tile<width>(a, p, source, batch, head, first, memory, &rows);
        lh_await_copies();
        __syncthreads();
        LH_UNROLL
        for (int s = 0; s < stripes; ++s)
            store_keys<width>(spec, spec.source[source], batch, head, first, s, memory, &rows);
        __syncthreads();
    }
}

/* ---- the launches ---- */

/* out[head][entry] (+)= scale of the head * sum over batch rows and parts of sums. */
static lh_status join(const lh_launch *launch, const lh_attention_spec *from, int64_t pieces,
                      int64_t entries, const real *sums, bool scaled, real *out, lh_write write) {
    const lh_attention_spec spec = *from;
    return lh_each_row(launch, spec.heads * entries, [=] __device__(int64_t i, int lane) {
        const int64_t head = i / entries, entry = i % entries;
        double total = 0;
        for (int64_t n = lane; n < spec.batch * pieces; n += LH_WARP) {
            const int64_t row = n / pieces * spec.heads + head;
            total += (double)sums[(row * pieces + n % pieces) * entries + entry];
        }
        total = lh_warp_sum(total);
        const real scale = scaled ? lh_scale_of_head(spec, head) : 1;
        if (lane == 0) lh_store(&out[i], write, scale * (real)total);
    });
}

template <int width, bool placed, typename operand>
static lh_status launch_queries(const lh_launch *launch, const lh_attention_backward_args *args,
                                const tile_parts &p) {
    enum { stripes = resident<width, placed, operand>::stripes };
    typedef query_memory<width, placed, stripes, operand> block_memory;
    const unsigned threads = lh_backward_block<stripes>::threads;
    const lh_attention_spec *spec = &args->spec;
    const int64_t tiles = lh_chunk_count(spec->queries, LH_TILE);
    const int64_t tasks = spec->batch * spec->heads * tiles;
    const size_t bytes = sizeof(block_memory);
    enum { floats = sizeof(operand) == sizeof(float) };
    static_assert(sizeof(block_memory) <=
                      (floats && !placed ? LH_WIDEST_BYTES : LH_EVERY_CARD_BYTES),
                  "cards are asked for more than all have");
    if (tasks == 0) return LH_OK;
    return LH_LAUNCH((pass_queries<width, placed, stripes, operand>), lh_blocks(tasks, 1), threads,
                     bytes, launch, *args, p, tiles, tasks);
}

template <int width, bool placed, typename operand>
static lh_status launch_keys(const lh_launch *launch, const lh_attention_backward_args *args,
                             const tile_parts &p) {
    typedef backward_memory<width, placed, operand> block_memory;
    enum { stripes = resident<width, placed, operand>::stripes };
    const unsigned threads = lh_backward_block<stripes>::threads;
    const lh_attention_spec *spec = &args->spec;
    const size_t bytes = sizeof(block_memory);
    for (int s = 0; s < spec->source_count; ++s) {
        const lh_key_source *source = &spec->source[s];
        const int64_t tiles = lh_chunk_count(source->count, LH_TILE);
        const int64_t tasks = spec->batch * spec->heads * tiles;
        if (tasks == 0 || (source->dk.act.data == NULL && source->dv.act.data == NULL)) continue;
        LH_CUDA_TRY(LH_LAUNCH((pass_keys<width, placed, stripes, operand>), lh_blocks(tasks, 1),
                              threads, bytes, launch, *args, s, p, tiles, tasks));
    }
    return LH_OK;
}

template <int width, bool placed, typename operand>
static lh_status launch_both(const lh_launch *launch, const lh_attention_backward_args *args,
                             const tile_parts &p) {
    LH_CUDA_TRY((launch_queries<width, placed, operand>(launch, args, p)));
    return launch_keys<width, placed, operand>(launch, args, p);
}

template <int width>
static lh_status launch_width(const lh_launch *launch, const lh_attention_backward_args *args,
                              const tile_parts &p) {
    const bool floats = args->spec.precision == LH_PRECISION_TF32;
    if (args->spec.positions == NULL)
        return floats ? launch_both<width, false, float>(launch, args, p)
                      : launch_both<width, false, __nv_bfloat16>(launch, args, p);
    if constexpr (width < LH_WIDEST_TILE)
        if (floats) return launch_both<width, true, float>(launch, args, p);
    return launch_both<width, true, __nv_bfloat16>(launch, args, p);
}

static lh_status launch_passes(const lh_launch *launch, const lh_attention_backward_args *args,
                               const tile_parts &p) {
    switch (lh_tile_width(args->spec.head_width)) {
    case 32:
        return launch_width<32>(launch, args, p);
    case 64:
        return launch_width<64>(launch, args, p);
    default:
        return launch_width<128>(launch, args, p);
    }
}

lh_status lh_attention_tile_backward(const lh_launch *launch,
                                     const lh_attention_backward_args *args) {
    const lh_attention_spec *spec = &args->spec;
    tile_parts p;
    (void)lay_out(args, launch->workspace, &p);
    LH_CUDA_TRY(lh_attention_delta(launch, args->out, args->dout, spec->batch, spec->heads,
                                   spec->queries, spec->head_width, p.delta));
    LH_CUDA_TRY(lh_draw_kept_table(launch, spec, p.kept));
    LH_CUDA_TRY(launch_passes(launch, args, p));
    LH_CUDA_TRY(lh_attention_tile_positions(launch, args, p.kept, p.delta, p.positions));
    if (args->dhead_scale != NULL)
        LH_CUDA_TRY(join(launch, spec, lh_chunk_count(spec->queries, LH_STEP), 1, p.scale, false,
                         args->dhead_scale, args->dhead_scale_write));
    if (args->dbias == NULL || spec->bias == NULL) return LH_OK;
    return join(launch, spec, bias_pieces(spec), spec->buckets, p.bias, true, args->dbias,
                args->dbias_write);
}
