/* Recurrence encoding: a thread scans one column of one head for one remainder of its dilation, so
 * neighbours read neighbouring columns. */
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/warp.cuh"
#include "kernels/rem_factor.h"

/* One column: [head of a batch row][remainder][column]. */
typedef struct lh_rem_column {
    int64_t batch, head, remainder, column;
} lh_rem_column;

static int64_t most_remainders(const lh_rem_spec &spec) {
    int64_t most = 1;
    for (int h = 0; h < spec.encoded; ++h)
        most = lh_max(most, spec.head[h].dilation);
    return most;
}

__device__ static inline lh_rem_column lh_rem_column_of(const lh_rem_spec &spec, int64_t remainders,
                                                        int64_t i) {
    const int64_t row = i / spec.head_width / remainders;
    return {row / spec.encoded, row % spec.encoded, i / spec.head_width % remainders,
            i % spec.head_width};
}

__device__ static inline real *lh_rem_at(const lh_heads &view, const lh_rem_column &c,
                                         int64_t token) {
    return lh_elements<real>(view.act) + c.batch * view.batch_stride + token * view.token_stride +
           c.head * view.head_stride + c.column;
}

__device__ static inline int64_t lh_rem_filled(const lh_key_source &source, int64_t batch) {
    return source.filled == NULL ? source.count
                                 : lh_max(0, lh_min(source.count, source.filled[batch]));
}

/* ---- The axis that queries and keys share, as one column sees it ---- */

typedef struct lh_rem_queries {
    lh_heads view;
    int64_t count;
    lh_rem_column column;

    __device__ int64_t begin() const {
        return 0;
    }
    __device__ int64_t end() const {
        return count;
    }
    __device__ real *at(int64_t position) const {
        return position >= 0 && position < count ? lh_rem_at(view, column, position) : NULL;
    }
} lh_rem_queries;

/* Values, or with `gradients` where dv goes. */
typedef struct lh_rem_keys {
    const lh_rem_spec *spec;
    bool gradients;
    lh_rem_column column;

    __device__ bool has(int i) const {
        const lh_key_source &source = spec->source[i];
        return !source.everywhere && (!gradients || source.dv.act.data != NULL) &&
               lh_rem_filled(source, column.batch) > 0;
    }
    __device__ int64_t begin() const {
        int64_t first = LH_FAR;
        for (int i = 0; i < spec->source_count; ++i)
            if (has(i)) first = lh_min(first, spec->source[i].first);
        return first;
    }
    __device__ int64_t end() const {
        int64_t last = -LH_FAR;
        for (int i = 0; i < spec->source_count; ++i)
            if (has(i))
                last = lh_max(last,
                              spec->source[i].first + lh_rem_filled(spec->source[i], column.batch));
        return last;
    }
    __device__ real *at(int64_t position) const {
        for (int i = 0; i < spec->source_count; ++i) {
            const lh_key_source &source = spec->source[i];
            const int64_t key = position - source.first;
            if (has(i) && key >= 0 && key < lh_rem_filled(source, column.batch))
                return lh_rem_at(gradients ? source.dv : source.v, column, key);
        }
        return NULL;
    }
} lh_rem_keys;

/* ---- The scan ---- */

typedef struct lh_rem_state {
    real re, im, slope_re, slope_im;
} lh_rem_state;

__device__ static inline void lh_rem_advance(lh_rem_state &s, const lh_rem_factor &f, real enters,
                                             real leaves) {
    const real re = (real)f.w.re, im = (real)f.w.im, x = s.re + enters, y = s.im;
    const real slope = s.slope_re;
    s.slope_re = re * slope - im * s.slope_im + x - (real)f.end_derivative.re * leaves;
    s.slope_im = re * s.slope_im + im * slope + y - (real)f.end_derivative.im * leaves;
    s.re = re * x - im * y - (real)f.end.re * leaves;
    s.im = re * y + im * x - (real)f.end.im * leaves;
}

/* Not negative. */
__device__ static inline int64_t lh_rem_modulo(int64_t a, int64_t b) {
    return (a % b + b) % b;
}

/* Calls body(state, row) at the positions of `to` whose remainder this is: of either direction the
 * same ones, so that a row has one thread. */
template <typename source, typename target, typename work>
__device__ static inline void lh_rem_scan(const lh_rem_head &head, const lh_rem_factor &factor,
                                          const source &from, const target &to, int64_t remainder,
                                          bool forwards, work body) {
    const int64_t reach = factor.reach * head.dilation;
    const int64_t begin = forwards ? lh_max(from.begin(), to.begin() - reach) : from.begin();
    const int64_t end = forwards ? from.end() : lh_min(from.end(), to.end() + reach);
    const int64_t stride = forwards ? head.dilation : -head.dilation;
    const int64_t first = forwards ? begin + lh_rem_modulo(remainder - begin, head.dilation)
                                   : end - 1 - lh_rem_modulo(end - 1 - remainder, head.dilation);
    const int64_t last =
        forwards ? lh_min(to.end(), end + reach) - 1 : lh_max(to.begin(), begin - reach);
    if (head.cutoff < 1 || begin >= end) return;
    lh_rem_state s = {0, 0, 0, 0};
    for (int64_t p = first + stride; forwards ? p <= last : p >= last; p += stride) {
        const int64_t gone = p - (factor.reach + 1) * stride;
        const real *enters = p - stride >= begin && p - stride < end ? from.at(p - stride) : NULL;
        const bool leaving = factor.cut && gone >= begin && gone < end;
        const real *leaves = leaving ? from.at(gone) : NULL;
        lh_rem_advance(s, factor, enters != NULL ? *enters : 0, leaves != NULL ? *leaves : 0);
        real *row = to.at(p);
        if (row != NULL) body(s, row);
    }
}

/* The scan along time, or against it when `transposed`, and with both_ways the other one. */
template <typename source, typename target, typename work>
__device__ static inline void lh_rem_scans(const lh_rem_spec &spec, const lh_rem_factor &factor,
                                           const source &from, const target &to, bool transposed,
                                           work body) {
    const lh_rem_column &column = from.column;
    const lh_rem_head &head = spec.head[column.head];
    if (column.remainder >= head.dilation) return;
    lh_rem_scan(head, factor, from, to, column.remainder, !transposed, body);
    if (spec.both_ways) lh_rem_scan(head, factor, from, to, column.remainder, transposed, body);
}

__device__ static inline real lh_rem_value(const lh_rem_state &s, lh_rem_kind kind) {
    return kind == LH_REM_SINE ? s.im : s.re;
}

/* ---- Forward ---- */

/* to (+)= (1 - g) from for heads that are encoded, else from. */
static lh_status keep_rest(const lh_launch *launch, const lh_rem_spec &of, const lh_heads &from,
                           const lh_heads &to, lh_write write) {
    const lh_rem_spec spec = of;
    const int64_t count = spec.batch * spec.queries * spec.heads * spec.head_width;
    return lh_each(launch, count, [=] __device__(int64_t i) {
        const int64_t row = i / spec.head_width, token = row / spec.heads % spec.queries;
        const lh_rem_column c = {row / spec.heads / spec.queries, row % spec.heads, 0,
                                 i % spec.head_width};
        const real gate = c.head < spec.encoded ? (real)lh_rem_gate((double)spec.mu[0]) : 0;
        lh_store(lh_rem_at(to, c, token), write, (1 - gate) * *lh_rem_at(from, c, token));
    });
}

lh_status lh_cuda_rem_forward(const lh_launch *launch, const lh_rem_forward_args *args) {
    const lh_rem_forward_args a = *args;
    LH_CUDA_TRY(keep_rest(launch, a.spec, a.attention, a.out, LH_SET));
    const int64_t remainders = most_remainders(a.spec);
    const int64_t columns = a.spec.batch * a.spec.encoded * remainders * a.spec.head_width;
    return lh_each(launch, columns, [=] __device__(int64_t i) {
        const lh_rem_column column = lh_rem_column_of(a.spec, remainders, i);
        const lh_rem_head &head = a.spec.head[column.head];
        const lh_rem_factor factor = lh_rem_factor_of(&a.spec, &head);
        const real gate = (real)lh_rem_gate((double)a.spec.mu[0]);
        const lh_rem_keys from = {&a.spec, false, column};
        const lh_rem_queries to = {a.out, a.spec.queries, column};
        lh_rem_scans(a.spec, factor, from, to, false, [=](const lh_rem_state &s, real *row) {
            *row += gate * lh_rem_value(s, head.kind);
        });
    });
}

/* ---- Backward ---- */

/* Of one column, and then of one head of a batch row: gradients of mu, decay and angle. */
typedef struct lh_rem_share {
    double mu, decay, angle;
} lh_rem_share;

static int64_t head_columns(const lh_rem_spec &spec) {
    return most_remainders(spec) * spec.head_width;
}

size_t lh_cuda_rem_backward_workspace(const lh_rem_backward_args *args) {
    const int64_t heads = args->spec.batch * args->spec.encoded;
    return (size_t)(heads * (head_columns(args->spec) + 1)) * sizeof(lh_rem_share);
}

static lh_status clear_values(const lh_launch *launch, const lh_rem_spec &of) {
    const lh_rem_spec spec = of;
    for (int s = 0; s < spec.source_count; ++s) {
        const lh_key_source source = spec.source[s];
        if (source.dv.act.data == NULL || source.write == LH_ADD) continue;
        const int64_t count = spec.batch * source.count * spec.heads * spec.head_width;
        LH_CUDA_TRY(lh_each(launch, count, [=] __device__(int64_t i) {
            const int64_t row = i / spec.head_width, token = row / spec.heads % source.count;
            const lh_rem_column c = {row / spec.heads / source.count, row % spec.heads, 0,
                                     i % spec.head_width};
            *lh_rem_at(source.dv, c, token) = 0;
        }));
    }
    return LH_OK;
}

static lh_status value_gradients(const lh_launch *launch, const lh_rem_backward_args &args) {
    const lh_rem_backward_args a = args;
    const int64_t remainders = most_remainders(a.spec);
    const int64_t columns = a.spec.batch * a.spec.encoded * remainders * a.spec.head_width;
    LH_CUDA_TRY(clear_values(launch, a.spec));
    return lh_each(launch, columns, [=] __device__(int64_t i) {
        const lh_rem_column column = lh_rem_column_of(a.spec, remainders, i);
        const lh_rem_head &head = a.spec.head[column.head];
        const lh_rem_factor factor = lh_rem_factor_of(&a.spec, &head);
        const real gate = (real)lh_rem_gate((double)a.spec.mu[0]);
        const lh_rem_queries from = {a.dout, a.spec.queries, column};
        const lh_rem_keys to = {&a.spec, true, column};
        lh_rem_scans(a.spec, factor, from, to, true, [=](const lh_rem_state &s, real *row) {
            *row += gate * lh_rem_value(s, head.kind);
        });
    });
}

/* What one column adds to the gradients of the parameters. */
static lh_status column_shares(const lh_launch *launch, const lh_rem_backward_args &args,
                               lh_rem_share *shares) {
    const lh_rem_backward_args a = args;
    const int64_t remainders = most_remainders(a.spec);
    const int64_t columns = a.spec.batch * a.spec.encoded * remainders * a.spec.head_width;
    return lh_each(launch, columns, [=] __device__(int64_t i) {
        const lh_rem_column column = lh_rem_column_of(a.spec, remainders, i);
        const lh_rem_head &head = a.spec.head[column.head];
        const lh_rem_factor factor = lh_rem_factor_of(&a.spec, &head);
        const double gate = lh_rem_gate((double)a.spec.mu[0]);
        const lh_rem_keys from = {&a.spec, false, column};
        const lh_rem_queries to = {a.dout, a.spec.queries, column};
        double value = 0;
        lh_complex sum = {0, 0};
        lh_rem_scans(a.spec, factor, from, to, false, [&](const lh_rem_state &s, const real *row) {
            value += (double)*row * (double)lh_rem_value(s, head.kind);
            sum.re += (double)*row * (double)s.slope_re;
            sum.im += (double)*row * (double)s.slope_im;
        });
        for (int64_t t = column.remainder == 0 ? 0 : a.spec.queries; t < a.spec.queries; ++t)
            value -=
                (double)*lh_rem_at(a.attention, column, t) * (double)*lh_rem_at(a.dout, column, t);
        const lh_rem_slope slope = lh_rem_slope_of(head.kind, &factor, sum);
        shares[i] = {gate * (1 - gate) * value, gate * slope.decay, gate * slope.angle};
    });
}

/* A warp joins the columns of a head. */
static lh_status join_columns(const lh_launch *launch, int64_t heads, int64_t columns,
                              const lh_rem_share *shares, lh_rem_share *joined) {
    return lh_each_row(launch, heads, [=] __device__(int64_t head, int lane) {
        lh_rem_share sum = {0, 0, 0};
        for (int64_t c = lane; c < columns; c += LH_WARP) {
            const lh_rem_share share = shares[head * columns + c];
            sum = {sum.mu + share.mu, sum.decay + share.decay, sum.angle + share.angle};
        }
        sum = {lh_warp_sum(sum.mu), lh_warp_sum(sum.decay), lh_warp_sum(sum.angle)};
        if (lane == 0) joined[head] = sum;
    });
}

/* Gradients of a list of eta, nu or theta: each entry from all heads that read it. */
static lh_status entry_gradients(const lh_launch *launch, const lh_rem_spec &of,
                                 const lh_rem_share *joined, int32_t count, bool regular,
                                 bool angle, real *to, lh_write write) {
    const lh_rem_spec spec = of;
    if (to == NULL) return LH_OK;
    return lh_each(launch, count, [=] __device__(int64_t entry) {
        double sum = 0;
        for (int h = 0; h < spec.encoded; ++h) {
            const lh_rem_head &head = spec.head[h];
            if ((head.kind == LH_REM_REGULAR) != regular) continue;
            if ((angle ? head.angle : head.decay) != entry) continue;
            for (int64_t b = 0; b < spec.batch; ++b)
                sum +=
                    angle ? joined[b * spec.encoded + h].angle : joined[b * spec.encoded + h].decay;
        }
        lh_store(&to[entry], write, (real)sum);
    });
}

lh_status lh_cuda_rem_backward(const lh_launch *launch, const lh_rem_backward_args *args) {
    const lh_rem_backward_args a = *args;
    const lh_rem_spec &spec = a.spec;
    const int64_t heads = spec.batch * spec.encoded, columns = head_columns(spec);
    lh_rem_share *shares = (lh_rem_share *)launch->workspace, *joined = shares + heads * columns;
    if (a.dattention.act.data != NULL)
        LH_CUDA_TRY(keep_rest(launch, spec, a.dout, a.dattention, a.dattention_write));
    LH_CUDA_TRY(value_gradients(launch, a));
    LH_CUDA_TRY(column_shares(launch, a, shares));
    LH_CUDA_TRY(join_columns(launch, heads, columns, shares, joined));
    LH_CUDA_TRY(
        entry_gradients(launch, spec, joined, spec.eta_count, true, false, a.deta, a.deta_write));
    LH_CUDA_TRY(
        entry_gradients(launch, spec, joined, spec.nu_count, false, false, a.dnu, a.dnu_write));
    LH_CUDA_TRY(entry_gradients(launch, spec, joined, spec.theta_count, false, true, a.dtheta,
                                a.dtheta_write));
    real *dmu = a.dmu;
    const lh_write write = a.dmu_write;
    return lh_each(launch, dmu != NULL ? 1 : 0, [=] __device__(int64_t) {
        double sum = 0;
        for (int64_t i = 0; i < heads; ++i)
            sum += joined[i].mu;
        lh_store(dmu, write, (real)sum);
    });
}
