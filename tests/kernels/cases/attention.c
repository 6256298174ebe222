/* Attention forward and backward: layouts of the views, precisions, and every mix of masks, biases
 * and dropout. */
#include "tests/kernels/cases/attention_shape.h"

/* The layouts of the views differ from each other, unless all are to be dense. */
static heads_layout next_layout(attention_flags flags, int by) {
    return flags.dense ? HEADS_DENSE : (heads_layout)((flags.layout + by) % HEADS_LAYOUTS);
}

/* The same in another precision. */
static attention_flags flags_in(lh_precision precision, int row) {
    attention_flags flags = attention_flags_at(row);
    flags.precision = precision;
    return flags;
}

static int64_t lay_out(lh_heads *view, const lh_attention_spec *spec, int64_t tokens,
                       heads_layout layout) {
    return heads_lay_out(view, spec->batch, spec->heads, spec->head_width, tokens, layout);
}

/* Of what lies in memory as bf16 only the loads and stores are new: half of the cases will do, and
 * one of eight where products are in f32, which a run in bf16 does not meet; tf32 is of f32 alone.
 */
static bool worth(const suite *s, int shape, int row, lh_precision precision) {
    if (s->dtype == LH_REAL) return true;
    if (precision == LH_PRECISION_TF32) return false;
    return precision == LH_PRECISION_BF16 ? shape % 2 == 0 : (shape + row) % 8 == 0;
}

/* On the CPU bf16 in memory goes with bf16 in products. */
static bool known(const suite *s, lh_precision precision) {
    const bool goes = s->dtype == LH_REAL || precision == LH_PRECISION_BF16;
    return suite_has_precision(s, precision) && (goes || s->device->kind == LH_CUDA);
}

static void mark(suite *s, lh_heads *view) {
    case_dtype(s, &view->act, s->dtype);
}

static void mark_keys(suite *s, lh_attention_spec *spec) {
    for (int k = 0; k < spec->source_count; k++) {
        mark(s, &spec->source[k].k);
        mark(s, &spec->source[k].v);
        mark(s, &spec->source[k].dk);
        mark(s, &spec->source[k].dv);
    }
}

/* ---- Forward ---- */

static void forward(suite *s, const attention_shape *shape, attention_flags flags, bool nan_query,
                    bool nan_key) {
    lh_attention_forward_args args = {.lse = NULL};
    attention_open(s, &args, sizeof args, &args.spec, shape, flags,
                   nan_query ? ", a NaN query"
                   : nan_key ? ", a NaN key"
                             : "");
    const int64_t q_span = lay_out(&args.q, &args.spec, shape->queries, flags.layout);
    real *q = case_in(s, "q", &args.q.act, q_span);
    attention_inputs(s, &args.spec, shape, flags);
    const int64_t out_span = lay_out(&args.out, &args.spec, shape->queries, next_layout(flags, 2));
    case_out(s, "out", &args.out.act, out_span, LH_SET);
    case_out(s, "lse", &args.lse, shape->batch * shape->heads * shape->queries, LH_SET);
    if (!known(s, flags.precision)) case_expect(s, LH_EOPTION, false);
    real *k = args.spec.source[0].k.act.data;
    if (nan_query) q[2 * args.q.token_stride] = (real)NAN;
    if (nan_key) k[4 * args.spec.source[0].k.token_stride] = (real)NAN;
    case_flops(s, attention_work(shape));
    mark_keys(s, &args.spec);
    mark(s, &args.q);
    mark(s, &args.out);
    case_run(s);
}

/* Attention whose bias masks all that some queries see. */
static const attention_shape masked[] = {
    {"masked", 2, 2, 7, 8, 0, LH_FAR, 0, 0, 1, {{7, 0, false, false}}},
    {"masked tiles", 1, 2, 70, 32, 0, LH_FAR, 0, 0, 1, {{70, 0, false, false}}},
    {"masked, one query", 2, 2, 1, 8, 0, LH_FAR, 0, 0, 1, {{9, -8, false, false}}}};
enum { MASKED = 2 * sizeof masked / sizeof *masked }; /* with dropout, and with head scales */

/* Biased attention over tiles that stand so far apart, on either side, that all their distances
 * have one bucket; at the edge of a window some of these are not seen. */
static const attention_shape apart[] = {
    {"tiles apart, all see all", 1, 2, 200, 16, -LH_FAR, LH_FAR, 0, 0, 1, {{230, 0, false, false}}},
    {"tiles apart, window and states",
     1,
     1,
     200,
     80,
     0,
     150,
     0,
     0,
     2,
     {{9, 0, true, false}, {200, 0, false, false}}}};
enum { APART = 2 * sizeof apart / sizeof *apart }; /* with head scales and without */

static attention_flags apart_flags(lh_precision precision, size_t i) {
    return (attention_flags){.bias = true, .head_scale = i % 2 == 1, .precision = precision};
}

static attention_flags masked_flags(lh_precision precision, size_t i) {
    return (attention_flags){.bias = true,
                             .masks = true,
                             .dropout = i % 2 == 1,
                             .head_scale = i % 2 == 0,
                             .precision = precision};
}

/* Of every three rows one in bf16, the next in tf32. */
static lh_precision rounds_at(int shape, int row) {
    static const lh_precision by_row[] = {LH_PRECISION_BF16, LH_PRECISION_TF32, LH_PRECISION_F32};
    return by_row[(row - shape % 3 + 3) % 3];
}

/* What no attention may be. */
static const real number;
static const int32_t bucket;
static const lh_random_key drawn;
static const lh_attention_spec misshapen[] = {
    {.batch = -1},
    {.heads = -1},
    {.queries = -1},
    {.head_width = -1},
    {.source_count = -1},
    {.source_count = LH_KEY_SOURCES + 1},
    {.source_count = 2, .source = {{.count = 0}, {.count = -1}}},
    {.bias = &number, .buckets = 0, .bucket_of = &bucket, .bucket_span = 1},
    {.bias = &number, .buckets = 1, .bucket_of = &bucket, .bucket_span = 0},
    {.bias = &number, .buckets = 1, .bucket_of = NULL, .bucket_span = 1},
    {.positions = &number, .position_count = 0, .position_heads = 1},
    {.positions = &number, .position_count = 1, .position_heads = 2, .heads = 3}};
static const lh_attention_spec unknown[] = {
    {.dropout = 1, .key = &drawn},
    {.dropout = -0.5, .key = &drawn},
    {.dropout = NAN, .key = &drawn},
    {.dropout = 0.5, .key = NULL},
    {.dropout_period = -1},
    {.chunk = -1},
    {.precision = (lh_precision)3},
    {.source_count = 1, .source = {{.k = {.act = {.dtype = LH_BF16}}}}},
    {.source_count = 1, .source = {{.v = {.act = {.dtype = LH_BF16}}}}}};

void cases_attention_forward(suite *s) {
    for (int i = 0; i < attention_shape_count; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            if (worth(s, i, row, LH_PRECISION_F32))
                forward(s, &attention_shapes[i], attention_flags_at(row), false, false);
    const attention_shape causal = {
        "causal", 2, 2, 7, 8, 0, LH_FAR, 0, 0, 1, {{7, 0, false, false}}};
    forward(s, &causal, attention_flags_at(0), true, false);
    forward(s, &causal, attention_flags_at(0), false, true);
    for (int i = 0; i < attention_shape_count; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            if (rounds_at(i, row) != LH_PRECISION_F32 && worth(s, i, row, rounds_at(i, row)))
                forward(s, &attention_shapes[i], flags_in(rounds_at(i, row), row), false, false);
    forward(s, &causal, flags_in(LH_PRECISION_BF16, 0), true, false);
    forward(s, &causal, flags_in(LH_PRECISION_BF16, 0), false, true);
    for (size_t i = 0; i < MASKED; i++)
        forward(s, &masked[i / 2], masked_flags(LH_PRECISION_BF16, i), false, false);
    for (size_t i = 0; i < APART; i++)
        forward(s, &apart[i / 2], apart_flags(LH_PRECISION_BF16, i), false, false);
    if (s->dtype != LH_REAL) return;
    for (size_t i = 0; i < MASKED; i++) {
        forward(s, &masked[i / 2], masked_flags(LH_PRECISION_F32, i), false, false);
        forward(s, &masked[i / 2], masked_flags(LH_PRECISION_TF32, i), false, false);
    }
    for (size_t i = 0; i < APART; i++) {
        forward(s, &apart[i / 2], apart_flags(LH_PRECISION_F32, i), false, false);
        forward(s, &apart[i / 2], apart_flags(LH_PRECISION_TF32, i), false, false);
    }
    forward(s, &causal, flags_in(LH_PRECISION_TF32, 0), true, false);
    forward(s, &causal, flags_in(LH_PRECISION_TF32, 0), false, true);
    for (size_t i = 0; i < sizeof misshapen / sizeof *misshapen; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_attention_forward_args, .spec = misshapen[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CASE_REFUSED(s, LH_EOPTION, lh_attention_forward_args, .spec = unknown[i]);
    CASE_REFUSED(s, LH_EOPTION, lh_attention_forward_args, .q = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_attention_forward_args, .out = {.act = {.dtype = LH_BF16}});
}

/* Without a bias, with one, and with dropout. */
enum { PAPER_CASES = 3 * ATTENTION_PAPER_COUNT };

static attention_flags paper_flags(int index) {
    const int with = index / ATTENTION_PAPER_COUNT;
    return (attention_flags){.head_scale = with == 1,
                             .bias = with == 1,
                             .dropout = with == 2,
                             .precision = LH_PRECISION_BF16,
                             .dense = true};
}

void bench_attention_forward(suite *s) {
    const attention_flags plain = {.dense = true};
    const attention_flags full = {.head_scale = true, .bias = true, .dropout = true, .dense = true};
    const attention_flags placed = {.positions = true, .dense = true};
    for (int i = 0; i < attention_bench_count; i++) {
        forward(s, &attention_bench_shapes[i], plain, false, false);
        forward(s, &attention_bench_shapes[i], placed, false, false);
        forward(s, &attention_bench_shapes[i], full, false, false);
    }
    if (s->device->kind != LH_CUDA) return;
    s->dtype = LH_BF16;
    for (int i = 0; i < PAPER_CASES; i++)
        forward(s, &attention_paper_shapes[i % ATTENTION_PAPER_COUNT], paper_flags(i), false,
                false);
    s->dtype = LH_REAL;
}

/* ---- Backward ---- */

/* Which gradients are wanted and how they are written: bits of it by flag number. */
typedef struct wishes {
    bool dq, dk, dv, dhead_scale, dbias, dpositions;
    lh_write write[4]; /* of q, the sources, head scale, bias and positions */
} wishes;

static wishes all_set(void) {
    return (wishes){true, true, true, true, true, true, {LH_SET, LH_SET, LH_SET, LH_SET}};
}

static wishes wishes_at(int row) {
    return (wishes){.dq = !suite_flag(row, 0),
                    .dk = !suite_flag(row, 1),
                    .dv = !suite_flag(row, 2),
                    .dhead_scale = !suite_flag(row, 3),
                    .dbias = !suite_flag(row, 4),
                    .dpositions = !suite_flag(row, 5),
                    .write = {write_of(suite_flag(row, 5)), write_of(suite_flag(row, 6)),
                              write_of(suite_flag(row, 3)), write_of(suite_flag(row, 2))}};
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_attention_backward_args *args = arguments;
    const lh_attention_spec *spec = &args->spec;
    const int64_t rows = spec->batch * spec->heads * spec->queries, count = rows * spec->head_width;
    real *out = scratch(count), *lse = scratch(rows);
    lh_attention_forward_args forward_args = {
        .spec = *spec, .q = args->q, .out = args->dout, .lse = lse};
    forward_args.out.act.data = out;
    launch_attention_forward(s, &forward_args);
    const double loss = dot(out, args->dout.act.data, count);
    free(out);
    free(lse);
    return loss;
}

/* What the forward kernel left. */
static void add_saved(suite *s, lh_attention_backward_args *args, heads_layout layout) {
    const lh_attention_spec *spec = &args->spec;
    const int64_t span = lay_out(&args->out, spec, spec->queries, layout);
    case_in(s, "out", &args->out.act, span);
    const int64_t rows = spec->batch * spec->heads * spec->queries;
    real *lse = case_in(s, "lse", &args->lse, rows);
    naive_attention_forward(&(lh_attention_forward_args){
        .spec = args->spec, .q = args->q, .out = args->out, .lse = lse});
}

static void add_key_gradients(suite *s, lh_attention_spec *spec, const wishes *want,
                              heads_layout layout) {
    static const char *const k_names[] = {"dk0", "dk1", "dk2"};
    static const char *const v_names[] = {"dv0", "dv1", "dv2"};
    for (int k = 0; k < spec->source_count; k++) {
        lh_key_source *source = &spec->source[k];
        source->write = want->write[1];
        const int64_t k_span = lay_out(&source->dk, spec, source->count, layout);
        const int64_t v_span = lay_out(&source->dv, spec, source->count, layout);
        if (want->dk) {
            case_out(s, k_names[k], &source->dk.act, k_span, source->write);
            case_pair(s, &source->k.act, &source->dk.act);
        }
        if (want->dv) {
            case_out(s, v_names[k], &source->dv.act, v_span, source->write);
            case_pair(s, &source->v.act, &source->dv.act);
        }
    }
}

static void add_other_gradients(suite *s, lh_attention_backward_args *args, const wishes *want,
                                heads_layout layout) {
    lh_attention_spec *spec = &args->spec;
    args->dq_write = want->write[0];
    args->dhead_scale_write = want->write[2];
    args->dbias_write = want->write[3];
    const int64_t q_span = lay_out(&args->dq, spec, spec->queries, layout);
    if (want->dq) {
        case_out(s, "dq", &args->dq.act, q_span, args->dq_write);
        case_pair(s, &args->q.act, &args->dq.act);
    }
    if (want->dhead_scale && spec->head_scale != NULL) {
        case_out(s, "dhead_scale", &args->dhead_scale, spec->heads, args->dhead_scale_write);
        case_pair(s, &spec->head_scale, &args->dhead_scale);
    }
    if (want->dbias && spec->bias != NULL) {
        case_out(s, "dbias", &args->dbias, spec->heads * spec->buckets, args->dbias_write);
        case_pair(s, &spec->bias, &args->dbias);
    }
    args->dpositions_write = want->write[3];
    if (want->dpositions && spec->positions != NULL) {
        case_out(s, "dpositions", &args->dpositions,
                 spec->position_heads * spec->position_count * spec->head_width,
                 args->dpositions_write);
        case_pair(s, &spec->positions, &args->dpositions);
    }
}

static void backward(suite *s, const attention_shape *shape, attention_flags flags,
                     const wishes *want) {
    lh_attention_backward_args args = {.lse = NULL};
    char what[64];
    snprintf(what, sizeof what, ", wants %d%d%d%d%d%d, writes %d%d%d%d", want->dq, want->dk,
             want->dv, want->dhead_scale, want->dbias, want->dpositions, want->write[0],
             want->write[1], want->write[2], want->write[3]);
    attention_open(s, &args, sizeof args, &args.spec, shape, flags, what);
    const int64_t q_span = lay_out(&args.q, &args.spec, shape->queries, flags.layout);
    case_in(s, "q", &args.q.act, q_span);
    attention_inputs(s, &args.spec, shape, flags);
    add_saved(s, &args, next_layout(flags, 1));
    const int64_t dout_span =
        lay_out(&args.dout, &args.spec, shape->queries, next_layout(flags, 2));
    case_in(s, "dout", &args.dout.act, dout_span);
    add_key_gradients(s, &args.spec, want, next_layout(flags, 1));
    add_other_gradients(s, &args, want, next_layout(flags, 2));
    case_loss(s, backward_loss);
    if (!known(s, flags.precision)) case_expect(s, LH_EOPTION, false);
    case_flops(s, 2.5 * attention_work(shape));
    mark_keys(s, &args.spec);
    mark(s, &args.q);
    mark(s, &args.out);
    mark(s, &args.dout);
    mark(s, &args.dq);
    case_run(s);
}

/* Some rows of all shapes. */
static bool tries_coarse(int shape, int row) {
    return (row + shape) % 5 == 0;
}

/* And those where position vectors, alone and beside a bias, meet several tiles of tokens. */
static bool places_tiles(int shape, int row) {
    const int alone = 1 + 3 * (shape % 2), beside = 3 + 3 * (shape % 2);
    return (row == alone || row == beside) && attention_shapes[shape].queries > 64;
}

void cases_attention_backward(suite *s) {
    const wishes all = all_set();
    for (int i = 0; i < attention_shape_count; i++) {
        for (int row = 0; row < SUITE_FLAG_ROWS; row++) {
            const wishes want = wishes_at((row + i) % SUITE_FLAG_ROWS);
            const wishes *wanted = row % 2 == 0 ? &want : &all;
            if (suite_tries(s, i, row) && worth(s, i, row, LH_PRECISION_F32))
                backward(s, &attention_shapes[i], attention_flags_at(row), wanted);
            const bool placed = places_tiles(i, row);
            if ((placed || tries_coarse(i, row)) && worth(s, i, row, LH_PRECISION_BF16))
                backward(s, &attention_shapes[i], flags_in(LH_PRECISION_BF16, row), wanted);
            if ((placed || tries_coarse(i, row + 1)) && worth(s, i, row, LH_PRECISION_TF32))
                backward(s, &attention_shapes[i], flags_in(LH_PRECISION_TF32, row), wanted);
        }
    }
    for (size_t i = 0; i < MASKED; i++) {
        backward(s, &masked[i / 2], masked_flags(LH_PRECISION_BF16, i), &all);
        if (s->dtype != LH_REAL) continue;
        backward(s, &masked[i / 2], masked_flags(LH_PRECISION_F32, i), &all);
        backward(s, &masked[i / 2], masked_flags(LH_PRECISION_TF32, i), &all);
    }
    for (size_t i = 0; i < APART; i++) {
        backward(s, &apart[i / 2], apart_flags(LH_PRECISION_BF16, i), &all);
        if (s->dtype != LH_REAL) continue;
        backward(s, &apart[i / 2], apart_flags(LH_PRECISION_F32, i), &all);
        backward(s, &apart[i / 2], apart_flags(LH_PRECISION_TF32, i), &all);
    }
    for (size_t i = 0; i < sizeof misshapen / sizeof *misshapen; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_attention_backward_args, .spec = misshapen[i]);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        CASE_REFUSED(s, LH_EOPTION, lh_attention_backward_args, .spec = unknown[i]);
    CASE_REFUSED(s, LH_EOPTION, lh_attention_backward_args, .q = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_attention_backward_args, .out = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_attention_backward_args, .dout = {.act = {.dtype = LH_BF16}});
}

void bench_attention_backward(suite *s) {
    const attention_flags plain = {.dense = true};
    const attention_flags full = {.head_scale = true, .bias = true, .dropout = true, .dense = true};
    const attention_flags placed = {.positions = true, .dense = true};
    const wishes all = all_set();
    for (int i = 0; i < attention_bench_count; i++) {
        backward(s, &attention_bench_shapes[i], plain, &all);
        backward(s, &attention_bench_shapes[i], placed, &all);
        backward(s, &attention_bench_shapes[i], full, &all);
    }
    if (s->device->kind != LH_CUDA) return;
    s->dtype = LH_BF16;
    for (int i = 0; i < PAPER_CASES; i++)
        backward(s, &attention_paper_shapes[i % ATTENTION_PAPER_COUNT], paper_flags(i), &all);
    s->dtype = LH_REAL;
}

void gradients_attention_backward(suite *s) {
    static const attention_shape shapes[] = {
        {"causal", 2, 2, 5, 3, 0, LH_FAR, 0, 0, 1, {{5, 0, false, false}}},
        {"without itself", 1, 2, 6, 4, 1, LH_FAR, 0, 0, 1, {{6, 0, false, false}}},
        {"window and states",
         2,
         2,
         5,
         3,
         0,
         4,
         0,
         0,
         3,
         {{4, -4, false, false}, {5, 0, false, false}, {3, 0, true, false}}},
        {"chunks", 1, 2, 9, 4, 0, LH_FAR, 4, 1, 2, {{5, -5, false, false}, {9, 0, false, false}}},
        {"all see all", 1, 1, 17, 8, -LH_FAR, LH_FAR, 0, 0, 1, {{19, -2, false, false}}},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int row = 0; row < SUITE_FLAG_ROWS; row++) {
            attention_flags flags = attention_flags_at(row);
            wishes want = all_set();
            flags.layout = HEADS_DENSE;
            flags.dense = true; /* gaps have no gradient */
            for (int k = 0; k < 4; k++)
                want.write[k] = write_of(suite_flag(row, k + 2));
            backward(s, &shapes[i], flags, &want);
        }
    }
}
