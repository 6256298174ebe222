/* The delta rule: lengths round the chunks, groups, views into wider rows, no decay, weak and
 * strong decay. Keys are of unit length and beta within 0 and 1, where states stay finite. */
#include "tests/kernels/cases/scan_shape.h"

static const scan_shape shapes[] = {
    {0, 5, 2, 1, 3, 4},     {2, 0, 2, 1, 3, 4},  {1, 1, 1, 1, 1, 1},    {2, 7, 4, 2, 3, 5},
    {1, 63, 3, 3, 8, 1},    {2, 64, 2, 1, 2, 8}, {1, 65, 4, 1, 16, 17}, {1, 130, 2, 2, 5, 9},
    {1, 200, 2, 1, 33, 65}, {1, 70, 1, 1, 66, 7}};

/* Keys become of unit length. */
static void shorten(const lh_heads *view, const scan_shape *w, real *keys) {
    for (int64_t row = 0; row < w->batch * w->length * w->groups; row++) {
        const int64_t token = row / w->groups;
        real *k = keys + token / w->length * view->batch_stride +
                  token % w->length * view->token_stride + row % w->groups * view->head_stride;
        const double size = sqrt(dot(k, k, w->key_width));
        for (int64_t i = 0; i < w->key_width; i++)
            k[i] = (real)((double)k[i] / size);
    }
}

static void add_spec(suite *s, lh_delta_rule_spec *spec, const scan_shape *w, double rate,
                     bool padded) {
    const int64_t numbers = w->batch * w->length * w->heads;
    lh_decay_scan_spec *scan = &spec->scan;
    *scan = scan_sizes_of(w);
    const int64_t keys = scan_lay_out(&scan->k, w, w->groups, w->key_width, padded);
    shorten(&scan->k, w, case_in(s, "k", &scan->k.act, keys));
    case_in(s, "v", &scan->v.act, scan_lay_out(&scan->v, w, w->heads, w->value_width, padded));
    real *beta = case_in(s, "beta", &spec->beta, numbers);
    for (int64_t i = 0; i < numbers; i++)
        beta[i] = (real)(1 / (1 + exp(-(double)beta[i])));
    scan_add_states(s, scan, w, rate);
}

static void forward(suite *s, scan_shape w, double rate, bool padded) {
    lh_delta_rule_forward_args args = {.spec = {.beta = NULL}};
    scan_open_case(s, &args, sizeof args, &w, rate, padded, 0);
    add_spec(s, &args.spec, &w, rate, padded);
    case_out(s, "u", &args.u.act, scan_lay_out(&args.u, &w, w.heads, w.value_width, padded),
             LH_SET);
    case_flops(s, 4.0 * (double)(scan_states_of(&w) * w.length));
    case_run(s);
}

void cases_delta_rule_forward(suite *s) {
    const double rates[] = {no_decay, weak, middle, strong};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t n = 0; n < 4; n++)
            forward(s, shapes[i], rates[n], (i + n) % 2 == 0);
    for (int i = 0; i < SCAN_REFUSED; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_delta_rule_forward_args,
                     .spec = {.scan = scan_sizes_of(&scan_refused[i])});
    lh_decay_scan_spec scan = scan_sizes_of(&shapes[0]);
    scan.k.act.dtype = LH_BF16;
    CASE_REFUSED(s, LH_EOPTION, lh_delta_rule_forward_args, .spec = {.scan = scan});
}

void bench_delta_rule_forward(suite *s) {
    forward(s, (scan_shape){4, 1024, 8, 8, 64, 64}, middle, false);
}

/* ---- Backward ---- */

static double backward_loss(suite *s, const void *arguments) {
    const lh_delta_rule_backward_args *args = arguments;
    const lh_decay_scan_spec *scan = &args->spec.scan;
    const scan_shape w = {scan->batch,  scan->length,    scan->heads,
                          scan->groups, scan->key_width, scan->value_width};
    lh_delta_rule_forward_args forward_args = {.spec = args->spec};
    const int64_t span = scan_lay_out(&forward_args.u, &w, w.heads, w.value_width, false);
    forward_args.u.act = act_of(scratch(span));
    launch_delta_rule_forward(s, &forward_args);
    const double loss = dot(forward_args.u.act.data, args->du.act.data, span); /* dense, as u */
    free(forward_args.u.act.data);
    return loss;
}

/* Where gradients are compared with differences u is what the forward kernel gives; elsewhere any u
 * tells the same. */
static void add_written(suite *s, lh_delta_rule_backward_args *args, const scan_shape *w,
                        bool padded) {
    const bool dense = s->mode == MODE_GRADIENT;
    case_in(s, "u", &args->u.act,
            scan_lay_out(&args->u, w, w->heads, w->value_width, padded && !dense));
    case_in(s, "du", &args->du.act,
            scan_lay_out(&args->du, w, w->heads, w->value_width, padded && !dense));
    if (!dense) return;
    const lh_delta_rule_forward_args forward_args = {.spec = args->spec, .u = args->u};
    launch_delta_rule_forward(s, &forward_args);
}

/* Row of flags: which gradients are wanted, how they are written. */
static void backward(suite *s, scan_shape w, double rate, bool padded, int row) {
    lh_delta_rule_backward_args args = {.dstart = NULL};
    scan_open_case(s, &args, sizeof args, &w, rate, padded, row);
    add_spec(s, &args.spec, &w, rate, padded);
    add_written(s, &args, &w, padded);
    args.dk_write = args.dstart_write = write_of(suite_flag(row, 0));
    args.dv_write = args.dlog_decay_write = write_of(suite_flag(row, 1));
    args.dbeta_write = write_of(suite_flag(row, 2));
    const int64_t numbers = w.batch * w.length * w.heads;
    const bool some = suite_flag(row, 3), others = suite_flag(row, 4);
    const int64_t keys = scan_lay_out(&args.dk, &w, w.groups, w.key_width, padded);
    const int64_t values = scan_lay_out(&args.dv, &w, w.heads, w.value_width, padded);
    if (!some) case_out(s, "dk", &args.dk.act, keys, args.dk_write);
    if (!others) case_out(s, "dv", &args.dv.act, values, args.dv_write);
    if (!some) case_out(s, "dbeta", &args.dbeta, numbers, args.dbeta_write);
    if (!others) case_out(s, "dlog_decay", &args.dlog_decay, numbers, args.dlog_decay_write);
    if (!suite_flag(row, 5))
        case_out(s, "dstart", &args.dstart, scan_states_of(&w), args.dstart_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.spec.scan.k.act, &args.dk.act);
    case_pair(s, &args.spec.scan.v.act, &args.dv.act);
    case_pair(s, &args.spec.beta, &args.dbeta);
    if (rate >= 0) case_pair(s, &args.spec.scan.log_decay, &args.dlog_decay);
    case_pair(s, &args.spec.scan.start, &args.dstart);
    case_flops(s, 12.0 * (double)(scan_states_of(&w) * w.length));
    case_run(s);
}

void cases_delta_rule_backward(suite *s) {
    const double rates[] = {no_decay, weak, middle, strong};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            backward(s, shapes[i], rates[(i + (size_t)row) % 4], row % 2 == 0, row);
    for (int i = 0; i < SCAN_REFUSED; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_delta_rule_backward_args,
                     .spec = {.scan = scan_sizes_of(&scan_refused[i])});
    lh_decay_scan_spec scan = scan_sizes_of(&shapes[0]);
    scan.k.act.dtype = LH_BF16;
    CASE_REFUSED(s, LH_EOPTION, lh_delta_rule_backward_args, .spec = {.scan = scan});
}

void bench_delta_rule_backward(suite *s) {
    backward(s, (scan_shape){4, 1024, 8, 8, 64, 64}, middle, false, 0);
}

void gradients_delta_rule_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (scan_shape){2, 5, 4, 2, 3, 2}, middle, false, row);
    backward(s, (scan_shape){1, 67, 2, 1, 2, 3}, weak, false, 0);
}
