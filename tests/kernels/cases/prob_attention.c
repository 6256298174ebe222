/* ProbSparse attention (Zhou et al. 2021): which queries are chosen, and both directions. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, heads, length, head_width, samples, top;
} shape;

static const lh_random_key key = {.seed = 11, .step = 3, .stream = LH_STREAM_SAMPLE, .op = 2};

static lh_prob_attention_spec spec_of(shape w, bool causal) {
    return (lh_prob_attention_spec){.batch = w.batch,
                                    .heads = w.heads,
                                    .length = w.length,
                                    .head_width = w.head_width,
                                    .top = w.top,
                                    .causal = causal,
                                    .scale = LH_R(0.5)};
}

static int64_t lay_out(lh_heads *view, const shape *w, bool padded) {
    return heads_pad(view, w->batch, w->heads, w->head_width, w->length, padded);
}

/* Scores of minus infinity, of all keys of the first row of the batch and of some of the others. */
static void mask(const shape *w, const lh_heads *view, real *q, real *k) {
    for (int64_t i = 0; i < w->batch * w->length * w->heads; i++) {
        const int64_t token = i / w->heads % w->length;
        const int64_t at = i / w->heads / w->length * view->batch_stride +
                           token * view->token_stride + i % w->heads * view->head_stride;
        q[at] = 1;
        if (i / w->heads < w->length || token % 3 == 0) k[at] = -(real)INFINITY;
    }
}

static void forward(suite *s, shape w, bool causal, bool padded, double unit, bool masked) {
    lh_prob_attention_forward_args args = {.spec = spec_of(w, causal), .samples = w.samples};
    case_open(s, &args, sizeof args,
              "batch %" PRId64 ", heads %" PRId64 ", length %" PRId64 ", width %" PRId64
              ", samples %" PRId64 ", top %" PRId64 ", causal %d, padded %d, unit %g, masked %d",
              w.batch, w.heads, w.length, w.head_width, w.samples, w.top, causal, padded, unit,
              masked);
    const int64_t span = lay_out(&args.q, &w, padded);
    real *q = case_in(s, "q", &args.q.act, span);
    round_to(q, span, unit);
    (void)lay_out(&args.k, &w, padded);
    real *k = case_in(s, "k", &args.k.act, span);
    round_to(k, span, unit);
    if (masked) mask(&w, &args.q, q, k);
    (void)lay_out(&args.v, &w, padded);
    case_in(s, "v", &args.v.act, span);
    case_in_bytes(s, "key", &args.key, &key, sizeof key);
    case_out(s, "out", &args.out.act, lay_out(&args.out, &w, padded), LH_SET);
    case_out_i32(s, "chosen", &args.chosen, w.batch * w.heads * w.top);
    case_out(s, "lse", &args.lse, w.batch * w.heads * w.top, LH_SET);
    case_flops(s, 2.0 * (double)(w.batch * w.heads * w.length * w.head_width) *
                      (double)(w.samples + 2 * w.top));
    case_run(s);
}

static const shape shapes[] = {
    {0, 2, 5, 4, 2, 2},   {2, 2, 0, 4, 1, 0},     {1, 1, 1, 1, 1, 1},   {2, 2, 5, 4, 3, 0},
    {2, 3, 7, 8, 5, 3},   {1, 2, 16, 16, 5, 16},  {2, 1, 17, 5, 15, 6}, {1, 2, 31, 33, 20, 20},
    {2, 2, 64, 8, 25, 9}, {1, 1, 97, 64, 25, 25}, {1, 2, 13, 256, 5, 4}};

void cases_prob_attention_forward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const bool odd = i % 2 == 1;
        forward(s, shapes[i], false, odd, 1.0 / 64, false);
        forward(s, shapes[i], true, !odd, 1.0 / 64, false);
        forward(s, shapes[i], odd, false, 1, false);
        forward(s, shapes[i], odd, odd, 1.0 / 64, true);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 1, .spec = {.batch = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 1, .spec = {.heads = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 1,
                 .spec = {.length = -1, .top = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 1,
                 .spec = {.head_width = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 1, .spec = {.top = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_forward_args, .samples = 1,
                 .spec = {.length = 5, .top = 6});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_forward_args, .samples = 1,
                 .q = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_forward_args, .samples = 1,
                 .k = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_forward_args, .samples = 1,
                 .v = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_forward_args, .samples = 1,
                 .out = {.act = {.dtype = LH_BF16}});
}

void bench_prob_attention_forward(suite *s) {
    forward(s, (shape){32, 8, 96, 64, 25, 25}, false, false, 1.0 / 64, false);
}

/* ---- Backward: the choice is given ---- */

static lh_prob_attention_forward_args forward_of(const lh_prob_attention_backward_args *args) {
    const lh_prob_attention_spec *spec = &args->spec;
    const int64_t chosen = spec->batch * spec->heads * spec->top;
    lh_prob_attention_forward_args made = {.spec = *spec,
                                           .samples = 4,
                                           .key = &key,
                                           .q = args->q,
                                           .k = args->k,
                                           .v = args->v,
                                           .out = args->dout,
                                           .chosen = calloc((size_t)chosen + 1, sizeof(int32_t)),
                                           .lse = scratch(chosen)};
    made.out.act.data = scratch(spec->batch * args->dout.batch_stride);
    if (made.chosen == NULL) abort();
    return made;
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_prob_attention_backward_args *args = arguments;
    const lh_prob_attention_forward_args made = forward_of(args);
    launch_prob_attention_forward(s, &made);
    const double loss =
        dot(made.out.act.data, args->dout.act.data, args->spec.batch * args->dout.batch_stride);
    free(made.out.act.data);
    free(made.lse);
    free(made.chosen);
    return loss;
}

/* What the forward kernel chose, and its output. */
static void add_saved(suite *s, lh_prob_attention_backward_args *args, int64_t span) {
    const lh_prob_attention_spec *spec = &args->spec;
    const int64_t count = spec->batch * spec->heads * spec->top;
    lh_prob_attention_forward_args made = {.spec = *spec,
                                           .samples = 4,
                                           .key = &key,
                                           .q = args->q,
                                           .k = args->k,
                                           .v = args->v,
                                           .out = args->out};
    made.chosen = case_in_i32(s, "chosen", &args->chosen, count, 1);
    made.lse = case_in(s, "lse", &args->lse, count);
    made.out.act.data = case_in(s, "out", &args->out.act, span);
    naive_prob_attention_forward(&made);
}

static void backward(suite *s, shape w, int row, bool causal, bool padded, bool masked) {
    lh_prob_attention_backward_args args = {.spec = spec_of(w, causal),
                                            .dq_write = write_of(suite_flag(row, 0)),
                                            .dk_write = write_of(suite_flag(row, 1)),
                                            .dv_write = write_of(suite_flag(row, 2))};
    const bool dq = !suite_flag(row, 3) && !masked, dk = !suite_flag(row, 4),
               dv = !suite_flag(row, 5);
    case_open(s, &args, sizeof args,
              "batch %" PRId64 ", heads %" PRId64 ", length %" PRId64 ", width %" PRId64
              ", top %" PRId64
              ", causal %d, padded %d, masked %d, gradients %d %d %d, writes %d %d %d",
              w.batch, w.heads, w.length, w.head_width, w.top, causal, padded, masked, dq, dk, dv,
              args.dq_write, args.dk_write, args.dv_write);
    const int64_t span = lay_out(&args.q, &w, padded);
    args.k = args.v = args.out = args.dout = args.dq = args.dk = args.dv = args.q;
    real *q = case_in(s, "q", &args.q.act, span), *k = case_in(s, "k", &args.k.act, span);
    case_in(s, "v", &args.v.act, span);
    if (masked) mask(&w, &args.q, q, k);
    add_saved(s, &args, span);
    case_in(s, "dout", &args.dout.act, span);
    if (dq) case_out(s, "dq", &args.dq.act, span, args.dq_write);
    if (dk) case_out(s, "dk", &args.dk.act, span, args.dk_write);
    if (dv) case_out(s, "dv", &args.dv.act, span, args.dv_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.q.act, &args.dq.act);
    case_pair(s, &args.k.act, &args.dk.act);
    case_pair(s, &args.v.act, &args.dv.act);
    case_run(s);
}

void cases_prob_attention_backward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = (int)i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, shapes[i], row, row / 2 % 2 == 1, row / 4 == 1, row / 2 == 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_backward_args, .spec = {.batch = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_backward_args, .spec = {.heads = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_backward_args, .spec = {.length = -1, .top = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_backward_args, .spec = {.head_width = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_backward_args, .spec = {.top = -1});
    CASE_REFUSED(s, LH_ESHAPE, lh_prob_attention_backward_args, .spec = {.length = 5, .top = 6});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_backward_args, .q = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_backward_args, .k = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_backward_args, .v = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_backward_args,
                 .out = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_prob_attention_backward_args,
                 .dout = {.act = {.dtype = LH_BF16}});
}

void bench_prob_attention_backward(suite *s) {
    backward(s, (shape){32, 8, 96, 64, 25, 25}, 0, false, false, false);
}

void gradients_prob_attention_backward(suite *s) {
    for (int row = 0; row < 2; row++)
        backward(s, (shape){2, 2, 9, 4, 4, 3}, 0, row == 1, false, false);
}
