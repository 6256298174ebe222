/* The shapes, masks and layouts that the cases of attention and of recurrence encodings go through.
 */
#include "tests/kernels/cases/attention_shape.h"

enum { BUCKETS = 5, BUCKET_SPAN = 23, BUCKET_FIRST = -6, POSITIONS = 19, POSITION_FIRST = -3 };

/* name, batch, heads, queries, head width, distances, chunks, keys {count, first, everywhere,
 * filled} */
const attention_shape attention_shapes[] = {
    {"no batch", 0, 2, 3, 4, 0, LH_FAR, 0, 0, 1, {{3, 0, false, false}}},
    {"no query", 2, 2, 0, 4, 0, LH_FAR, 0, 0, 1, {{3, -3, false, false}}},
    {"no key", 2, 2, 3, 4, 0, LH_FAR, 0, 0, 1, {{0, 0, false, false}}},
    {"no source", 1, 2, 3, 4, 0, LH_FAR, 0, 0, 0, {{0, 0, false, false}}},
    {"one of each", 1, 1, 1, 1, 0, LH_FAR, 0, 0, 1, {{1, 0, false, false}}},
    {"causal", 2, 2, 7, 8, 0, LH_FAR, 0, 0, 1, {{7, 0, false, false}}},
    {"causal", 1, 3, 33, 16, 0, LH_FAR, 0, 0, 1, {{33, 0, false, false}}},
    {"causal", 1, 1, 65, 64, 0, LH_FAR, 0, 0, 1, {{65, 0, false, false}}},
    {"causal", 1, 2, 129, 5, 0, LH_FAR, 0, 0, 1, {{129, 0, false, false}}},
    {"without itself", 2, 1, 9, 3, 1, LH_FAR, 0, 0, 1, {{9, 0, false, false}}},
    {"without itself", 1, 2, 64, 32, 1, LH_FAR, 0, 0, 1, {{64, 0, false, false}}},
    {"all see all", 2, 2, 17, 8, -LH_FAR, LH_FAR, 0, 0, 1, {{31, 0, false, false}}},
    {"all see all", 1, 1, 31, 33, -LH_FAR, LH_FAR, 0, 0, 1, {{127, -64, false, false}}},
    {"window", 2, 2, 16, 8, 0, 16, 0, 0, 2, {{16, -16, false, false}, {16, 0, false, false}}},
    {"window", 1, 2, 64, 16, 1, 63, 0, 0, 2, {{63, -63, false, false}, {64, 0, false, false}}},
    {"narrow window", 1, 2, 130, 8, 0, 7, 0, 0, 1, {{130, 0, false, false}}},
    {"window and states",
     2,
     2,
     15,
     8,
     0,
     15,
     0,
     0,
     3,
     {{15, -15, false, false}, {15, 0, false, false}, {6, 0, true, false}}},
    {"states before window",
     1,
     2,
     65,
     16,
     1,
     64,
     0,
     0,
     3,
     {{33, 0, true, false}, {64, -64, false, false}, {65, 0, false, false}}},
    {"states only", 2, 2, 13, 16, 0, LH_FAR, 0, 0, 1, {{16, 0, true, false}}},
    {"two kinds of states",
     1,
     2,
     8,
     7,
     0,
     LH_FAR,
     0,
     0,
     2,
     {{5, 0, true, false}, {9, 3, true, false}}},
    {"chunks", 2, 2, 16, 8, 0, LH_FAR, 4, 0, 1, {{16, 0, false, false}}},
    {"chunks and one back",
     1,
     2,
     33,
     8,
     0,
     LH_FAR,
     8,
     1,
     2,
     {{9, -9, false, false}, {33, 0, false, false}}},
    {"chunks that see ahead",
     1,
     1,
     66,
     16,
     -5,
     LH_FAR,
     16,
     2,
     2,
     {{21, -21, false, false}, {66, 0, false, false}}},
    {"keys far behind", 1, 2, 5, 4, 0, 3, 0, 0, 1, {{7, -50, false, false}}},
    {"some see none", 1, 2, 19, 8, 4, 9, 0, 0, 1, {{19, 0, false, false}}},
    {"one query", 3, 4, 1, 16, 1, 64, 0, 0, 1, {{70, -70, false, false}}},
    {"one query", 1, 2, 1, 18, 0, 64, 0, 0, 1, {{11, -11, false, false}}},
    {"one query", 1, 2, 1, 20, 0, 64, 0, 0, 1, {{11, -11, false, false}}},
    {"one query", 1, 2, 1, 22, 0, 64, 0, 0, 1, {{11, -11, false, false}}},
    {"one query", 1, 2, 1, 24, 0, 64, 0, 0, 1, {{11, -11, false, false}}},
    {"one query", 1, 2, 1, 31, 0, 64, 0, 0, 1, {{11, -11, false, false}}},
    {"one query", 1, 2, 1, 64, 0, 64, 0, 0, 1, {{11, -11, false, false}}},
    {"one query that sees none", 2, 2, 1, 8, 4, 9, 0, 0, 1, {{3, -3, false, false}}},
    {"one query, window, itself and states",
     2,
     3,
     1,
     7,
     0,
     15,
     0,
     0,
     3,
     {{17, -17, false, false}, {1, 0, false, false}, {6, 0, true, false}}},
    {"one query, chunks, long cache",
     1,
     2,
     1,
     5,
     0,
     LH_FAR,
     64,
     18,
     1,
     {{1200, -1200, false, false}}},
    {"one query, a part filled",
     5,
     2,
     1,
     16,
     0,
     LH_FAR,
     0,
     0,
     2,
     {{20, 0, true, true}, {1, 0, false, false}}},
    {"an inserted vector, or none",
     6,
     2,
     9,
     8,
     0,
     LH_FAR,
     0,
     0,
     2,
     {{1, 0, true, true}, {9, 0, false, false}}},
    {"a part filled", 3, 2, 66, 5, 0, LH_FAR, 0, 0, 1, {{66, 0, false, true}}},
    {"long cache",
     1,
     1,
     3,
     16,
     0,
     LH_FAR,
     0,
     0,
     2,
     {{509, -509, false, false}, {3, 0, false, false}}},
    {"more keys than a panel", 1, 1, 2, 3, 0, LH_FAR, 0, 0, 1, {{1100, -1098, false, false}}},
    {"wide heads",
     1,
     2,
     70,
     128,
     1,
     65,
     0,
     0,
     3,
     {{65, -65, false, false}, {70, 0, false, false}, {9, 0, true, false}}},
    {"heads wider than tiles", 1, 1, 21, 160, 0, LH_FAR, 0, 0, 1, {{21, 0, false, false}}},
    {"heads below a tile", 1, 2, 66, 24, 0, 40, 0, 0, 1, {{66, 0, false, false}}},
    {"heads between tiles", 1, 2, 66, 80, 0, 40, 0, 0, 1, {{66, 0, false, false}}},
    {"the widest heads", 1, 2, 11, 256, 0, LH_FAR, 0, 0, 1, {{11, 0, false, false}}},
};
const int attention_shape_count = sizeof attention_shapes / sizeof *attention_shapes;

/* Width 256 as 8 heads of 32, 4096 tokens a step. */
const attention_shape attention_bench_shapes[] = {
    {"window 256",
     8,
     8,
     512,
     32,
     0,
     256,
     0,
     0,
     2,
     {{256, -256, false, false}, {512, 0, false, false}}},
    {"window 256 and 256 states",
     16,
     8,
     256,
     32,
     0,
     256,
     0,
     0,
     3,
     {{256, -256, false, false}, {256, 0, false, false}, {256, 0, true, false}}},
    {"causal 1024", 4, 8, 1024, 32, 0, LH_FAR, 0, 0, 1, {{1024, 0, false, false}}},
};
const int attention_bench_count = sizeof attention_bench_shapes / sizeof *attention_bench_shapes;

/* Of a layer of width 1024 with a window of 512, and of GPT-2 (tests/gpu/baseline.lua). */
const attention_shape attention_paper_shapes[ATTENTION_PAPER_COUNT] = {
    {"window 512", 4, 8, 4096, 128, 1, 512, 0, 0, 1, {{4608, -512, false, false}}},
    {"causal 1024", 16, 12, 1024, 64, 0, LH_FAR, 0, 0, 1, {{1024, 0, false, false}}}};

attention_flags attention_flags_at(int row) {
    return (attention_flags){.head_scale = suite_flag(row, 0),
                             .bias = suite_flag(row, 1),
                             .dropout = suite_flag(row, 2) || suite_flag(row, 3),
                             .period = suite_flag(row, 3),
                             .positions = suite_flag(row, 4),
                             .own_positions = suite_flag(row, 5),
                             .layout = (heads_layout)(row % HEADS_LAYOUTS)};
}

/* The shortest period whose mask has a slot for every distance that occurs. */
static int64_t period_of(const attention_shape *shape) {
    int64_t period = 1;
    for (int k = 0; k < shape->source_count; k++) {
        const key_run *keys = &shape->source[k];
        if (keys->everywhere) continue;
        const int64_t far = shape->queries - 1 - keys->first;
        const int64_t ahead = keys->first + keys->count - 1;
        const int64_t back = far < shape->max_distance ? far : shape->max_distance;
        if (back / 2 + 1 > period) period = back / 2 + 1;
        if (ahead > period) period = ahead;
    }
    return period;
}

void attention_open(suite *s, void *args, size_t size, lh_attention_spec *spec,
                    const attention_shape *shape, attention_flags flags, const char *what) {
    spec->batch = shape->batch;
    spec->heads = shape->heads;
    spec->queries = shape->queries;
    spec->head_width = shape->head_width;
    spec->scale = (real)(1 / sqrt((double)shape->head_width));
    spec->min_distance = shape->min_distance;
    spec->max_distance = shape->max_distance;
    spec->chunk = shape->chunk;
    spec->chunks_back = shape->chunks_back;
    spec->precision = flags.precision;
    spec->source_count = shape->source_count;
    spec->dropout = flags.dropout ? 0.25 : 0;
    spec->dropout_period = flags.dropout && flags.period ? period_of(shape) : 0;
    spec->first_batch = flags.dropout && flags.layout > 0 ? 5 : 0;
    case_open(s, args, size,
              "%s, batch %" PRId64 ", heads %" PRId64 ", queries %" PRId64 ", width %" PRId64
              ", head scale %d, bias %d, masks %d, positions %d%d, dropout %d, period %" PRId64
              ", layout %d, precision %d%s",
              shape->name, shape->batch, shape->heads, shape->queries, shape->head_width,
              flags.head_scale, flags.bias, flags.masks, flags.positions, flags.own_positions,
              flags.dropout, spec->dropout_period, flags.layout, flags.precision, what);
}

int64_t heads_lay_out(lh_heads *view, int64_t batch, int64_t heads, int64_t head_width,
                      int64_t tokens, heads_layout layout) {
    const int64_t row = heads * head_width;
    switch (layout) {
    case HEADS_PACKED:
        view->head_stride = head_width;
        view->token_stride = 3 * row;
        view->batch_stride = tokens * view->token_stride;
        break;
    case HEADS_FIRST:
        view->token_stride = head_width + 3;
        view->head_stride = tokens * view->token_stride;
        view->batch_stride = heads * view->head_stride + 5;
        break;
    case HEADS_DENSE:
    case HEADS_LAYOUTS:
        view->head_stride = head_width;
        view->token_stride = row;
        view->batch_stride = tokens * row;
        break;
    }
    return heads_span(view, batch, heads, head_width, tokens);
}

/* Of the first head all keys that have a bias are masked by it, of the others some. */
static void add_bias(suite *s, lh_attention_spec *spec, bool masks) {
    spec->buckets = BUCKETS;
    spec->bucket_first = BUCKET_FIRST;
    spec->bucket_span = BUCKET_SPAN;
    real *bias = case_in(s, "bias", &spec->bias, spec->heads * BUCKETS);
    for (int64_t i = 0; masks && i < spec->heads * BUCKETS; i++)
        if (i < BUCKETS || i % 3 == 0) bias[i] = -(real)INFINITY;
    case_in_i32(s, "bucket_of", &spec->bucket_of, BUCKET_SPAN, BUCKETS);
}

/* Below 0 they would turn a mask into infinity. */
static void add_scales(suite *s, lh_attention_spec *spec, bool masks) {
    real *scale = case_in(s, "head_scale", &spec->head_scale, spec->heads);
    for (int64_t i = 0; masks && i < spec->heads; i++)
        scale[i] = LH_R(0.5) + (real)fabs((double)scale[i]);
}

static void add_positions(suite *s, lh_attention_spec *spec, bool own) {
    spec->position_heads = own ? spec->heads : 1;
    spec->position_count = POSITIONS;
    spec->position_first = POSITION_FIRST;
    case_in(s, "positions", &spec->positions, spec->position_heads * POSITIONS * spec->head_width);
}

void attention_inputs(suite *s, lh_attention_spec *spec, const attention_shape *shape,
                      attention_flags flags) {
    static const char *const k_names[] = {"k0", "k1", "k2"}, *const v_names[] = {"v0", "v1", "v2"};
    static const char *const filled_names[] = {"filled0", "filled1", "filled2"};
    static const lh_random_key key = {
        .seed = 4242, .step = 9, .stream = LH_STREAM_DROPOUT, .op = 3};
    for (int k = 0; k < shape->source_count; k++) {
        lh_key_source *source = &spec->source[k];
        source->count = shape->source[k].count;
        source->first = shape->source[k].first;
        source->everywhere = shape->source[k].everywhere;
        if (shape->source[k].filled)
            case_in_i32(s, filled_names[k], &source->filled, spec->batch, source->count + 3);
        const int64_t k_span = heads_lay_out(&source->k, spec->batch, spec->heads, spec->head_width,
                                             source->count, flags.layout);
        case_in(s, k_names[k], &source->k.act, k_span);
        const int64_t v_span = heads_lay_out(
            &source->v, spec->batch, spec->heads, spec->head_width, source->count,
            flags.dense ? HEADS_DENSE : (heads_layout)((flags.layout + k) % HEADS_LAYOUTS));
        case_in(s, v_names[k], &source->v.act, v_span);
    }
    if (flags.head_scale) add_scales(s, spec, flags.masks);
    if (flags.bias) add_bias(s, spec, flags.masks);
    if (flags.positions) add_positions(s, spec, flags.own_positions);
    if (flags.dropout) case_in_bytes(s, "key", &spec->key, &key, sizeof key);
}

double attention_work(const attention_shape *shape) {
    double seen = 0;
    for (int k = 0; k < shape->source_count; k++) {
        const key_run *keys = &shape->source[k];
        for (int64_t i = 0; i < shape->queries; i++) {
            for (int64_t j = 0; j < keys->count; j++) {
                const int64_t distance = i - keys->first - j;
                seen += keys->everywhere ||
                        (distance >= shape->min_distance && distance <= shape->max_distance);
            }
        }
    }
    return 4 * seen * (double)(shape->batch * shape->heads * shape->head_width);
}
