/* LSH attention on tensor cores. In sorted order what a token sees is a run of slots before its
 * own, so 64 slots are the queries of a tile, and tiles of 64 slots before them the keys (or the
 * queries behind them, where keys have a tile of their own). Rounds are launches one after the
 * other: each joins what those before it left, so that nothing is added from two places. */
#include "kernels/cuda/attention_tile_backward.cuh"
#include "kernels/cuda/attention_tile_forward.cuh"
#include "kernels/cuda/lsh_attention.cuh"

/* ---- who sees whom ---- */

/* Behind a block's memory, for each round: what each of 64 queries sees, and where 64 keys stand.
 */
typedef struct round_slots {
    int32_t first[LH_TILE], slot[LH_TILE]; /* of the queries; one that is not there sees nobody */
    int32_t key[LH_TILE];                  /* -1: not there */
} round_slots;

/* Slots [begin, begin + 64) of a round's order, up to `end`. */
typedef struct slot_run {
    const int32_t *order;
    int64_t begin, end;
} slot_run;

__device__ static inline int64_t token_of(const slot_run &run, int row) {
    return run.begin + row < run.end ? run.order[run.begin + row] : -1;
}

/* The same for all rows. */
__device__ static inline auto tokens_of(const slot_run &run) {
    return [=](int row) { return token_of(run, row); };
}

__device__ static inline slot_run run_of(const lh_lsh_view &view, int64_t round, int64_t begin,
                                         int64_t end) {
    return {view.order + round * view.length, begin, lh_min(end, view.length)};
}

/* A block's work, as the next. */
__device__ static inline void find_queries(const lh_lsh_view &view, const slot_run &run,
                                           round_slots *rounds) {
    for (int i = (int)threadIdx.x; i < LH_TILE; i += (int)blockDim.x) {
        const int64_t token = token_of(run, i);
        for (int64_t r = 0; r < view.rounds; ++r) {
            rounds[r].first[i] = token < 0 ? INT32_MAX : view.first[r * view.length + token];
            rounds[r].slot[i] = token < 0 ? 0 : view.slot[r * view.length + token];
        }
    }
}

__device__ static inline void find_keys(const lh_lsh_view &view, const slot_run &run,
                                        round_slots *rounds) {
    for (int j = (int)threadIdx.x; j < LH_TILE; j += (int)blockDim.x) {
        const int64_t token = token_of(run, j);
        for (int64_t r = 0; r < view.rounds; ++r)
            rounds[r].key[j] = token < 0 ? -1 : view.slot[r * view.length + token];
    }
}

__device__ static inline bool sees(const round_slots &round, int i, int j) {
    return round.first[i] <= round.key[j] && round.key[j] < round.slot[i];
}

template <typename memory_type>
__device__ static inline round_slots *rounds_of(memory_type *memory) {
    return reinterpret_cast<round_slots *>(memory + 1);
}

/* ---- forward ---- */

template <int width, typename operand> struct forward_memory : lh_forward_memory<width, operand> {
    float
        before[LH_TILE]; /* what a row's output of earlier rounds counts; -1: it saw nobody here */
};

/* Scores of the products: q . k - log N, of the rows `first` and on. */
__device__ static inline void read_scores(const round_slots *rounds, int64_t count, int64_t round,
                                          int first, int lane, lh_scores &scores) {
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h) {
        const int row = first + lh_lane_row(h, lane);
        int seen[LH_TILE_STEPS][LH_STEP_PARTS] = {{0}};
        LH_NO_UNROLL
        for (int64_t r = 0; r < count; ++r)
            lh_each_score(scores, h, [&](int c, int part, real) {
                seen[c][part] += sees(rounds[r], row, lh_score_key(c, part, lane));
            });
        lh_each_score(scores, h, [&](int c, int part, real &score) {
            const real shared = LH_LOG2_E * score - __log2f((float)seen[c][part]);
            score = sees(rounds[round], row, lh_score_key(c, part, lane)) ? shared : -INFINITY;
        });
    }
}

/* Joins a row, of whose weights `sum` is the sum, to the rounds before by their partition functions
 * (eq. 7): gives what the sum of its weighted values is multiplied by. */
__device__ static inline real join_row(real *lse, bool begins, real sum, const lh_row_state &state,
                                       float *before) {
    if (sum == 0) {
        *before = -1;
        if (begins) *lse = -INFINITY;
        return 0;
    }
    const real earlier = begins ? -INFINITY : *lse, now = lh_row_lse(state, sum);
    const real most = lh_larger(earlier, now);
    const real joined = most + logf(expf(earlier - most) + expf(now - most));
    *before = expf(earlier - joined);
    *lse = joined;
    return expf(state.maximum * LH_LN_2 - joined);
}

/* The same of each of a lane's rows of a stripe. */
template <int width, typename operand>
__device__ static inline void join_rows(const lh_lsh_attention_forward_args &a, int64_t pair,
                                        int64_t round, const slot_run &run,
                                        forward_memory<width, operand> *memory,
                                        const lh_stripe &stripe, lh_sums (&out)[width / LH_STEP]) {
    LH_UNROLL
    for (int h = 0; h < LH_LANE_ROWS; ++h) {
        const int own = stripe.first + lh_lane_row(h, stripe.lane);
        const int64_t token = token_of(run, own);
        const real sum = lh_row_sum(stripe.state[h]);
        real by = 0;
        if (stripe.lane % LH_MMA_LANES == 0 && token >= 0)
            by = join_row(&a.lse[pair * a.spec.length + token], round == 0, sum, stripe.state[h],
                          &memory->before[own]);
        by = __shfl_sync(0xffffffffu, by, stripe.lane / LH_MMA_LANES * LH_MMA_LANES);
        lh_shrink(by, h, out);
    }
}

/* Stores a stripe's 16 rows. A token that sees nobody begins with its own value. */
template <int width, typename operand>
__device__ static inline void
finish_rows(const lh_lsh_attention_forward_args &a, int64_t pair, int64_t round,
            const slot_run &run, forward_memory<width, operand> *memory, const lh_stripe &stripe,
            lh_sums (&sums)[width / LH_STEP]) {
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    join_rows<width>(a, pair, round, run, memory, stripe, sums);
    float *scratch =
        reinterpret_cast<float *>(memory->q + stripe.first * lh_tile_shape<width, operand>::pitch);
    lh_put_rows<width>(sums, scratch, stripe.lane, [&](int row, int column, real value) {
        const int64_t to = token_of(run, stripe.first + row);
        if (to < 0 || column >= a.spec.head_width) return;
        const real before = memory->before[stripe.first + row];
        real *out = &lh_head_row(a.out, batch, head, to)[column];
        if (before >= 0)
            *out = before > 0 ? before * *out + value : value;
        else if (round == 0)
            *out = lh_load_as(a.v.act, lh_head_offset(a.v, batch, head, to) + column);
    });
}

/* A block's 64 queries and all the keys that they see. */
template <int width, int stripes, typename operand>
__device__ static inline void
attend_run(const lh_lsh_attention_forward_args &a, const lh_lsh_view &view, int64_t pair,
           int64_t round, const slot_run &run, forward_memory<width, operand> *memory,
           lh_warp_rows<width, stripes> *rows) {
    enum { threads = LH_TILE_THREADS / stripes };
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    const int64_t end = lh_min(run.begin + LH_TILE, view.length) - 1;
    round_slots *rounds = rounds_of(memory);
    const auto place = [](int64_t, lh_scores(&)[stripes]) {};
    const auto bring_keys = [&](int64_t base) {
        lh_stage_tokens<width, LH_TILE, threads>(a.k, batch, head, a.spec.head_width,
                                                 tokens_of(run_of(view, round, base, end)),
                                                 memory->other);
    };
    const auto bring_values = [&](int64_t base) {
        const slot_run keys = run_of(view, round, base, end);
        lh_stage_tokens<width, LH_TILE, threads>(a.v, batch, head, a.spec.head_width,
                                                 tokens_of(keys), memory->other + memory->tile);
        find_keys(view, keys, rounds);
    };
    const auto read = [&](const lh_stripe &own, lh_scores &scores) {
        read_scores(rounds, view.rounds, round, own.first, own.lane, scores);
    };
    const auto keep = [](const lh_stripe &, lh_scores &) {};
    const auto attend = [&](int64_t, lh_scores(&scores)[stripes]) {
        lh_attend_values(*memory, scores, read, keep, rows);
    };
    lh_attend_span(view.first[round * view.length + token_of(run, 0)], end,
                   run.begin + rows->stripe[0].first < view.length, true, place, bring_keys,
                   bring_values, attend, *memory, *rows);
}

/* Stripes of a warp, and blocks on a multiprocessor: as many as have the registers. */
template <int width, typename operand> struct resident {
    enum { widest = width == LH_WIDEST_TILE, floats = sizeof(operand) == sizeof(float) };
    enum { stripes = widest && floats ? 1 : 2, threads = LH_TILE_THREADS / stripes };
    enum { blocks = stripes == 1 ? 2 : 4 };
};

template <int width, typename operand>
__global__ void __launch_bounds__((resident<width, operand>::threads),
                                  (resident<width, operand>::blocks))
    attend_slots(lh_lsh_attention_forward_args a, int64_t round, int64_t tiles, int64_t tasks) {
    typedef forward_memory<width, operand> block_memory;
    typedef resident<width, operand> shape;
    LH_SHARED_DYNAMIC(block_memory, memory);
    lh_warp_rows<width, shape::stripes> rows;
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t pair = task / tiles, begin = task % tiles * LH_TILE;
        const lh_lsh_view view = lh_lsh_view_of(a.spec, pair);
        const slot_run run = run_of(view, round, begin, view.length);
        lh_begin_rows(&rows);
        lh_stage_tokens<width, LH_TILE, shape::threads>(a.q, pair / a.spec.heads,
                                                        pair % a.spec.heads, a.spec.head_width,
                                                        tokens_of(run), memory->q);
        find_queries(view, run, rounds_of(memory));
        attend_run<width>(a, view, pair, round, run, memory, &rows);
        lh_await_copies();
        __syncthreads();
        LH_UNROLL
        for (int s = 0; s < shape::stripes; ++s)
            if (begin + rows.stripe[s].first < view.length)
                finish_rows<width>(a, pair, round, run, memory, rows.stripe[s], rows.out[s]);
        __syncthreads();
    }
}

/* ---- backward ---- */

/* Of 16 x 16 pairs: makes of q . k the weights, and of dO . v the gradients of the scores. */
template <typename placing, typename memory_type>
__device__ static inline void differentiate(const round_slots *rounds, int64_t count, int64_t round,
                                            const placing &cell_of, const memory_type &memory,
                                            lh_sums &scores, lh_sums &slopes) {
    int seen[LH_STEP_PARTS] = {0};
    LH_NO_UNROLL
    for (int64_t r = 0; r < count; ++r) {
        LH_UNROLL
        for (int n = 0; n < LH_STEP_PARTS; ++n)
            seen[n] += sees(rounds[r], cell_of(n).query, cell_of(n).key);
    }
    LH_UNROLL
    for (int n = 0; n < LH_STEP_PARTS; ++n) {
        const int query = cell_of(n).query;
        const real power = LH_LOG2_E * lh_part(scores, n) - memory.lse[query];
        const bool here = sees(rounds[round], query, cell_of(n).key);
        const real weight = here ? lh_exp2(power - __log2f((float)seen[n])) : 0;
        lh_part(scores, n) = weight;
        lh_part(slopes, n) = weight * (lh_part(slopes, n) - memory.delta[query]);
    }
}

/* What 64 queries know; a block's work. */
template <int width, int threads, typename operand>
__device__ static inline void
stage_queries(const lh_lsh_attention_backward_args &a, const lh_lsh_view &view, const real *delta,
              int64_t pair, const slot_run &run, operand *q, operand *dout,
              lh_backward_memory<width, false, operand> *memory) {
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    lh_stage_tokens<width, LH_TILE, threads>(a.q, batch, head, a.spec.head_width, tokens_of(run),
                                             q);
    lh_stage_tokens<width, LH_TILE, threads>(a.dout, batch, head, a.spec.head_width, tokens_of(run),
                                             dout);
    find_queries(view, run, rounds_of(memory));
    const int64_t at = pair * a.spec.length;
    lh_stage_sums(a.lse + at, delta + at, tokens_of(run), memory);
}

template <int width, int threads, typename operand>
__device__ static inline void stage_keys(const lh_lsh_attention_backward_args &a,
                                         const lh_lsh_view &view, int64_t pair, const slot_run &run,
                                         operand *k, operand *v,
                                         lh_backward_memory<width, false, operand> *memory) {
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    lh_stage_tokens<width, LH_TILE, threads>(a.k, batch, head, a.spec.head_width, tokens_of(run),
                                             k);
    lh_stage_tokens<width, LH_TILE, threads>(a.v, batch, head, a.spec.head_width, tokens_of(run),
                                             v);
    find_keys(view, run, rounds_of(memory));
}

/* Adds a warp's rows to a gradient, which the first round sets or adds to as it is told; of
 * other(token, column), too. */
template <int width, int stripes, typename adding, typename operand>
__device__ static inline void
put_gradient(lh_sums (&sums)[stripes][width / LH_STEP], const lh_heads &to, lh_write write,
             int64_t head_width, int64_t batch, int64_t head, const slot_run &run,
             const lh_warp_place &at, operand *rows, const adding &other) {
    if (to.act.data == NULL) return;
    LH_UNROLL
    for (int s = 0; s < stripes; ++s) {
        const int first = at.first + s * LH_STEP;
        lh_put_rows<width>(sums[s], lh_scratch_of<width>(rows, first), at.lane,
                           [&](int row, int column, real value) {
                               const int64_t token = token_of(run, first + row);
                               if (token >= 0 && column < head_width)
                                   lh_store(&lh_head_row(to, batch, head, token)[column], write,
                                            value + other(token, column));
                           });
    }
}

/* dq of 64 slots. */
template <int width, int stripes, typename operand>
__global__ void __launch_bounds__(lh_backward_block<stripes>::threads,
                                  lh_backward_block<stripes>::blocks)
    pass_queries(lh_lsh_attention_backward_args a, const real *delta, int64_t round, lh_write write,
                 int64_t tiles, int64_t tasks) {
    typedef lh_backward_memory<width, false, operand> block_memory;
    LH_SHARED_DYNAMIC(block_memory, memory);
    enum { threads = lh_backward_block<stripes>::threads };
    const lh_warp_place at = lh_find_place<stripes>();
    round_slots *rounds = rounds_of(memory);
    lh_sums dq[stripes][width / LH_STEP];
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t pair = task / tiles, begin = task % tiles * LH_TILE;
        const lh_lsh_view view = lh_lsh_view_of(a.spec, pair);
        const slot_run run = run_of(view, round, begin, view.length);
        const int64_t end = lh_min(begin + LH_TILE, view.length) - 1;
        const auto multiply = [&](int c, auto &scores, auto &slopes) {
            lh_multiply_both(*memory, at.first, c, scores, slopes);
        };
        const auto slope = [&](int, const auto &cell_of, lh_sums &scores, lh_sums &slopes) {
            differentiate(rounds, view.rounds, round, cell_of, *memory, scores, slopes);
        };
        lh_clear_all(dq);
        stage_queries<width, threads>(a, view, delta, pair, run, memory->row[0], memory->row[1],
                                      memory);
        for (int64_t base = view.first[round * view.length + token_of(run, 0)]; base < end;
             base += LH_TILE) {
            __syncthreads();
            stage_keys<width, threads>(a, view, pair, run_of(view, round, base, end), memory->other,
                                       memory->other + memory->tile, memory);
            lh_await_copies();
            __syncthreads();
            if (begin + at.first < view.length)
                lh_visit_keys<width>(memory, at, (const operand *)NULL, multiply, slope, dq);
        }
        lh_await_copies();
        __syncthreads();
        if (begin + at.first < view.length)
            put_gradient<width>(dq, a.dq, write, a.spec.head_width, pair / a.spec.heads,
                                pair % a.spec.heads, run, at, memory->row[0],
                                [](int64_t, int) { return (real)0; });
        __syncthreads();
    }
}

/* dk and dv of 64 slots: those that see them follow them. */
template <int width, int stripes, typename operand>
__global__ void __launch_bounds__(lh_backward_block<stripes>::threads,
                                  lh_backward_block<stripes>::blocks)
    pass_keys(lh_lsh_attention_backward_args a, const real *delta, int64_t round, lh_write dk_write,
              lh_write dv_write, int64_t tiles, int64_t tasks) {
    typedef lh_backward_memory<width, false, operand> block_memory;
    LH_SHARED_DYNAMIC(block_memory, memory);
    enum { threads = lh_backward_block<stripes>::threads };
    const lh_warp_place at = lh_find_place<stripes>();
    round_slots *rounds = rounds_of(memory);
    lh_sums dk[stripes][width / LH_STEP], dv[stripes][width / LH_STEP];
    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        const int64_t pair = task / tiles, begin = task % tiles * LH_TILE;
        const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
        const lh_lsh_view view = lh_lsh_view_of(a.spec, pair);
        const slot_run run = run_of(view, round, begin, view.length);
        const int32_t *first = view.first + round * view.length;
        const auto multiply = [&](int c, auto &scores, auto &slopes) {
            lh_multiply_both(*memory, at.first, c, scores, slopes);
        };
        const auto slope = [&](int, const auto &cell_of, lh_sums &scores, lh_sums &slopes) {
            differentiate(rounds, view.rounds, round, cell_of, *memory, scores, slopes);
        };
        /* A token alone in all rounds attended to itself. */
        const auto alone = [&](int64_t token, int column) {
            return round == 0 && a.lse[pair * a.spec.length + token] == -INFINITY
                       ? lh_head_row(a.dout, batch, head, token)[column]
                       : 0;
        };
        lh_clear_all(dk);
        lh_clear_all(dv);
        stage_keys<width, threads>(a, view, pair, run, memory->row[0], memory->row[1], memory);
        for (int64_t base = begin; base < view.length && first[run.order[base]] < begin + LH_TILE;
             base += LH_TILE) {
            __syncthreads();
            stage_queries<width, threads>(a, view, delta, pair,
                                          run_of(view, round, base, view.length), memory->other,
                                          memory->other + memory->tile, memory);
            lh_await_copies();
            __syncthreads();
            if (begin + at.first < view.length)
                lh_visit_queries<width>(memory, at, multiply, slope, dk, dv);
        }
        lh_await_copies();
        __syncthreads();
        if (begin + at.first < view.length) {
            put_gradient<width>(dk, a.dk, dk_write, a.spec.head_width, batch, head, run, at,
                                memory->row[0], [](int64_t, int) { return (real)0; });
            put_gradient<width>(dv, a.dv, dv_write, a.spec.head_width, batch, head, run, at,
                                memory->row[1], alone);
        }
        __syncthreads();
    }
}

/* ---- the launches ---- */

/* A warp's stripes of 16 rows of its own: two, where there are registers for their sums, so that
 * what it reads of the other side serves both. */
template <int width, typename operand> struct stripes_of {
    enum { floats = sizeof(operand) == sizeof(float) };
    enum { queries = floats ? 1 : 2, keys = floats || width == LH_WIDEST_TILE ? 1 : 2 };
};

/* A block's shared memory. */
template <typename memory_type> static size_t bytes_of(int64_t rounds) {
    return sizeof(memory_type) + (size_t)rounds * sizeof(round_slots);
}

template <int width, typename operand>
static lh_status launch_forward(const lh_launch *launch,
                                const lh_lsh_attention_forward_args *args) {
    const int64_t tiles = lh_chunk_count(args->spec.length, LH_TILE);
    const int64_t tasks = args->spec.batch * args->spec.heads * tiles;
    const size_t bytes = bytes_of<forward_memory<width, operand>>(args->spec.rounds);
    const unsigned threads = resident<width, operand>::threads;
    for (int64_t round = 0; round < args->spec.rounds && tasks > 0; ++round)
        LH_CUDA_TRY(LH_LAUNCH((attend_slots<width, operand>), lh_blocks(tasks, 1), threads, bytes,
                              launch, *args, round, tiles, tasks));
    return LH_OK;
}

template <int width, typename operand>
static lh_status launch_backward(const lh_launch *launch,
                                 const lh_lsh_attention_backward_args *args, const real *delta) {
    typedef lh_backward_memory<width, false, operand> memory;
    typedef stripes_of<width, operand> stripes;
    const int64_t tiles = lh_chunk_count(args->spec.length, LH_TILE);
    const int64_t tasks = args->spec.batch * args->spec.heads * tiles;
    const bool keys = args->dk.act.data != NULL || args->dv.act.data != NULL;
    const size_t bytes = bytes_of<memory>(args->spec.rounds);
    for (int64_t round = 0; round < args->spec.rounds && tasks > 0; ++round) {
        const bool adds = round > 0;
        if (args->dq.act.data != NULL)
            LH_CUDA_TRY(LH_LAUNCH((pass_queries<width, stripes::queries, operand>),
                                  lh_blocks(tasks, 1), lh_backward_block<stripes::queries>::threads,
                                  bytes, launch, *args, delta, round,
                                  adds ? LH_ADD : args->dq_write, tiles, tasks));
        if (keys)
            LH_CUDA_TRY(LH_LAUNCH((pass_keys<width, stripes::keys, operand>), lh_blocks(tasks, 1),
                                  lh_backward_block<stripes::keys>::threads, bytes, launch, *args,
                                  delta, round, adds ? LH_ADD : args->dk_write,
                                  adds ? LH_ADD : args->dv_write, tiles, tasks));
    }
    return LH_OK;
}

template <int width>
static lh_status forward_of_width(const lh_launch *launch,
                                  const lh_lsh_attention_forward_args *args) {
    return args->spec.precision == LH_PRECISION_TF32
               ? launch_forward<width, float>(launch, args)
               : launch_forward<width, __nv_bfloat16>(launch, args);
}

template <int width>
static lh_status backward_of_width(const lh_launch *launch,
                                   const lh_lsh_attention_backward_args *args, const real *delta) {
    return args->spec.precision == LH_PRECISION_TF32
               ? launch_backward<width, float>(launch, args, delta)
               : launch_backward<width, __nv_bfloat16>(launch, args, delta);
}

lh_status lh_lsh_attention_tile_forward(const lh_launch *launch,
                                        const lh_lsh_attention_forward_args *args) {
    switch (lh_tile_width(args->spec.head_width)) {
    case 32:
        return forward_of_width<32>(launch, args);
    case 64:
        return forward_of_width<64>(launch, args);
    default:
        return forward_of_width<128>(launch, args);
    }
}

lh_status lh_lsh_attention_tile_backward(const lh_launch *launch,
                                         const lh_lsh_attention_backward_args *args,
                                         const real *delta) {
    switch (lh_tile_width(args->spec.head_width)) {
    case 32:
        return backward_of_width<32>(launch, args, delta);
    case 64:
        return backward_of_width<64>(launch, args, delta);
    default:
        return backward_of_width<128>(launch, args, delta);
    }
}
