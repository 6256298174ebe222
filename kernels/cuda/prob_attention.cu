/* ProbSparse attention (Zhou et al. 2021): plain kernels, a warp for each token or chosen query, a
 * thread for each element of a sum over tokens. */
#include "kernels/cuda/attention.cuh"

/* How many tokens of a head come before each, and before that their measures. */
typedef struct ranking {
    real *measure;
    int32_t *rank;
} ranking;

static inline size_t ranking_elements(const lh_prob_attention_spec *spec) {
    return (size_t)(spec->batch * spec->heads * spec->length);
}

__device__ static inline int64_t keys_seen_by(const lh_prob_attention_spec &a, int64_t query) {
    return a.causal ? query + 1 : a.length;
}

/* A dot product by a warp, for every lane. */
__device__ static inline real warp_dot(const real *x, const real *y, int64_t width, int lane) {
    real sum = 0;
    for (int64_t d = lane; d < width; d += LH_WARP)
        sum += x[d] * y[d];
    return lh_warp_sum(sum);
}

/* ---- choosing ---- */

static inline lh_status measure_tokens(const lh_launch *launch,
                                       const lh_prob_attention_forward_args &args, real *measure) {
    const lh_prob_attention_forward_args f = args;
    const lh_prob_attention_spec a = f.spec;
    return lh_each_row(
        launch, a.batch * a.heads * a.length, [=] __device__(int64_t task, int lane) {
            const int64_t i = task % a.length, head = task / a.length % a.heads;
            const int64_t batch = task / a.length / a.heads;
            const real *q = lh_head_row(f.q, batch, head, i);
            real most = -INFINITY, sum = 0;
            for (int64_t s = 0; s < f.samples; ++s) {
                const uint64_t word = lh_random_word(*f.key, (uint64_t)(i * f.samples + s));
                const int64_t j = (int64_t)(word * (uint64_t)a.length >> 32);
                const real score =
                    warp_dot(q, lh_head_row(f.k, batch, head, j), a.head_width, lane);
                most = score > most ? score : most;
                sum += score;
            }
            if (lane == 0) measure[task] = (real)a.length * most - sum;
        });
}

/* Whether token i comes before j in the order of choice; what is no number comes first. */
__device__ static inline bool goes_before(const real *measure, int64_t i, int64_t j) {
    const bool i_odd = isnan(measure[i]), j_odd = isnan(measure[j]);
    if (i_odd != j_odd) return i_odd;
    if (!i_odd && measure[i] != measure[j]) return measure[i] > measure[j];
    return i < j;
}

static inline lh_status choose_tokens(const lh_launch *launch,
                                      const lh_prob_attention_forward_args &args, ranking ranks) {
    const lh_prob_attention_spec a = args.spec;
    int32_t *chosen = args.chosen;
    const int64_t tokens = a.batch * a.heads * a.length;
    LH_CUDA_TRY(lh_each(launch, tokens, [=] __device__(int64_t task) {
        const int64_t i = task % a.length;
        const real *measure = ranks.measure + (task - i);
        int32_t before = 0;
        for (int64_t j = 0; j < a.length; ++j)
            before += goes_before(measure, j, i);
        ranks.rank[task] = before;
    }));
    return lh_each(launch, tokens, [=] __device__(int64_t task) {
        const int64_t i = task % a.length;
        const int32_t *rank = ranks.rank + (task - i);
        int64_t place = 0;
        if (rank[i] >= a.top) return;
        for (int64_t j = 0; j < i; ++j)
            place += rank[j] < a.top;
        chosen[task / a.length * a.top + place] = (int32_t)i;
    });
}

/* ---- forward ---- */

/* What the tokens get that were not chosen. */
static inline lh_status fill_rest(const lh_launch *launch,
                                  const lh_prob_attention_forward_args &args, ranking ranks) {
    const lh_prob_attention_forward_args f = args;
    const lh_prob_attention_spec a = f.spec;
    return lh_each(launch, a.batch * a.heads * a.head_width, [=] __device__(int64_t task) {
        const int64_t d = task % a.head_width, head = task / a.head_width % a.heads;
        const int64_t batch = task / a.head_width / a.heads;
        const int32_t *rank = ranks.rank + (batch * a.heads + head) * a.length;
        real total = 0;
        for (int64_t j = 0; j < a.length; ++j) {
            total += lh_head_row(f.v, batch, head, j)[d];
            if (a.causal && rank[j] >= a.top) lh_head_row(f.out, batch, head, j)[d] = total;
        }
        for (int64_t j = 0; !a.causal && j < a.length; ++j)
            if (rank[j] >= a.top) lh_head_row(f.out, batch, head, j)[d] = total / (real)a.length;
    });
}

static inline lh_status attend_chosen(const lh_launch *launch,
                                      const lh_prob_attention_forward_args &args) {
    const lh_prob_attention_forward_args f = args;
    const lh_prob_attention_spec a = f.spec;
    return lh_each_row(launch, a.batch * a.heads * a.top, [=] __device__(int64_t task, int lane) {
        const int64_t head = task / a.top % a.heads, batch = task / a.top / a.heads;
        const int64_t i = f.chosen[task];
        const real *q = lh_head_row(f.q, batch, head, i);
        real *out = lh_head_row(f.out, batch, head, i);
        real most = -INFINITY, sum = 0, mixed[LH_HEAD_PARTS] = {0};
        for (int64_t j = 0; j < keys_seen_by(a, i); ++j) {
            const real score =
                a.scale * warp_dot(q, lh_head_row(f.k, batch, head, j), a.head_width, lane);
            const real top = lh_larger(score, most);
            if (top == -INFINITY) continue; /* nothing so far */
            const real kept = most == -INFINITY ? 0 : expf(most - top), weight = expf(score - top);
            const real *v = lh_head_row(f.v, batch, head, j);
            sum = sum * kept + weight;
            for (int p = 0; p < LH_HEAD_PARTS && p * LH_WARP + lane < a.head_width; ++p)
                mixed[p] = mixed[p] * kept + weight * v[p * LH_WARP + lane];
            most = top;
        }
        for (int p = 0; p < LH_HEAD_PARTS && p * LH_WARP + lane < a.head_width; ++p)
            out[p * LH_WARP + lane] = sum == 0 ? 0 : mixed[p] / sum;
        if (lane == 0) f.lse[task] = most + logf(sum);
    });
}

size_t lh_cuda_prob_attention_forward_workspace(const lh_prob_attention_forward_args *args) {
    return ranking_elements(&args->spec) * (sizeof(real) + sizeof(int32_t));
}

lh_status lh_cuda_prob_attention_forward(const lh_launch *launch,
                                         const lh_prob_attention_forward_args *args) {
    if (!lh_head_fits(args->spec.head_width)) return LH_ESHAPE;
    if (args->spec.head_width == 0) return LH_OK;
    real *measure = (real *)launch->workspace;
    const ranking ranks = {measure, (int32_t *)(measure + ranking_elements(&args->spec))};
    LH_CUDA_TRY(measure_tokens(launch, *args, ranks.measure));
    LH_CUDA_TRY(choose_tokens(launch, *args, ranks));
    LH_CUDA_TRY(fill_rest(launch, *args, ranks));
    return attend_chosen(launch, *args);
}

/* ---- backward ---- */

/* What a chosen query and a key have to do with each other: weight and gradient of the score. */
typedef struct bond {
    real weight, slope;
} bond;

__device__ static inline bond bond_of(const lh_prob_attention_backward_args &b, int64_t batch,
                                      int64_t head, int64_t i, int64_t j, real lse, real delta,
                                      int lane) {
    const int64_t width = b.spec.head_width;
    const real score = b.spec.scale * warp_dot(lh_head_row(b.q, batch, head, i),
                                               lh_head_row(b.k, batch, head, j), width, lane);
    const real value = warp_dot(lh_head_row(b.dout, batch, head, i),
                                lh_head_row(b.v, batch, head, j), width, lane);
    const real weight = lse == -INFINITY ? 0 : expf(score - lse);
    return {weight, b.spec.scale * weight * (value - delta)};
}

/* delta[b][h][n] = dout . out of the chosen queries. */
static inline lh_status find_deltas(const lh_launch *launch,
                                    const lh_prob_attention_backward_args &args, real *delta) {
    const lh_prob_attention_backward_args b = args;
    const lh_prob_attention_spec a = b.spec;
    return lh_each_row(launch, a.batch * a.heads * a.top, [=] __device__(int64_t task, int lane) {
        const int64_t head = task / a.top % a.heads, batch = task / a.top / a.heads;
        const int64_t i = b.chosen[task];
        const real sum = warp_dot(lh_head_row(b.dout, batch, head, i),
                                  lh_head_row(b.out, batch, head, i), a.head_width, lane);
        if (lane == 0) delta[task] = sum;
    });
}

static inline lh_status clear_queries(const lh_launch *launch,
                                      const lh_prob_attention_backward_args &args) {
    const lh_prob_attention_backward_args b = args;
    const lh_prob_attention_spec a = b.spec;
    return lh_each_row(launch, a.batch * a.heads * a.length,
                       [=] __device__(int64_t task, int lane) {
                           const int64_t head = task / a.length % a.heads;
                           const int64_t batch = task / a.length / a.heads;
                           real *dq = lh_head_row(b.dq, batch, head, task % a.length);
                           for (int64_t d = lane; d < a.head_width; d += LH_WARP)
                               dq[d] = 0;
                       });
}

static inline lh_status differentiate_queries(const lh_launch *launch,
                                              const lh_prob_attention_backward_args &args,
                                              const real *delta) {
    const lh_prob_attention_backward_args b = args;
    const lh_prob_attention_spec a = b.spec;
    if (b.dq_write == LH_SET) LH_CUDA_TRY(clear_queries(launch, args));
    return lh_each_row(launch, a.batch * a.heads * a.top, [=] __device__(int64_t task, int lane) {
        const int64_t head = task / a.top % a.heads, batch = task / a.top / a.heads;
        const int64_t i = b.chosen[task];
        real sum[LH_HEAD_PARTS] = {0};
        for (int64_t j = 0; j < keys_seen_by(a, i); ++j) {
            const bond at = bond_of(b, batch, head, i, j, b.lse[task], delta[task], lane);
            const real *k = lh_head_row(b.k, batch, head, j);
            for (int p = 0; p < LH_HEAD_PARTS && p * LH_WARP + lane < a.head_width; ++p)
                sum[p] += at.slope * k[p * LH_WARP + lane];
        }
        real *dq = lh_head_row(b.dq, batch, head, i);
        for (int p = 0; p < LH_HEAD_PARTS && p * LH_WARP + lane < a.head_width; ++p)
            lh_store(&dq[p * LH_WARP + lane], LH_ADD, sum[p]);
    });
}

/* dk and dv from the chosen queries. */
static inline lh_status differentiate_keys(const lh_launch *launch,
                                           const lh_prob_attention_backward_args &args,
                                           const real *delta) {
    const lh_prob_attention_backward_args b = args;
    const lh_prob_attention_spec a = b.spec;
    return lh_each_row(
        launch, a.batch * a.heads * a.length, [=] __device__(int64_t task, int lane) {
            const int64_t j = task % a.length, head = task / a.length % a.heads;
            const int64_t batch = task / a.length / a.heads;
            const int64_t first = (batch * a.heads + head) * a.top;
            real dk[LH_HEAD_PARTS] = {0}, dv[LH_HEAD_PARTS] = {0};
            for (int64_t n = first; n < first + a.top; ++n) {
                const int64_t i = b.chosen[n];
                if (j >= keys_seen_by(a, i)) continue;
                const bond at = bond_of(b, batch, head, i, j, b.lse[n], delta[n], lane);
                const real *q = lh_head_row(b.q, batch, head, i);
                const real *dout = lh_head_row(b.dout, batch, head, i);
                for (int p = 0; p < LH_HEAD_PARTS && p * LH_WARP + lane < a.head_width; ++p) {
                    dk[p] += at.slope * q[p * LH_WARP + lane];
                    dv[p] += at.weight * dout[p * LH_WARP + lane];
                }
            }
            for (int p = 0; p < LH_HEAD_PARTS && p * LH_WARP + lane < a.head_width; ++p) {
                const int64_t d = p * LH_WARP + lane;
                if (b.dk.act.data != NULL)
                    lh_store(&lh_head_row(b.dk, batch, head, j)[d], b.dk_write, dk[p]);
                if (b.dv.act.data != NULL)
                    lh_store(&lh_head_row(b.dv, batch, head, j)[d], b.dv_write, dv[p]);
            }
        });
}

/* dv from the queries that were not chosen. */
static inline lh_status differentiate_rest(const lh_launch *launch,
                                           const lh_prob_attention_backward_args &args) {
    const lh_prob_attention_backward_args b = args;
    const lh_prob_attention_spec a = b.spec;
    return lh_each(launch, a.batch * a.heads * a.head_width, [=] __device__(int64_t task) {
        const int64_t d = task % a.head_width, head = task / a.head_width % a.heads;
        const int64_t batch = task / a.head_width / a.heads;
        const int32_t *chosen = b.chosen + (batch * a.heads + head) * a.top;
        int64_t n = a.top - 1;
        real total = 0;
        for (int64_t j = a.length - 1; j >= 0; --j) {
            const bool was_chosen = n >= 0 && chosen[n] == j;
            if (was_chosen) --n;
            if (!was_chosen) total += lh_head_row(b.dout, batch, head, j)[d];
            if (a.causal) lh_store(&lh_head_row(b.dv, batch, head, j)[d], LH_ADD, total);
        }
        for (int64_t j = 0; !a.causal && j < a.length; ++j)
            lh_store(&lh_head_row(b.dv, batch, head, j)[d], LH_ADD, total / (real)a.length);
    });
}

size_t lh_cuda_prob_attention_backward_workspace(const lh_prob_attention_backward_args *args) {
    const lh_prob_attention_spec *a = &args->spec;
    return (size_t)(a->batch * a->heads * a->top) * sizeof(real);
}

lh_status lh_cuda_prob_attention_backward(const lh_launch *launch,
                                          const lh_prob_attention_backward_args *args) {
    if (!lh_head_fits(args->spec.head_width)) return LH_ESHAPE;
    if (args->spec.head_width == 0) return LH_OK;
    real *delta = (real *)launch->workspace;
    LH_CUDA_TRY(find_deltas(launch, *args, delta));
    if (args->dq.act.data != NULL) LH_CUDA_TRY(differentiate_queries(launch, *args, delta));
    if (args->dk.act.data != NULL || args->dv.act.data != NULL)
        LH_CUDA_TRY(differentiate_keys(launch, *args, delta));
    return args->dv.act.data != NULL ? differentiate_rest(launch, *args) : LH_OK;
}
