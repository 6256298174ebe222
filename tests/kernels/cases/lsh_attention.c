/* Attention within hash buckets, forward and backward, over rounds, chunks and buckets of many
 * sizes. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, heads, length, head_width, rounds, chunk, buckets;
    bool any_bucket;
} shape;

/* Few pairs, since the simulator takes them one by one. Up to 16 rounds go by tiles on a GPU. */
static const shape shapes[] = {{0, 2, 3, 4, 1, 2, 2, false},      {2, 2, 0, 4, 2, 2, 2, false},
                               {1, 1, 1, 1, 1, 1, 1, false},      {2, 2, 3, 4, 1, 3, 1, false},
                               {1, 2, 17, 5, 2, 4, 4, false},     {2, 1, 33, 8, 1, 8, 6, false},
                               {1, 2, 65, 16, 3, 16, 16, false},  {1, 1, 129, 7, 2, 16, 8, false},
                               {1, 2, 30, 33, 2, 30, 1, false},   {1, 1, 131, 8, 2, 3, 40, false},
                               {1, 1, 200, 16, 1, 64, 20, false}, {1, 1, 20, 4, 33, 4, 6, false},
                               {1, 1, 150, 64, 1, 32, 20, false}, {1, 1, 140, 128, 2, 64, 6, false},
                               {1, 1, 190, 16, 2, 190, 3, false}, {1, 2, 17, 5, 1, 4, 4, true},
                               {2, 1, 131, 8, 3, 16, 6, true},    {1, 1, 20, 4, 2, 24, 3, true},
                               {1, 2, 200, 16, 2, 64, 8, true},   {1, 1, 40, 256, 2, 6, 4, false},
                               {1, 1, 70, 80, 1, 16, 4, false},   {1, 2, 33, 16, 4, 8, 6, false},
                               {1, 1, 20, 64, 8, 4, 4, false},    {1, 1, 20, 128, 16, 4, 4, false}};

static int64_t lay_out(lh_heads *view, const shape *w, bool padded) {
    return heads_pad(view, w->batch, w->heads, w->head_width, w->length, padded);
}

/* Random buckets, sorted. */
static void add_order(suite *s, const shape *w, lh_lsh_attention_spec *spec) {
    const int64_t count = w->batch * w->heads * w->rounds * w->length;
    int32_t *bucket = calloc((size_t)count + 1, sizeof *bucket);
    if (bucket == NULL) abort();
    for (int64_t i = 0; i < count; i++)
        bucket[i] = (int32_t)suite_integer(s, w->buckets);
    const lh_lsh_sort_args sort = {.rows = w->batch * w->heads * w->rounds,
                                   .length = w->length,
                                   .buckets = w->buckets,
                                   .chunk = w->chunk,
                                   .bucket = bucket,
                                   .order = case_in_i32(s, "order", &spec->order, count, 1),
                                   .slot = case_in_i32(s, "slot", &spec->slot, count, 1),
                                   .first = case_in_i32(s, "first", &spec->first, count, 1)};
    naive_lsh_sort(&sort);
    free(bucket);
}

/* q, k and v in the suite's type, which no precision but its own takes, and which must be one. */
static void take_dtype(suite *s, lh_precision precision, const lh_heads *q, const lh_heads *k,
                       const lh_heads *v) {
    case_dtype(s, &q->act, s->dtype);
    case_dtype(s, &k->act, s->dtype);
    case_dtype(s, &v->act, s->dtype);
    const bool goes = s->dtype == LH_REAL || precision == LH_PRECISION_BF16;
    if (!goes) case_expect(s, LH_EOPTION, false);
}

/* Scores of four multiplications each, two products. */
static double work_of(const shape *w) {
    return 4.0 * (double)(w->batch * w->heads * w->rounds * w->length * w->head_width) *
           (double)w->chunk;
}

static lh_lsh_attention_spec spec_of(const shape *w, lh_precision precision) {
    return (lh_lsh_attention_spec){.batch = w->batch,
                                   .heads = w->heads,
                                   .length = w->length,
                                   .head_width = w->head_width,
                                   .rounds = w->rounds,
                                   .chunk = w->chunk,
                                   .any_bucket = w->any_bucket,
                                   .precision = precision};
}

static void add_forward(suite *s, const shape *w, bool padded,
                        lh_lsh_attention_forward_args *args) {
    case_in(s, "q", &args->q.act, lay_out(&args->q, w, padded));
    case_in(s, "k", &args->k.act, lay_out(&args->k, w, false));
    case_in(s, "v", &args->v.act, lay_out(&args->v, w, padded));
    add_order(s, w, &args->spec);
    case_out(s, "out", &args->out.act, lay_out(&args->out, w, padded), LH_SET);
    case_out(s, "lse", &args->lse, w->batch * w->heads * w->length, LH_SET);
}

/* Scores of minus infinity, of all keys of the first row of the batch and of some of the others. */
static void mask(const shape *w, const lh_heads *q_view, const lh_heads *k_view) {
    real *q = q_view->act.data, *k = k_view->act.data;
    for (int64_t i = 0; i < w->batch * w->length * w->heads; i++) {
        const int64_t batch = i / w->heads / w->length, token = i / w->heads % w->length;
        const int64_t head = i % w->heads;
        q[batch * q_view->batch_stride + token * q_view->token_stride +
          head * q_view->head_stride] = 1;
        if (batch == 0 || token % 3 == 0)
            k[batch * k_view->batch_stride + token * k_view->token_stride +
              head * k_view->head_stride] = -(real)INFINITY;
    }
}

static void forward(suite *s, const shape *w, lh_precision precision, bool padded, bool masked) {
    lh_lsh_attention_forward_args args = {.spec = spec_of(w, precision)};
    case_open(s, &args, sizeof args,
              "batch %" PRId64 ", heads %" PRId64 ", length %" PRId64 ", width %" PRId64
              ", rounds %" PRId64 ", chunk %" PRId64 ", buckets %" PRId64
              ", any %d, padded %d, precision %d, masked %d",
              w->batch, w->heads, w->length, w->head_width, w->rounds, w->chunk, w->buckets,
              w->any_bucket, padded, precision, masked);
    add_forward(s, w, padded, &args);
    if (masked) mask(w, &args.q, &args.k);
    if (!suite_has_precision(s, precision)) case_expect(s, LH_EOPTION, false);
    case_flops(s, work_of(w));
    take_dtype(s, precision, &args.q, &args.k, &args.v);
    case_run(s);
}

void cases_lsh_attention_forward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int padded = 0; padded < 2; padded++)
            if (suite_tries(s, (int)i, padded))
                forward(s, &shapes[i], LH_PRECISION_F32, padded == 1, false);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        forward(s, &shapes[i], LH_PRECISION_BF16, i % 2 == 1, false);
        forward(s, &shapes[i], LH_PRECISION_TF32, i % 2 == 0, false);
        forward(s, &shapes[i], (lh_precision)(i % 3), i % 2 == 0, true);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_forward_args, .spec.rounds = 0, .spec.chunk = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.heads = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.head_width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .k = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .v = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.precision = LH_PRECISION_BF16, .q = {.act = {.dtype = LH_BF16}},
                 .k = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .q = {.act = {.dtype = LH_BF16}}, .k = {.act = {.dtype = LH_BF16}},
                 .v = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.precision = (lh_precision)3);
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_forward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .out = {.act = {.dtype = LH_BF16}});
}

void bench_lsh_attention_forward(suite *s) {
    forward(s, &(shape){1, 4, 16384, 64, 1, 64, 512, false}, LH_PRECISION_F32, false, false);
    forward(s, &(shape){1, 4, 16384, 64, 4, 64, 512, false}, LH_PRECISION_F32, false, false);
}

/* ---- Backward ---- */

static lh_lsh_attention_forward_args forward_of(const lh_lsh_attention_backward_args *args) {
    return (lh_lsh_attention_forward_args){.spec = args->spec,
                                           .q = args->q,
                                           .k = args->k,
                                           .v = args->v,
                                           .out = args->out,
                                           .lse = (real *)args->lse};
}

/* All views are dense here. */
static double backward_loss(suite *s, const void *arguments) {
    const lh_lsh_attention_backward_args *args = arguments;
    const int64_t rows = args->spec.batch * args->spec.heads * args->spec.length;
    lh_lsh_attention_forward_args with = forward_of(args);
    with.out.act.data = scratch(rows * args->spec.head_width);
    with.lse = scratch(rows);
    launch_lsh_attention_forward(s, &with);
    const double loss = dot(with.out.act.data, args->dout.act.data, rows * args->spec.head_width);
    free(with.out.act.data);
    free(with.lse);
    return loss;
}

static void backward(suite *s, const shape *w, lh_precision precision, int row, bool padded,
                     bool masked) {
    lh_lsh_attention_backward_args args = {.spec = spec_of(w, precision),
                                           .dq_write = write_of(suite_flag(row, 0)),
                                           .dk_write = write_of(suite_flag(row, 1)),
                                           .dv_write = write_of(suite_flag(row, 2))};
    const bool wanted[] = {!suite_flag(row, 3) && !masked, !suite_flag(row, 4),
                           !suite_flag(row, 5)};
    case_open(s, &args, sizeof args,
              "batch %" PRId64 ", heads %" PRId64 ", length %" PRId64 ", width %" PRId64
              ", rounds %" PRId64 ", chunk %" PRId64 ", buckets %" PRId64
              ", any %d, padded %d, precision %d, masked %d, writes %d %d %d, wanted %d %d %d",
              w->batch, w->heads, w->length, w->head_width, w->rounds, w->chunk, w->buckets,
              w->any_bucket, padded, precision, masked, args.dq_write, args.dk_write, args.dv_write,
              wanted[0], wanted[1], wanted[2]);
    case_in(s, "q", &args.q.act, lay_out(&args.q, w, padded));
    case_in(s, "k", &args.k.act, lay_out(&args.k, w, false));
    if (masked) mask(w, &args.q, &args.k);
    case_in(s, "v", &args.v.act, lay_out(&args.v, w, padded));
    add_order(s, w, &args.spec);
    case_in(s, "out", &args.out.act, lay_out(&args.out, w, padded));
    case_in(s, "lse", &args.lse, w->batch * w->heads * w->length);
    const lh_lsh_attention_forward_args saved = forward_of(&args);
    naive_lsh_attention_forward(&saved);
    case_in(s, "dout", &args.dout.act, lay_out(&args.dout, w, padded));
    if (wanted[0]) case_out(s, "dq", &args.dq.act, lay_out(&args.dq, w, padded), args.dq_write);
    if (wanted[1]) case_out(s, "dk", &args.dk.act, lay_out(&args.dk, w, false), args.dk_write);
    if (wanted[2]) case_out(s, "dv", &args.dv.act, lay_out(&args.dv, w, padded), args.dv_write);
    if (!suite_has_precision(s, precision)) case_expect(s, LH_EOPTION, false);
    take_dtype(s, precision, &args.q, &args.k, &args.v);
    case_loss(s, backward_loss);
    case_pair(s, &args.q.act, &args.dq.act);
    case_pair(s, &args.k.act, &args.dk.act);
    case_pair(s, &args.v.act, &args.dv.act);
    case_flops(s, 2.5 * work_of(w));
    case_run(s);
}

void cases_lsh_attention_backward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = (int)i % 2; row < SUITE_FLAG_ROWS; row += 2)
            if (suite_tries(s, (int)i / 2, row / 2))
                backward(s, &shapes[i], LH_PRECISION_F32, row, row / 2 % 2 == 1, row / 2 == 0);
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int row = i % 5; row < SUITE_FLAG_ROWS; row += 5) {
            backward(s, &shapes[i], LH_PRECISION_BF16, row, row % 2 == 1, row > 4);
            backward(s, &shapes[i], LH_PRECISION_TF32, (row + 2) % SUITE_FLAG_ROWS, row % 2 == 0,
                     row > 4);
        }
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_backward_args, .spec.rounds = 0, .spec.chunk = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.heads = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.head_width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .k = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .v = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.precision = LH_PRECISION_BF16, .q = {.act = {.dtype = LH_BF16}},
                 .k = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .q = {.act = {.dtype = LH_BF16}}, .k = {.act = {.dtype = LH_BF16}},
                 .v = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .spec.precision = (lh_precision)3);
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .out = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_lsh_attention_backward_args, .spec.rounds = 1, .spec.chunk = 1,
                 .dout = {.act = {.dtype = LH_BF16}});
}

void bench_lsh_attention_backward(suite *s) {
    backward(s, &(shape){1, 4, 4096, 64, 1, 64, 128, false}, LH_PRECISION_F32, 0, false, false);
}

void gradients_lsh_attention_backward(suite *s) {
    backward(s, &(shape){1, 2, 9, 3, 1, 3, 2, false}, LH_PRECISION_F32, 0, false, false);
    backward(s, &(shape){2, 1, 12, 4, 3, 4, 3, false}, LH_PRECISION_F32, 0, false, false);
    backward(s, &(shape){1, 1, 70, 4, 2, 16, 6, false}, LH_PRECISION_F32, 0, false, false);
    backward(s, &(shape){1, 1, 70, 4, 2, 16, 6, true}, LH_PRECISION_F32, 0, false, false);
}
