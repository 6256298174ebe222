/* The decaying scan: lengths round the chunks, groups, views into wider rows, no decay, weak and
 * strong decay. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, length, heads, groups, key_width, value_width;
} shape;

static const shape shapes[] = {{0, 5, 2, 1, 3, 4},    {2, 0, 2, 1, 3, 4},   {1, 1, 1, 1, 1, 1},
                               {2, 7, 4, 2, 3, 5},    {1, 63, 3, 3, 8, 1},  {2, 64, 2, 1, 1, 8},
                               {1, 65, 4, 1, 16, 17}, {1, 130, 2, 2, 5, 9}, {1, 200, 2, 1, 33, 65},
                               {1, 70, 1, 1, 66, 7}};

static const shape refused[] = {{-1, 5, 2, 1, 4, 4}, {1, -1, 2, 1, 4, 4}, {1, 5, 0, 1, 4, 4},
                                {1, 5, 2, 0, 4, 4},  {1, 5, 3, 2, 4, 4},  {1, 5, -2, 1, 4, 4},
                                {1, 5, 2, 1, 0, 4},  {1, 5, 2, 1, 4, 0}};

/* How fast states decay: log_decay is -rate times the square of a normal number. */
static const double no_decay = -1, weak = 0.01, middle = 0.5, strong = 30;

/* Dense, or a part of wider rows. */
static int64_t lay_out(lh_heads *view, const shape *w, int64_t heads, int64_t width, bool padded) {
    view->head_stride = width + (padded ? 3 : 0);
    view->token_stride = heads * view->head_stride + (padded ? 7 : 0);
    view->batch_stride = w->length * view->token_stride;
    if (w->batch == 0 || w->length == 0) return 0;
    return (w->batch - 1) * view->batch_stride + (w->length - 1) * view->token_stride +
           (heads - 1) * view->head_stride + width;
}

static int64_t states_of(const shape *w) {
    return w->batch * w->heads * w->key_width * w->value_width;
}

static lh_decay_scan_spec sizes_of(const shape *w) {
    return (lh_decay_scan_spec){.batch = w->batch,
                                .length = w->length,
                                .heads = w->heads,
                                .groups = w->groups,
                                .key_width = w->key_width,
                                .value_width = w->value_width};
}

static void add_spec(suite *s, lh_decay_scan_spec *spec, const shape *w, double rate, bool padded) {
    const int64_t decays = w->batch * w->length * w->heads;
    *spec = sizes_of(w);
    case_in(s, "q", &spec->q.act, lay_out(&spec->q, w, w->groups, w->key_width, padded));
    case_in(s, "k", &spec->k.act, lay_out(&spec->k, w, w->groups, w->key_width, padded));
    case_in(s, "v", &spec->v.act, lay_out(&spec->v, w, w->heads, w->value_width, padded));
    case_in(s, "start", &spec->start, states_of(w));
    if (rate < 0) return;
    real *decay = case_in(s, "log_decay", &spec->log_decay, decays);
    for (int64_t i = 0; i < decays; i++)
        decay[i] *= (real)-rate * decay[i];
}

static void open_case(suite *s, void *args, size_t size, const shape *w, double rate, bool padded,
                      int row) {
    case_open(s, args, size,
              "batch %" PRId64 ", length %" PRId64 ", heads %" PRId64 " in %" PRId64
              " groups, widths %" PRId64 " and %" PRId64 ", decay %g, padded %d, flags %d",
              w->batch, w->length, w->heads, w->groups, w->key_width, w->value_width, rate, padded,
              row);
}

static void forward(suite *s, shape w, double rate, bool padded) {
    lh_decay_scan_forward_args args = {.end = NULL};
    open_case(s, &args, sizeof args, &w, rate, padded, 0);
    add_spec(s, &args.spec, &w, rate, padded);
    case_out(s, "y", &args.y.act, lay_out(&args.y, &w, w.heads, w.value_width, padded), LH_SET);
    case_out(s, "end", &args.end, states_of(&w), LH_SET);
    case_flops(s, 4.0 * (double)(states_of(&w) * w.length));
    case_run(s);
}

void cases_decay_scan_forward(suite *s) {
    const double rates[] = {no_decay, weak, middle, strong};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t n = 0; n < 4; n++)
            forward(s, shapes[i], rates[n], (i + n) % 2 == 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_decay_scan_forward_args, .spec = sizes_of(&refused[i]));
    lh_decay_scan_spec spec = sizes_of(&shapes[0]);
    spec.q.act.dtype = LH_BF16;
    CASE_REFUSED(s, LH_EOPTION, lh_decay_scan_forward_args, .spec = spec);
}

void bench_decay_scan_forward(suite *s) {
    forward(s, (shape){4, 1024, 8, 1, 64, 64}, middle, false);
}

/* ---- Backward ---- */

static double backward_loss(suite *s, const void *arguments) {
    const lh_decay_scan_backward_args *args = arguments;
    const lh_decay_scan_spec *spec = &args->spec;
    const shape w = {spec->batch,  spec->length,    spec->heads,
                     spec->groups, spec->key_width, spec->value_width};
    lh_decay_scan_forward_args forward_args = {.spec = *spec, .end = scratch(states_of(&w))};
    const int64_t span = lay_out(&forward_args.y, &w, w.heads, w.value_width, false);
    forward_args.y.act = act_of(scratch(span));
    launch_decay_scan_forward(s, &forward_args);
    const real *dy = args->dy.act.data; /* dense, as y */
    const double loss = (dy != NULL ? dot(forward_args.y.act.data, dy, span) : 0) +
                        (args->dend != NULL ? dot(forward_args.end, args->dend, states_of(&w)) : 0);
    free(forward_args.y.act.data);
    free(forward_args.end);
    return loss;
}

/* Row of flags: which cotangents are there, which gradients are wanted, how they are written. */
static void backward(suite *s, shape w, double rate, bool padded, int row) {
    lh_decay_scan_backward_args args = {.dend = NULL};
    open_case(s, &args, sizeof args, &w, rate, padded, row);
    add_spec(s, &args.spec, &w, rate, padded);
    args.dq_write = args.dstart_write = write_of(suite_flag(row, 0));
    args.dk_write = args.dlog_decay_write = write_of(suite_flag(row, 1));
    args.dv_write = write_of(suite_flag(row, 2));
    if (!suite_flag(row, 3))
        case_in(s, "dy", &args.dy.act,
                lay_out(&args.dy, &w, w.heads, w.value_width, padded && s->mode != MODE_GRADIENT));
    if (!suite_flag(row, 4)) case_in(s, "dend", &args.dend, states_of(&w));
    const bool some = suite_flag(row, 5), others = suite_flag(row, 6);
    const int64_t keys = lay_out(&args.dq, &w, w.groups, w.key_width, padded);
    lay_out(&args.dk, &w, w.groups, w.key_width, padded);
    if (!some) case_out(s, "dq", &args.dq.act, keys, args.dq_write);
    if (!others) case_out(s, "dk", &args.dk.act, keys, args.dk_write);
    if (!some)
        case_out(s, "dv", &args.dv.act, lay_out(&args.dv, &w, w.heads, w.value_width, padded),
                 args.dv_write);
    if (!others)
        case_out(s, "dlog_decay", &args.dlog_decay, w.batch * w.length * w.heads,
                 args.dlog_decay_write);
    if (!some) case_out(s, "dstart", &args.dstart, states_of(&w), args.dstart_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.spec.q.act, &args.dq.act);
    case_pair(s, &args.spec.k.act, &args.dk.act);
    case_pair(s, &args.spec.v.act, &args.dv.act);
    if (rate >= 0) case_pair(s, &args.spec.log_decay, &args.dlog_decay);
    case_pair(s, &args.spec.start, &args.dstart);
    case_flops(s, 12.0 * (double)(states_of(&w) * w.length));
    case_run(s);
}

void cases_decay_scan_backward(suite *s) {
    const double rates[] = {no_decay, weak, middle, strong};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            backward(s, shapes[i], rates[(i + (size_t)row) % 4], row % 2 == 0, row);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_decay_scan_backward_args, .spec = sizes_of(&refused[i]));
    lh_decay_scan_spec spec = sizes_of(&shapes[0]);
    spec.q.act.dtype = LH_BF16;
    CASE_REFUSED(s, LH_EOPTION, lh_decay_scan_backward_args, .spec = spec);
}

void bench_decay_scan_backward(suite *s) {
    backward(s, (shape){4, 1024, 8, 1, 64, 64}, middle, false, 0);
}

void gradients_decay_scan_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (shape){2, 5, 4, 2, 3, 2}, middle, false, row);
    backward(s, (shape){1, 67, 2, 1, 2, 3}, weak, false, 0);
}
