/* The decaying scan: lengths round the chunks, groups, views into wider rows, no decay, weak and
 * strong decay. */
#include "tests/kernels/cases/scan_shape.h"

static const scan_shape shapes[] = {
    {0, 5, 2, 1, 3, 4},     {2, 0, 2, 1, 3, 4},  {1, 1, 1, 1, 1, 1},    {2, 7, 4, 2, 3, 5},
    {1, 63, 3, 3, 8, 1},    {2, 64, 2, 1, 1, 8}, {1, 65, 4, 1, 16, 17}, {1, 130, 2, 2, 5, 9},
    {1, 200, 2, 1, 33, 65}, {1, 70, 1, 1, 66, 7}};

static void add_spec(suite *s, lh_decay_scan_spec *spec, const scan_shape *w, double rate,
                     bool padded) {
    *spec = scan_sizes_of(w);
    case_in(s, "q", &spec->q.act, scan_lay_out(&spec->q, w, w->groups, w->key_width, padded));
    case_in(s, "k", &spec->k.act, scan_lay_out(&spec->k, w, w->groups, w->key_width, padded));
    case_in(s, "v", &spec->v.act, scan_lay_out(&spec->v, w, w->heads, w->value_width, padded));
    scan_add_states(s, spec, w, rate);
}

static void forward(suite *s, scan_shape w, double rate, bool padded) {
    lh_decay_scan_forward_args args = {.end = NULL};
    scan_open_case(s, &args, sizeof args, &w, rate, padded, 0);
    add_spec(s, &args.spec, &w, rate, padded);
    case_out(s, "y", &args.y.act, scan_lay_out(&args.y, &w, w.heads, w.value_width, padded),
             LH_SET);
    case_out(s, "end", &args.end, scan_states_of(&w), LH_SET);
    case_flops(s, 4.0 * (double)(scan_states_of(&w) * w.length));
    case_run(s);
}

void cases_decay_scan_forward(suite *s) {
    const double rates[] = {no_decay, weak, middle, strong};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t n = 0; n < 4; n++)
            forward(s, shapes[i], rates[n], (i + n) % 2 == 0);
    for (int i = 0; i < SCAN_REFUSED; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_decay_scan_forward_args,
                     .spec = scan_sizes_of(&scan_refused[i]));
    lh_decay_scan_spec spec = scan_sizes_of(&shapes[0]);
    spec.q.act.dtype = LH_BF16;
    CASE_REFUSED(s, LH_EOPTION, lh_decay_scan_forward_args, .spec = spec);
}

void bench_decay_scan_forward(suite *s) {
    forward(s, (scan_shape){4, 1024, 8, 1, 64, 64}, middle, false);
}

/* ---- Backward ---- */

static double backward_loss(suite *s, const void *arguments) {
    const lh_decay_scan_backward_args *args = arguments;
    const lh_decay_scan_spec *spec = &args->spec;
    const scan_shape w = {spec->batch,  spec->length,    spec->heads,
                          spec->groups, spec->key_width, spec->value_width};
    lh_decay_scan_forward_args forward_args = {.spec = *spec, .end = scratch(scan_states_of(&w))};
    const int64_t span = scan_lay_out(&forward_args.y, &w, w.heads, w.value_width, false);
    forward_args.y.act = act_of(scratch(span));
    launch_decay_scan_forward(s, &forward_args);
    const real *dy = args->dy.act.data; /* dense, as y */
    const double loss =
        (dy != NULL ? dot(forward_args.y.act.data, dy, span) : 0) +
        (args->dend != NULL ? dot(forward_args.end, args->dend, scan_states_of(&w)) : 0);
    free(forward_args.y.act.data);
    free(forward_args.end);
    return loss;
}

/* Row of flags: which cotangents are there, which gradients are wanted, how they are written. */
static void backward(suite *s, scan_shape w, double rate, bool padded, int row) {
    lh_decay_scan_backward_args args = {.dend = NULL};
    scan_open_case(s, &args, sizeof args, &w, rate, padded, row);
    add_spec(s, &args.spec, &w, rate, padded);
    args.dq_write = args.dstart_write = write_of(suite_flag(row, 0));
    args.dk_write = args.dlog_decay_write = write_of(suite_flag(row, 1));
    args.dv_write = write_of(suite_flag(row, 2));
    if (!suite_flag(row, 3))
        case_in(
            s, "dy", &args.dy.act,
            scan_lay_out(&args.dy, &w, w.heads, w.value_width, padded && s->mode != MODE_GRADIENT));
    if (!suite_flag(row, 4)) case_in(s, "dend", &args.dend, scan_states_of(&w));
    const bool some = suite_flag(row, 5), others = suite_flag(row, 6);
    const int64_t keys = scan_lay_out(&args.dq, &w, w.groups, w.key_width, padded);
    scan_lay_out(&args.dk, &w, w.groups, w.key_width, padded);
    if (!some) case_out(s, "dq", &args.dq.act, keys, args.dq_write);
    if (!others) case_out(s, "dk", &args.dk.act, keys, args.dk_write);
    if (!some)
        case_out(s, "dv", &args.dv.act, scan_lay_out(&args.dv, &w, w.heads, w.value_width, padded),
                 args.dv_write);
    if (!others)
        case_out(s, "dlog_decay", &args.dlog_decay, w.batch * w.length * w.heads,
                 args.dlog_decay_write);
    if (!some) case_out(s, "dstart", &args.dstart, scan_states_of(&w), args.dstart_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.spec.q.act, &args.dq.act);
    case_pair(s, &args.spec.k.act, &args.dk.act);
    case_pair(s, &args.spec.v.act, &args.dv.act);
    if (rate >= 0) case_pair(s, &args.spec.log_decay, &args.dlog_decay);
    case_pair(s, &args.spec.start, &args.dstart);
    case_flops(s, 12.0 * (double)(scan_states_of(&w) * w.length));
    case_run(s);
}

void cases_decay_scan_backward(suite *s) {
    const double rates[] = {no_decay, weak, middle, strong};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            backward(s, shapes[i], rates[(i + (size_t)row) % 4], row % 2 == 0, row);
    for (int i = 0; i < SCAN_REFUSED; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_decay_scan_backward_args,
                     .spec = scan_sizes_of(&scan_refused[i]));
    lh_decay_scan_spec spec = scan_sizes_of(&shapes[0]);
    spec.q.act.dtype = LH_BF16;
    CASE_REFUSED(s, LH_EOPTION, lh_decay_scan_backward_args, .spec = spec);
}

void bench_decay_scan_backward(suite *s) {
    backward(s, (scan_shape){4, 1024, 8, 1, 64, 64}, middle, false, 0);
}

void gradients_decay_scan_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (scan_shape){2, 5, 4, 2, 3, 2}, middle, false, row);
    backward(s, (scan_shape){1, 67, 2, 1, 2, 3}, weak, false, 0);
}
