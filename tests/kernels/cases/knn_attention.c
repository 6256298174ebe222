/* Attention to the nearest keys of a memory that is empty, filling or full, with scores that tie,
 * are no numbers or minus infinity. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, heads, queries, head_width, capacity, top;
} shape;

static real *add_memory(suite *s, const shape *w, const real **k, const real **v, double unit) {
    const int64_t count = w->batch * w->capacity * w->heads * w->head_width;
    real *keys = case_in(s, "k", k, count);
    if (unit > 0) round_to(keys, count, unit);
    case_in(s, "v", v, count);
    return keys;
}

static int64_t lay_out(lh_heads *view, const shape *w, bool padded) {
    return heads_pad(view, w->batch, w->heads, w->head_width, w->queries, padded);
}

/* Scores that are no numbers: of a key in the middle, and all of the last query. */
static void spoil(real *q, int64_t queries, real *k, int64_t keys) {
    if (queries > 0) q[queries - 1] = (real)NAN;
    if (keys > 0) k[keys / 2] = (real)NAN;
}

/* Scores of minus infinity: of all keys of the first row of the batch, of some of the others. */
static void mask(const shape *w, const lh_heads *q_view, real *q, real *k) {
    const int64_t keys = w->batch * w->capacity, pitch = w->heads * w->head_width;
    for (int64_t i = 0; i < w->batch * w->queries * w->heads; i++)
        q[i / w->heads / w->queries * q_view->batch_stride +
          i / w->heads % w->queries * q_view->token_stride + i % w->heads * q_view->head_stride] =
            1;
    for (int64_t i = 0; i < keys * w->heads; i++)
        if (i / w->heads < w->capacity || i % 3 == 0)
            k[i / w->heads * pitch + i % w->heads * w->head_width] = -(real)INFINITY;
}

/* What scores there are beside finite ones. */
typedef enum oddity { FINITE, NAN_SCORES, MASKED } oddity;

static void forward(suite *s, shape w, bool head_scale, bool padded, double unit, int64_t held,
                    oddity odd) {
    lh_knn_attention_forward_args args = {.batch = w.batch,
                                          .heads = w.heads,
                                          .queries = w.queries,
                                          .head_width = w.head_width,
                                          .capacity = w.capacity,
                                          .top = w.top};
    case_open(s, &args, sizeof args,
              "batch %" PRId64 ", heads %" PRId64 ", queries %" PRId64 ", width %" PRId64
              ", top %" PRId64 " of %" PRId64 ", held to %" PRId64
              ", head scale %d, padded %d, unit %g, odd %d",
              w.batch, w.heads, w.queries, w.head_width, w.top, w.capacity, held, head_scale,
              padded, unit, odd);
    const int64_t span = lay_out(&args.q, &w, padded);
    real *q = case_in(s, "q", &args.q.act, span);
    round_to(q, span, unit);
    real *k = add_memory(s, &w, &args.k, &args.v, unit);
    if (odd == MASKED) mask(&w, &args.q, q, k);
    if (odd == NAN_SCORES) spoil(q, span, k, w.batch * w.capacity * w.heads * w.head_width);
    case_in_i32(s, "count", &args.count, w.batch, held + 1);
    if (head_scale) case_in(s, "head_scale", &args.head_scale, w.heads);
    case_out(s, "out", &args.out.act, lay_out(&args.out, &w, padded), LH_SET);
    case_out_i32(s, "index", &args.index, w.batch * w.queries * w.heads * w.top);
    case_out(s, "weight", &args.weight, w.batch * w.queries * w.heads * w.top, LH_SET);
    case_canonical(s, precise_knn_order, naive_knn_order);
    case_flops(s, 2.0 * (double)(w.batch * w.heads * w.queries * w.capacity * w.head_width));
    case_run(s);
}

static const shape shapes[] = {
    {0, 2, 3, 4, 5, 2},    {2, 2, 0, 4, 5, 2},      {2, 2, 3, 4, 0, 2},     {1, 1, 1, 1, 1, 1},
    {2, 2, 3, 4, 5, 2},    {1, 2, 7, 8, 3, 7},      {2, 1, 5, 16, 17, 8},   {1, 3, 9, 5, 64, 16},
    {2, 2, 17, 8, 65, 32}, {1, 2, 33, 16, 257, 32}, {1, 1, 65, 33, 129, 3}, {1, 1, 3, 64, 1021, 32},
    {1, 2, 9, 256, 17, 8}};

void cases_knn_attention_forward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int64_t capacity = shapes[i].capacity;
        forward(s, shapes[i], false, false, 1.0 / 64, 2 * capacity, FINITE);
        forward(s, shapes[i], true, true, 1.0 / 64, capacity, FINITE);
        forward(s, shapes[i], true, false, 1.0 / 2, 2 * capacity, FINITE);
        forward(s, shapes[i], false, true, 1, capacity / 4, FINITE);
        forward(s, shapes[i], true, true, 1.0 / 64, 2 * capacity, NAN_SCORES);
        forward(s, shapes[i], false, i % 2 == 0, 1.0 / 64, 2 * capacity, MASKED);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_forward_args, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_forward_args, .heads = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_forward_args, .queries = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_forward_args, .head_width = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_forward_args, .capacity = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_forward_args, .top = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_knn_attention_forward_args, .q = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_knn_attention_forward_args, .out = {.act = {.dtype = LH_BF16}});
}

void bench_knn_attention_forward(suite *s) {
    const shape w = {4, 8, 512, 32, 8192, 32};
    forward(s, w, true, false, 1.0 / 64, 2 * w.capacity, FINITE);
}

/* ---- Backward: the choice is given ---- */

static double backward_loss(suite *s, const void *arguments) {
    const lh_knn_attention_backward_args *args = arguments;
    const int64_t rows = args->batch * args->queries * args->heads;
    int32_t *count = calloc((size_t)args->batch + 1, sizeof *count);
    int32_t *index = calloc((size_t)(rows * args->top) + 1, sizeof *index);
    if (count == NULL || index == NULL) abort();
    for (int64_t b = 0; b < args->batch; b++)
        count[b] = (int32_t)args->capacity;
    lh_knn_attention_forward_args forward_args = {.batch = args->batch,
                                                  .heads = args->heads,
                                                  .queries = args->queries,
                                                  .head_width = args->head_width,
                                                  .capacity = args->capacity,
                                                  .top = args->top,
                                                  .head_scale = args->head_scale,
                                                  .q = args->q,
                                                  .k = args->k,
                                                  .v = args->v,
                                                  .count = count,
                                                  .out = args->dout,
                                                  .index = index,
                                                  .weight = scratch(rows * args->top)};
    forward_args.out.act.data = scratch(rows * args->head_width);
    launch_knn_attention_forward(s, &forward_args);
    const double loss =
        dot(forward_args.out.act.data, args->dout.act.data, rows * args->head_width);
    free(forward_args.out.act.data);
    free(forward_args.weight);
    free(index);
    free(count);
    return loss;
}

/* What the forward kernel chose when each row held `held` tokens. */
static void add_saved(suite *s, lh_knn_attention_backward_args *args, int64_t held) {
    const int64_t rows = args->batch * args->queries * args->heads;
    int32_t *count = calloc((size_t)args->batch + 1, sizeof *count);
    if (count == NULL) abort();
    for (int64_t b = 0; b < args->batch; b++)
        count[b] = (int32_t)held;
    lh_knn_attention_forward_args forward_args = {
        .batch = args->batch,
        .heads = args->heads,
        .queries = args->queries,
        .head_width = args->head_width,
        .capacity = args->capacity,
        .top = args->top,
        .head_scale = args->head_scale,
        .q = args->q,
        .k = args->k,
        .v = args->v,
        .count = count,
        .out = args->q,
        .index = case_in_i32(s, "index", &args->index, rows * args->top, 1),
        .weight = case_in(s, "weight", &args->weight, rows * args->top)};
    forward_args.out.act.data = scratch(args->batch * args->q.batch_stride);
    naive_knn_attention_forward(&forward_args);
    free(forward_args.out.act.data);
    free(count);
}

static void backward(suite *s, shape w, int row, bool padded, int64_t held, oddity odd) {
    lh_knn_attention_backward_args args = {.batch = w.batch,
                                           .heads = w.heads,
                                           .queries = w.queries,
                                           .head_width = w.head_width,
                                           .capacity = w.capacity,
                                           .top = w.top,
                                           .dq_write = write_of(suite_flag(row, 0)),
                                           .dhead_scale_write = write_of(suite_flag(row, 1))};
    const bool head_scale = !suite_flag(row, 2), dq = !suite_flag(row, 3);
    case_open(s, &args, sizeof args,
              "batch %" PRId64 ", heads %" PRId64 ", queries %" PRId64 ", width %" PRId64
              ", top %" PRId64 " of %" PRId64 ", held %" PRId64
              ", head scale %d, dq %d, writes %d %d, padded %d, odd %d",
              w.batch, w.heads, w.queries, w.head_width, w.top, w.capacity, held, head_scale, dq,
              args.dq_write, args.dhead_scale_write, padded, odd);
    real *q = case_in(s, "q", &args.q.act, lay_out(&args.q, &w, padded));
    real *k = add_memory(s, &w, &args.k, &args.v, 0);
    if (odd == MASKED) mask(&w, &args.q, q, k);
    if (head_scale) {
        real *scale = case_in(s, "head_scale", &args.head_scale, w.heads);
        for (int64_t h = 0; odd == MASKED && h < w.heads; h++)
            scale[h] = (real)fabs((double)scale[h]);
    }
    add_saved(s, &args, held);
    case_in(s, "dout", &args.dout.act, lay_out(&args.dout, &w, padded));
    if (dq) case_out(s, "dq", &args.dq.act, lay_out(&args.dq, &w, padded), args.dq_write);
    if (head_scale) case_out(s, "dhead_scale", &args.dhead_scale, w.heads, args.dhead_scale_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.q.act, &args.dq.act);
    case_pair(s, &args.head_scale, &args.dhead_scale);
    case_run(s);
}

void cases_knn_attention_backward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = (int)i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, shapes[i], row, row / 2 % 2 == 1,
                     row / 4 == 1 ? shapes[i].capacity : shapes[i].capacity / 3,
                     row / 2 == 0 ? MASKED : FINITE);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_backward_args, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_backward_args, .heads = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_backward_args, .queries = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_backward_args, .head_width = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_backward_args, .capacity = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_knn_attention_backward_args, .top = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_knn_attention_backward_args, .q = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_knn_attention_backward_args,
                 .dout = {.act = {.dtype = LH_BF16}});
}

void bench_knn_attention_backward(suite *s) {
    backward(s, (shape){1, 8, 128, 32, 4096, 32}, 0, false, 4096, FINITE);
}

void gradients_knn_attention_backward(suite *s) {
    for (int row = 0; row < 4; row++)
        backward(s, (shape){2, 2, 3, 4, 11, 3}, row, false, 11, FINITE);
}
