/* LSH attention summed in f32: a warp for each token of each head, a lane for every 32nd element of
 * its vectors; rounds and keys come one after the other. The gradients of keys and values are
 * summed by a warp for each key, over the queries that see it. */
#include "kernels/cuda/lsh_attention.cuh"

/* The first slot in which token i sees others in a round, and the one behind the last. */
__device__ static inline int64_t first_seen(const lh_lsh_view &view, int64_t r, int64_t i) {
    const int64_t at = r * view.length + i;
    if (!view.any_bucket) return view.first[at];
    return lh_max(0, (view.slot[at] / view.chunk - 1) * view.chunk);
}

__device__ static inline int64_t end_seen(const lh_lsh_view &view, int64_t r, int64_t i) {
    const int64_t at = r * view.length + i;
    if (!view.any_bucket) return view.slot[at];
    return lh_min(view.length, (view.slot[at] / view.chunk + 1) * view.chunk);
}

/* N_ij, a round to each lane; i sees j in some round, so it is not 0. */
__device__ static inline real count_rounds(const lh_lsh_view &view, int64_t i, int64_t j,
                                           int lane) {
    if (view.any_bucket) return 1;
    int count = 0;
    for (int64_t r = lane; r < view.rounds; r += LH_WARP) {
        const int32_t at = view.slot[r * view.length + j];
        count += view.first[r * view.length + i] <= at && at < view.slot[r * view.length + i];
    }
    return (real)lh_warp_sum(count);
}

/* a . b, a lane for every 32nd element. */
template <typename left, typename right>
__device__ static inline real warp_dot(const left *a, const right *b, int64_t width, int lane) {
    real sum = 0;
    for (int64_t d = lane; d < width; d += LH_WARP)
        sum += lh_load(a + d) * lh_load(b + d);
    return lh_warp_sum(sum);
}

/* part += factor * x. */
template <typename element>
__device__ static inline void add_row(real *part, real factor, const element *x, int64_t width,
                                      int lane) {
    for (int p = 0; p < LH_HEAD_PARTS; ++p) {
        const int64_t d = p * LH_WARP + lane;
        if (d < width) part[p] += factor * lh_load(x + d);
    }
}

__device__ static inline void store_row(const lh_heads &y, int64_t batch, int64_t head,
                                        int64_t token, lh_write write, const real *part,
                                        int64_t width, int lane) {
    if (y.act.data == NULL) return;
    for (int p = 0; p < LH_HEAD_PARTS; ++p) {
        const int64_t d = p * LH_WARP + lane;
        if (d < width) lh_store(&lh_head_row(y, batch, head, token)[d], write, part[p]);
    }
}

size_t lh_cuda_lsh_attention_forward_workspace(const lh_lsh_attention_forward_args *args) {
    (void)args;
    return 0;
}

/* What scores are counted from: with none above minus infinity every weight is 0, by a difference
 * that is a number. A branch instead takes the registers of a quarter of the warps. */
__device__ static inline real finite_shift(real most) {
    return most == -INFINITY ? 0 : most;
}

template <typename element>
static lh_status attend(const lh_launch *launch, const lh_lsh_attention_forward_args *args) {
    const lh_lsh_attention_forward_args a = *args;
    const int64_t rows = a.spec.batch * a.spec.heads * a.spec.length;
    return lh_each_row(launch, rows, [=] __device__(int64_t row, int lane) {
        const int64_t i = row % a.spec.length, pair = row / a.spec.length;
        const int64_t width = a.spec.head_width;
        const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
        const lh_lsh_view view = lh_lsh_view_of(a.spec, pair);
        const element *q = lh_head_row<element>(a.q, batch, head, i);
        real most = -INFINITY, sum = 0, part[LH_HEAD_PARTS] = {0};
        for (int64_t r = 0; r < a.spec.rounds; ++r) {
            const int64_t end = end_seen(view, r, i);
            for (int64_t at = first_seen(view, r, i); at < end; ++at) {
                const int64_t j = view.order[r * a.spec.length + at];
                if (j >= i) continue;
                const real score =
                    warp_dot(q, lh_head_row<element>(a.k, batch, head, j), width, lane);
                const real higher = lh_larger(most, score);
                const real shift = finite_shift(higher), factor = expf(most - shift);
                const real weight = expf(score - shift) / count_rounds(view, i, j, lane);
                most = higher;
                sum = sum * factor + weight;
                for (int p = 0; p < LH_HEAD_PARTS; ++p)
                    part[p] *= factor;
                add_row(part, weight, lh_head_row<element>(a.v, batch, head, j), width, lane);
            }
        }
        const bool alone = most == -INFINITY;
        if (alone) add_row(part, 1, lh_head_row<element>(a.v, batch, head, i), width, lane);
        for (int p = 0; p < LH_HEAD_PARTS && !alone; ++p)
            part[p] /= sum;
        store_row(a.out, batch, head, i, LH_SET, part, width, lane);
        if (lane == 0) a.lse[row] = alone ? -INFINITY : most + logf(sum);
    });
}

lh_status lh_cuda_lsh_attention_forward(const lh_launch *launch,
                                        const lh_lsh_attention_forward_args *args) {
    if (!lh_head_fits(args->spec.head_width)) return LH_ESHAPE;
    if (lh_lsh_fits_tiles(args->spec)) return lh_lsh_attention_tile_forward(launch, args);
    return LH_FOR_ELEMENT(args->q.act.dtype, attend, launch, args);
}

/* ---- backward ---- */

/* What a query of the backward pass knows. */
template <typename element> struct lsh_query {
    int64_t token;
    const element *q;
    const real *dout;
    real shift, delta; /* shift: lse, 0 where it saw none but itself */
};

template <typename element>
__device__ static inline lsh_query<element> query_of(const lh_lsh_attention_backward_args &a,
                                                     int64_t pair, int64_t i, const real *delta) {
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    const int64_t row = pair * a.spec.length + i;
    return {i, lh_head_row<element>(a.q, batch, head, i), lh_head_row(a.dout, batch, head, i),
            finite_shift(a.lse[row]), delta[row]};
}

/* The weight of a pair in a round that has it, and the gradient of its score. */
typedef struct lsh_slope {
    real weight, score;
} lsh_slope;

template <typename element>
__device__ static inline lsh_slope
slope_of(const lh_lsh_view &view, const lsh_query<element> &query, int64_t j, const element *k,
         const element *v, int64_t width, int lane) {
    const real score = warp_dot(query.q, k, width, lane);
    const real weight = expf(score - query.shift) / count_rounds(view, query.token, j, lane);
    return {weight, weight * (warp_dot(query.dout, v, width, lane) - query.delta)};
}

/* dq of a token. */
template <typename element>
__device__ static inline void differentiate_query(const lh_lsh_attention_backward_args &a,
                                                  const lh_lsh_view &view, int64_t pair,
                                                  const lsh_query<element> &query, int lane) {
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    const int64_t width = a.spec.head_width;
    real part[LH_HEAD_PARTS] = {0};
    for (int64_t r = 0; r < a.spec.rounds; ++r) {
        const int64_t end = end_seen(view, r, query.token);
        for (int64_t at = first_seen(view, r, query.token); at < end; ++at) {
            const int64_t j = view.order[r * a.spec.length + at];
            if (j >= query.token) continue;
            const element *k = lh_head_row<element>(a.k, batch, head, j);
            const lsh_slope slope =
                slope_of(view, query, j, k, lh_head_row<element>(a.v, batch, head, j), width, lane);
            add_row(part, slope.score, k, width, lane);
        }
    }
    store_row(a.dq, batch, head, query.token, a.dq_write, part, width, lane);
}

/* dk and dv of a token: those that see it follow it in each round's order, or of any bucket stand
 * in its chunk or the next. */
template <typename element>
__device__ static inline void differentiate_key(const lh_lsh_attention_backward_args &a,
                                                const lh_lsh_view &view, int64_t pair, int64_t j,
                                                const real *delta, int lane) {
    const int64_t batch = pair / a.spec.heads, head = pair % a.spec.heads;
    const int64_t width = a.spec.head_width;
    const element *k = lh_head_row<element>(a.k, batch, head, j);
    const element *v = lh_head_row<element>(a.v, batch, head, j);
    real dk[LH_HEAD_PARTS] = {0}, dv[LH_HEAD_PARTS] = {0};
    for (int64_t r = 0; r < a.spec.rounds; ++r) {
        const int32_t own = view.slot[r * a.spec.length + j];
        const int64_t begin = view.any_bucket ? own / a.spec.chunk * a.spec.chunk : own + 1;
        for (int64_t at = begin; at < a.spec.length; ++at) {
            const int64_t i = view.order[r * a.spec.length + at];
            if (first_seen(view, r, i) > own) break;
            if (i <= j) continue;
            const lsh_query<element> query = query_of<element>(a, pair, i, delta);
            const lsh_slope slope = slope_of(view, query, j, k, v, width, lane);
            add_row(dk, slope.score, query.q, width, lane);
            add_row(dv, slope.weight, query.dout, width, lane);
        }
    }
    if (a.lse[pair * a.spec.length + j] == -INFINITY)
        add_row(dv, 1, lh_head_row(a.dout, batch, head, j), width, lane);
    store_row(a.dk, batch, head, j, a.dk_write, dk, width, lane);
    store_row(a.dv, batch, head, j, a.dv_write, dv, width, lane);
}

size_t lh_cuda_lsh_attention_backward_workspace(const lh_lsh_attention_backward_args *args) {
    return (size_t)(args->spec.batch * args->spec.heads * args->spec.length) * sizeof(real);
}

template <typename element>
static lh_status differentiate(const lh_launch *launch, const lh_lsh_attention_backward_args *args,
                               const real *delta) {
    const lh_lsh_attention_backward_args a = *args;
    const int64_t rows = a.spec.batch * a.spec.heads * a.spec.length;
    LH_CUDA_TRY(lh_each_row(launch, rows, [=] __device__(int64_t row, int lane) {
        const int64_t pair = row / a.spec.length;
        const lsh_query<element> query = query_of<element>(a, pair, row % a.spec.length, delta);
        differentiate_query(a, lh_lsh_view_of(a.spec, pair), pair, query, lane);
    }));
    return lh_each_row(launch, rows, [=] __device__(int64_t row, int lane) {
        const int64_t pair = row / a.spec.length;
        differentiate_key<element>(a, lh_lsh_view_of(a.spec, pair), pair, row % a.spec.length,
                                   delta, lane);
    });
}

lh_status lh_cuda_lsh_attention_backward(const lh_launch *launch,
                                         const lh_lsh_attention_backward_args *args) {
    if (!lh_head_fits(args->spec.head_width)) return LH_ESHAPE;
    real *delta = (real *)launch->workspace;
    LH_CUDA_TRY(lh_attention_delta(launch, args->out, args->dout, args->spec.batch,
                                   args->spec.heads, args->spec.length, args->spec.head_width,
                                   delta));
    if (lh_lsh_fits_tiles(args->spec)) return lh_lsh_attention_tile_backward(launch, args, delta);
    return LH_FOR_ELEMENT(args->q.act.dtype, differentiate, launch, args, delta);
}
