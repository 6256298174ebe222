/* Recurrence encoding. A head of a batch row is scanned along time; a dilation of d makes d scans,
 * one for each remainder. The state is one row of values (two when cyclical), so the inner loops
 * run along head_width. The transpose of P, for dv, is the same scan against time. */
#include "kernels/cpu/act.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"
#include "kernels/rem_factor.h"

/* Columns of a head that are scanned together: the state stays in the first-level cache. */
enum { PANEL = 64 };

static const real nothing[PANEL];

/* Tokens [begin, end) of the axis of positions, the first at `data`. */
typedef struct piece {
    int64_t begin, end, stride;
    real *data;
} piece;

/* What a head of a batch row has along the axis. */
typedef struct line {
    int64_t begin, end;
    int count;
    piece piece[LH_KEY_SOURCES];
} line;

static real *head_of(const lh_heads *view, int64_t batch, int64_t head) {
    return lh_as_reals(view->act) + batch * view->batch_stride + head * view->head_stride;
}

static void add_piece(line *to, int64_t first, int64_t count, const lh_heads *view, int64_t batch,
                      int64_t head) {
    if (count <= 0) return;
    to->begin = to->count == 0 ? first : lh_min(to->begin, first);
    to->end = to->count == 0 ? first + count : lh_max(to->end, first + count);
    to->piece[to->count++] = (piece){.begin = first,
                                     .end = first + count,
                                     .stride = view->token_stride,
                                     .data = head_of(view, batch, head)};
}

static real *row_at(const line *from, int64_t position) {
    if (position < from->begin || position >= from->end) return NULL;
    for (int i = 0; i < from->count; ++i) {
        const piece *p = &from->piece[i];
        if (position >= p->begin && position < p->end)
            return p->data + (position - p->begin) * p->stride;
    }
    return NULL;
}

static line query_line(const lh_rem_spec *spec, const lh_heads *view, int64_t batch, int64_t head) {
    line made = {.count = 0};
    add_piece(&made, 0, spec->queries, view, batch, head);
    return made;
}

static int64_t filled_count(const lh_key_source *source, int64_t batch) {
    return source->filled == NULL ? source->count
                                  : lh_max(0, lh_min(source->count, source->filled[batch]));
}

/* The values, or with `gradients` where dv goes. */
static line value_line(const lh_rem_spec *spec, int64_t batch, int64_t head, bool gradients) {
    line made = {.count = 0};
    for (int i = 0; i < spec->source_count; ++i) {
        const lh_key_source *source = &spec->source[i];
        const lh_heads *view = gradients ? &source->dv : &source->v;
        if (source->everywhere || view->act.data == NULL) continue;
        add_piece(&made, source->first, filled_count(source, batch), view, batch, head);
    }
    return made;
}

/* ---- One step of a scan ---- */

/* y and its derivative by w. */
typedef struct state {
    real re[PANEL], im[PANEL];
    real slope_re[PANEL], slope_im[PANEL];
} state;

/* y = w (y + v) for lambda, or for a complex w; with `slope` the derivative, too. */
LH_SPECIALIZED void advance(state *s, const lh_rem_factor *f, const real *v, int64_t count,
                            bool cyclical, bool slope) {
    const real re = (real)f->w.re, im = (real)f->w.im;
#pragma omp simd
    for (int64_t e = 0; e < count; ++e) {
        const real x = s->re[e] + v[e], y = cyclical ? s->im[e] : 0;
        if (slope) {
            const real a = s->slope_re[e], b = cyclical ? s->slope_im[e] : 0;
            s->slope_re[e] = cyclical ? re * a - im * b + x : re * a + x;
            if (cyclical) s->slope_im[e] = re * b + im * a + y;
        }
        s->re[e] = cyclical ? re * x - im * y : re * x;
        if (cyclical) s->im[e] = re * y + im * x;
    }
}

/* Takes out what has passed the cutoff. */
LH_SPECIALIZED void expire(state *s, const lh_rem_factor *f, const real *v, int64_t count,
                           bool cyclical, bool slope) {
    const real re = (real)f->end.re, im = (real)f->end.im;
    const real slope_re = (real)f->end_derivative.re, slope_im = (real)f->end_derivative.im;
#pragma omp simd
    for (int64_t e = 0; e < count; ++e) {
        s->re[e] -= re * v[e];
        if (cyclical) s->im[e] -= im * v[e];
        if (slope) s->slope_re[e] -= slope_re * v[e];
        if (slope && cyclical) s->slope_im[e] -= slope_im * v[e];
    }
}

/* ---- What becomes of y at a position ---- */

/* Sums over the rows of a head: of dout y, and of dout times the derivative of y. A few rows are
 * summed by column, then all joins the totals. */
enum { PENDING = 32 };

typedef struct sums {
    int rows;
    real value[PANEL], slope_re[PANEL], slope_im[PANEL];
    double total;
    lh_complex slope;
} sums;

static double take(real *x) {
    double sum = 0;
    for (int e = 0; e < PANEL; ++e) {
        sum += (double)x[e];
        x[e] = 0;
    }
    return sum;
}

static void settle(sums *s) {
    s->total += take(s->value);
    s->slope.re += take(s->slope_re);
    s->slope.im += take(s->slope_im);
    s->rows = 0;
}

static void add_scaled(int64_t count, real factor, const real *y, real *to) {
#pragma omp simd
    for (int64_t e = 0; e < count; ++e)
        to[e] += factor * y[e];
}

static void add_products(int64_t count, const real *dout, const real *x, real *sum) {
#pragma omp simd
    for (int64_t e = 0; e < count; ++e)
        sum[e] += dout[e] * x[e];
}

/* A scan of columns [column, column + count) of one head: y is added to `to`, or with `sums` it
 * meets dout, which then lies in `to`. */
typedef struct scan {
    const lh_rem_head *head;
    const lh_rem_factor *factor;
    const line *from, *to;
    int64_t column, count;
    int direction; /* 1: along time, -1: against it */
    real gate;
    sums *sums;
} scan;

static void emit(const scan *run, const state *s, real *row) {
    const bool sine = run->head->kind == LH_REM_SINE;
    const real *y = sine ? s->im : s->re;
    if (run->sums == NULL) {
        add_scaled(run->count, run->gate, y, row + run->column);
        return;
    }
    add_products(run->count, row + run->column, y, run->sums->value);
    add_products(run->count, row + run->column, s->slope_re, run->sums->slope_re);
    if (run->head->kind != LH_REM_REGULAR)
        add_products(run->count, row + run->column, s->slope_im, run->sums->slope_im);
    if (++run->sums->rows == PENDING) settle(run->sums);
}

LH_SPECIALIZED void step(const scan *run, const line *from, state *s, int64_t position,
                         bool cyclical, bool slope) {
    const int64_t stride = run->direction * run->head->dilation;
    const real *enters = row_at(from, position - stride);
    const real *leaves =
        run->factor->cut ? row_at(from, position - (run->factor->reach + 1) * stride) : NULL;
    advance(s, run->factor, enters != NULL ? enters + run->column : nothing, run->count, cyclical,
            slope);
    if (leaves != NULL) expire(s, run->factor, leaves + run->column, run->count, cyclical, slope);
    real *row = row_at(run->to, position);
    if (row != NULL) emit(run, s, row);
}

/* How far an output sees. */
static int64_t reach_of(const scan *run) {
    return run->factor->reach * run->head->dilation;
}

/* The part of the values that the outputs can see: what lies too far back is never taken in. */
static line within_reach(const scan *run) {
    const int64_t reach = reach_of(run);
    line from = *run->from;
    if (run->direction > 0) {
        from.begin = lh_max(from.begin, run->to->begin - reach);
    } else {
        from.end = lh_min(from.end, run->to->end + reach);
    }
    return from;
}

LH_SPECIALIZED void scan_remainders(const scan *run, bool cyclical, bool slope) {
    const line from = within_reach(run);
    const int64_t stride = run->direction * run->head->dilation;
    const int64_t tokens = from.end - from.begin;
    const int64_t reach = reach_of(run);
    const int64_t last = run->direction > 0 ? lh_min(run->to->end, from.end + reach) - 1
                                            : lh_max(run->to->begin, from.begin - reach);
    for (int64_t r = 0; r < lh_min(run->head->dilation, tokens); ++r) {
        const int64_t first = run->direction > 0 ? from.begin + r : from.end - 1 - r;
        const int64_t steps = (last - first) * run->direction / run->head->dilation;
        state s = {.re = {0}};
        for (int64_t n = 1; n <= steps; ++n)
            step(run, &from, &s, first + n * stride, cyclical, slope);
    }
}

static void run_scan(const scan *run) {
    if (run->head->cutoff < 1 || run->from->count == 0 || run->to->count == 0) return;
    const bool cyclical = run->head->kind != LH_REM_REGULAR;
    if (run->sums != NULL) {
        if (cyclical) {
            scan_remainders(run, true, true);
        } else {
            scan_remainders(run, false, true);
        }
    } else if (cyclical) {
        scan_remainders(run, true, false);
    } else {
        scan_remainders(run, false, false);
    }
}

/* ---- Forward ---- */

/* Rows of one head: to = factor * from (+ to). */
static void scale_rows(int64_t tokens, int64_t width, real factor, const real *from,
                       int64_t from_stride, real *to, int64_t to_stride, lh_write write) {
    for (int64_t t = 0; t < tokens; ++t) {
        const real *x = from + t * from_stride;
        real *y = to + t * to_stride;
#pragma omp simd
        for (int64_t e = 0; e < width; ++e)
            y[e] = factor * x[e] + (write == LH_ADD ? y[e] : 0);
    }
}

/* Scans every column panel, both ways if the spec says so, against time first when `transposed`. */
static void scan_panels(const lh_rem_spec *spec, scan work, bool transposed) {
    for (work.column = 0; work.column < spec->head_width; work.column += PANEL) {
        work.count = lh_min(PANEL, spec->head_width - work.column);
        work.direction = transposed ? -1 : 1;
        run_scan(&work);
        work.direction = -work.direction;
        if (spec->both_ways) run_scan(&work);
    }
}

static void forward_head(const lh_rem_forward_args *args, int64_t batch, int64_t head) {
    const lh_rem_spec *spec = &args->spec;
    const bool encoded = head < spec->encoded;
    const real gate = encoded ? (real)lh_rem_gate((double)spec->mu[0]) : 0;
    scale_rows(spec->queries, spec->head_width, 1 - gate, head_of(&args->attention, batch, head),
               args->attention.token_stride, head_of(&args->out, batch, head),
               args->out.token_stride, LH_SET);
    if (!encoded) return;
    const lh_rem_factor factor = lh_rem_factor_of(spec, &spec->head[head]);
    const line from = value_line(spec, batch, head, false);
    const line to = query_line(spec, &args->out, batch, head);
    scan_panels(
        spec,
        (scan){
            .head = &spec->head[head], .factor = &factor, .from = &from, .to = &to, .gate = gate},
        false);
}

/* Whether the work is worth a parallel region. */
static bool is_large(const lh_rem_spec *spec) {
    return spec->batch * spec->heads * spec->queries * spec->head_width > 4 * LH_CHUNK;
}

lh_status lh_cpu_rem_forward(const lh_launch *launch, const lh_rem_forward_args *args) {
    (void)launch;
    const int64_t heads = args->spec.heads, tasks = args->spec.batch * heads;
#pragma omp parallel for schedule(dynamic) if (is_large(&args->spec))
    for (int64_t task = 0; task < tasks; ++task)
        forward_head(args, task / heads, task % heads);
    return LH_OK;
}

/* ---- Backward ---- */

/* What one head of one batch row adds to the gradients of the parameters. */
typedef struct share {
    double mu, decay, angle;
} share;

size_t lh_cpu_rem_backward_workspace(const lh_rem_backward_args *args) {
    return (size_t)(args->spec.batch * args->spec.encoded) * sizeof(share);
}

/* sum of dout attention over the rows of a head. */
static double attention_sum(const lh_rem_backward_args *args, int64_t batch, int64_t head) {
    const lh_rem_spec *spec = &args->spec;
    const real *attention = head_of(&args->attention, batch, head);
    const real *dout = head_of(&args->dout, batch, head);
    double sum = 0;
    for (int64_t t = 0; t < spec->queries; ++t) {
        const real *a = attention + t * args->attention.token_stride;
        const real *d = dout + t * args->dout.token_stride;
#pragma omp simd reduction(+ : sum)
        for (int64_t e = 0; e < spec->head_width; ++e)
            sum += (double)a[e] * (double)d[e];
    }
    return sum;
}

static share parameter_share(const lh_rem_backward_args *args, const lh_rem_factor *factor,
                             const line *dout, int64_t batch, int64_t head) {
    const lh_rem_spec *spec = &args->spec;
    const double gate = lh_rem_gate((double)spec->mu[0]);
    const line from = value_line(spec, batch, head, false);
    sums dots = {.rows = 0};
    scan_panels(
        spec,
        (scan){
            .head = &spec->head[head], .factor = factor, .from = &from, .to = dout, .sums = &dots},
        false);
    settle(&dots);
    const lh_rem_slope slope = lh_rem_slope_of(spec->head[head].kind, factor, dots.slope);
    const double apart = dots.total - attention_sum(args, batch, head);
    return (share){gate * (1 - gate) * apart, gate * slope.decay, gate * slope.angle};
}

/* dv of one head, of rows that are not filled too: 0. */
static void clear_values(const lh_rem_spec *spec, int64_t batch, int64_t head) {
    for (int i = 0; i < spec->source_count; ++i) {
        const lh_key_source *source = &spec->source[i];
        if (source->dv.act.data == NULL || source->write == LH_ADD) continue;
        real *rows = head_of(&source->dv, batch, head);
        for (int64_t t = 0; t < source->count; ++t) {
            for (int64_t e = 0; e < spec->head_width; ++e)
                rows[t * source->dv.token_stride + e] = 0;
        }
    }
}

static void value_gradient(const lh_rem_spec *spec, const lh_rem_factor *factor, const line *dout,
                           int64_t batch, int64_t head) {
    const line to = value_line(spec, batch, head, true);
    const real gate = (real)lh_rem_gate((double)spec->mu[0]);
    scan_panels(
        spec,
        (scan){.head = &spec->head[head], .factor = factor, .from = dout, .to = &to, .gate = gate},
        true);
}

static void backward_head(const lh_rem_backward_args *args, int64_t batch, int64_t head,
                          share *shares) {
    const lh_rem_spec *spec = &args->spec;
    const bool encoded = head < spec->encoded;
    const real gate = encoded ? (real)lh_rem_gate((double)spec->mu[0]) : 0;
    if (args->dattention.act.data != NULL)
        scale_rows(spec->queries, spec->head_width, 1 - gate, head_of(&args->dout, batch, head),
                   args->dout.token_stride, head_of(&args->dattention, batch, head),
                   args->dattention.token_stride, args->dattention_write);
    clear_values(spec, batch, head);
    if (!encoded) return;
    const lh_rem_factor factor = lh_rem_factor_of(spec, &spec->head[head]);
    const line dout = query_line(spec, &args->dout, batch, head);
    value_gradient(spec, &factor, &dout, batch, head);
    shares[batch * spec->encoded + head] = parameter_share(args, &factor, &dout, batch, head);
}

static void put(real *to, lh_write write, double value) {
    if (to != NULL) *to = (real)(value + (write == LH_ADD ? (double)*to : 0));
}

/* Entry `entry` of eta, nu or theta gets what all heads that read it add. */
static double entry_sum(const lh_rem_spec *spec, const share *shares, bool regular, bool angle,
                        int32_t entry) {
    double sum = 0;
    for (int head = 0; head < spec->encoded; ++head) {
        const lh_rem_head *h = &spec->head[head];
        if ((h->kind == LH_REM_REGULAR) != regular || (angle ? h->angle : h->decay) != entry)
            continue;
        for (int64_t b = 0; b < spec->batch; ++b) {
            const share *s = &shares[b * spec->encoded + head];
            sum += angle ? s->angle : s->decay;
        }
    }
    return sum;
}

lh_status lh_cpu_rem_backward(const lh_launch *launch, const lh_rem_backward_args *args) {
    const lh_rem_spec *spec = &args->spec;
    const int64_t tasks = spec->batch * spec->heads;
    share *shares = launch->workspace;
#pragma omp parallel for schedule(dynamic) if (is_large(spec))
    for (int64_t task = 0; task < tasks; ++task)
        backward_head(args, task / spec->heads, task % spec->heads, shares);
    for (int32_t i = 0; i < spec->eta_count && args->deta != NULL; ++i)
        put(&args->deta[i], args->deta_write, entry_sum(spec, shares, true, false, i));
    for (int32_t i = 0; i < spec->nu_count && args->dnu != NULL; ++i)
        put(&args->dnu[i], args->dnu_write, entry_sum(spec, shares, false, false, i));
    for (int32_t i = 0; i < spec->theta_count && args->dtheta != NULL; ++i)
        put(&args->dtheta[i], args->dtheta_write, entry_sum(spec, shares, false, true, i));
    double mu = 0;
    for (int64_t i = 0; i < spec->batch * spec->encoded; ++i)
        mu += shares[i].mu;
    put(args->dmu, args->dmu_write, mu);
    return LH_OK;
}
