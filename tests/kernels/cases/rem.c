/* Recurrence encodings (Huang et al. 2023): every kind of matrix, over the key runs of attention.
 */
#include "tests/kernels/cases/attention_shape.h"

/* Batch, heads, width and runs of keys as in an attention; then how far lags go. */
typedef struct rem_shape {
    attention_shape base;
    bool both_ways;
    int64_t cutoff;
} rem_shape;

static const rem_shape shapes[] = {
    {{"no batch", 0, 2, 3, 4, 0, 0, 0, 0, 1, {{3, 0, false, false}}}, false, LH_FAR},
    {{"no query", 2, 2, 0, 4, 0, 0, 0, 0, 1, {{3, -3, false, false}}}, false, LH_FAR},
    {{"no key", 2, 2, 3, 4, 0, 0, 0, 0, 1, {{0, 0, false, false}}}, true, 5},
    {{"no source", 1, 2, 3, 4, 0, 0, 0, 0, 0, {{0, 0, false, false}}}, false, 5},
    {{"one of each", 1, 1, 1, 1, 0, 0, 0, 0, 1, {{1, 0, false, false}}}, false, LH_FAR},
    {{"one key before", 1, 1, 1, 1, 0, 0, 0, 0, 1, {{1, -1, false, false}}}, false, LH_FAR},
    {{"square", 2, 7, 23, 5, 0, 0, 0, 0, 1, {{23, 0, false, false}}}, false, LH_FAR},
    {{"square", 2, 7, 23, 5, 0, 0, 0, 0, 1, {{23, 0, false, false}}}, true, LH_FAR},
    {{"square", 2, 8, 23, 16, 0, 0, 0, 0, 1, {{23, 0, false, false}}}, false, 3},
    {{"square", 2, 8, 23, 16, 0, 0, 0, 0, 1, {{23, 0, false, false}}}, true, 3},
    {{"no power", 1, 7, 9, 4, 0, 0, 0, 0, 1, {{9, 0, false, false}}}, true, 0},
    {{"memory", 3, 7, 17, 9, 0, 0, 0, 0, 2, {{31, -31, false, false}, {17, 0, false, false}}},
     false,
     4},
    {{"part of a memory",
      5,
      6,
      9,
      4,
      0,
      0,
      0,
      0,
      2,
      {{13, -13, false, true}, {9, 0, false, false}}},
     false,
     LH_FAR},
    {{"part of a memory and states",
      2,
      6,
      9,
      3,
      0,
      0,
      0,
      0,
      3,
      {{4, 0, true, false}, {9, 0, false, false}, {13, -13, false, true}}},
     true,
     7},
    {{"memory far behind",
      1,
      7,
      9,
      4,
      0,
      0,
      0,
      0,
      2,
      {{6, -20, false, false}, {9, 0, false, false}}},
     true,
     LH_FAR},
    {{"two time axes", 2, 7, 19, 6, 0, 0, 0, 0, 1, {{12, -7, false, false}}}, true, LH_FAR},
    {{"keys ahead", 1, 7, 5, 6, 0, 0, 0, 0, 1, {{12, 9, false, false}}}, true, LH_FAR},
    {{"one query", 3, 7, 1, 16, 0, 0, 0, 0, 2, {{40, -40, false, false}, {1, 0, false, false}}},
     false,
     8},
    {{"wide heads", 1, 6, 12, 130, 0, 0, 0, 0, 1, {{12, 0, false, false}}}, true, 5},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const rem_shape bench_shape = {{"512 after 512",
                                       8,
                                       8,
                                       512,
                                       64,
                                       0,
                                       0,
                                       0,
                                       0,
                                       2,
                                       {{512, -512, false, false}, {512, 0, false, false}}},
                                      false,
                                      200};

enum { ENTRIES = 4 };

/* Kinds in turn, dilations 1, 2, 3, 1, ...; the cyclical ones share entries, or have an angle that
 * is not learned. All heads but one are encoded. */
static void choose_heads(lh_rem_spec *spec, int64_t cutoff, bool fixed_angle) {
    spec->encoded = (int)(spec->heads > 1 ? spec->heads - 1 : spec->heads);
    for (int h = 0; h < spec->encoded; h++) {
        const lh_rem_kind kind = (lh_rem_kind)(h % 3);
        spec->head[h] = (lh_rem_head){.kind = kind,
                                      .decay = h / 3 % ENTRIES,
                                      .angle = fixed_angle && h > 2 ? -1 : h / 3 % ENTRIES,
                                      .dilation = 1 + h % 4 % 3,
                                      .cutoff = cutoff};
    }
}

static void parameters(suite *s, lh_rem_spec *spec) {
    spec->eta_count = spec->nu_count = spec->theta_count = ENTRIES;
    real *eta = case_in(s, "eta", &spec->eta, ENTRIES);
    eta[0] = LH_R(-1.1);
    eta[1] = 0; /* lambda = 0: 0^0 in the derivative at lag 1 */
    case_in(s, "nu", &spec->nu, ENTRIES);
    case_in(s, "theta", &spec->theta, ENTRIES);
    case_in(s, "mu", &spec->mu, 1);
}

static int64_t lay_out(const lh_rem_spec *spec, lh_heads *view, int64_t tokens, int layout) {
    return heads_lay_out(view, spec->batch, spec->heads, spec->head_width, tokens,
                         (heads_layout)(layout % HEADS_LAYOUTS));
}

static void values(suite *s, lh_rem_spec *spec, const rem_shape *shape, int layout) {
    static const char *const names[] = {"v0", "v1", "v2"};
    static const char *const filled[] = {"filled0", "filled1", "filled2"};
    spec->source_count = shape->base.source_count;
    for (int k = 0; k < spec->source_count; k++) {
        const key_run *run = &shape->base.source[k];
        lh_key_source *source = &spec->source[k];
        source->count = run->count;
        source->first = run->first;
        source->everywhere = run->everywhere;
        if (run->filled) case_in_i32(s, filled[k], &source->filled, spec->batch, run->count + 3);
        case_in(s, names[k], &source->v.act, lay_out(spec, &source->v, run->count, layout));
    }
}

static void open_case(suite *s, void *args, size_t size, lh_rem_spec *spec, const rem_shape *shape,
                      int row) {
    spec->batch = shape->base.batch;
    spec->heads = shape->base.heads;
    spec->queries = shape->base.queries;
    spec->head_width = shape->base.head_width;
    spec->both_ways = shape->both_ways;
    choose_heads(spec, shape->cutoff, suite_flag(row, 6));
    case_open(s, args, size,
              "%s, batch %" PRId64 ", heads %" PRId64 ", queries %" PRId64 ", width %" PRId64
              ", both ways %d, cutoff %" PRId64 ", flags %d",
              shape->base.name, spec->batch, spec->heads, spec->queries, spec->head_width,
              spec->both_ways, shape->cutoff, row);
}

/* ---- Forward ---- */

static void forward(suite *s, const rem_shape *shape, int row, int layout) {
    lh_rem_forward_args args = {.spec = {.batch = 0}};
    lh_rem_spec *spec = &args.spec;
    open_case(s, &args, sizeof args, spec, shape, row);
    case_in(s, "attention", &args.attention.act,
            lay_out(spec, &args.attention, spec->queries, layout));
    parameters(s, spec);
    values(s, spec, shape, layout + 1);
    case_out(s, "out", &args.out.act, lay_out(spec, &args.out, spec->queries, layout + 2), LH_SET);
    case_flops(s, 8.0 * (double)(spec->batch * spec->heads * spec->queries * spec->head_width));
    case_run(s);
}

/* What no recurrence encoding may be. */
static const lh_rem_spec misshapen[] = {{.batch = -1},
                                        {.heads = -1},
                                        {.queries = -1},
                                        {.head_width = -1},
                                        {.eta_count = -1},
                                        {.nu_count = -1},
                                        {.theta_count = -1},
                                        {.encoded = -1},
                                        {.heads = 1, .encoded = 2},
                                        {.heads = LH_REM_HEADS + 1, .encoded = LH_REM_HEADS + 1},
                                        {.source_count = -1},
                                        {.source_count = LH_KEY_SOURCES + 1},
                                        {.source_count = 1, .source = {{.count = -1}}}};
static const lh_rem_head strange[] = {{.kind = (lh_rem_kind)3, .dilation = 1},
                                      {.kind = LH_REM_REGULAR, .dilation = 0},
                                      {.kind = LH_REM_REGULAR, .decay = -1, .dilation = 1},
                                      {.kind = LH_REM_REGULAR, .decay = 1, .dilation = 1},
                                      {.kind = LH_REM_COSINE, .decay = 2, .dilation = 1},
                                      {.kind = LH_REM_SINE, .angle = 3, .dilation = 1}};

static lh_rem_spec encoded_by(lh_rem_head head) {
    return (lh_rem_spec){
        .heads = 1, .encoded = 1, .head = {head}, .eta_count = 1, .nu_count = 2, .theta_count = 3};
}

void cases_rem_forward(suite *s) {
    for (int i = 0; i < SHAPES; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            if (suite_tries(s, i, row)) forward(s, &shapes[i], row, row % HEADS_LAYOUTS);
    for (size_t i = 0; i < sizeof misshapen / sizeof *misshapen; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_rem_forward_args, .spec = misshapen[i]);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        CASE_REFUSED(s, LH_EOPTION, lh_rem_forward_args, .spec = encoded_by(strange[i]));
    CASE_REFUSED(s, LH_EOPTION, lh_rem_forward_args, .attention = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_rem_forward_args, .out = {.act = {.dtype = LH_BF16}});
}

void bench_rem_forward(suite *s) {
    forward(s, &bench_shape, 0, HEADS_DENSE);
}

/* ---- Backward ---- */

static double backward_loss(suite *s, const void *arguments) {
    const lh_rem_backward_args *args = arguments;
    const lh_rem_spec *spec = &args->spec;
    const int64_t count = spec->batch * spec->heads * spec->queries * spec->head_width;
    real *out = scratch(count);
    lh_rem_forward_args forward_args = {
        .spec = *spec, .attention = args->attention, .out = args->dout};
    forward_args.out.act.data = out;
    launch_rem_forward(s, &forward_args);
    const double loss = dot(out, args->dout.act.data, count);
    free(out);
    return loss;
}

static void value_gradients(suite *s, lh_rem_spec *spec, int row, int layout) {
    static const char *const names[] = {"dv0", "dv1", "dv2"};
    for (int k = 0; k < spec->source_count; k++) {
        lh_key_source *source = &spec->source[k];
        if (source->everywhere || (k == 0 && suite_flag(row, 1))) continue;
        source->write = write_of(suite_flag(row, 3));
        const int64_t span = lay_out(spec, &source->dv, source->count, layout);
        case_out(s, names[k], &source->dv.act, span, source->write);
        case_pair(s, &source->v.act, &source->dv.act);
    }
}

/* The gradient of a parameter is a sum over all elements of dout, of either sign. */
static void parameter_gradient(suite *s, const lh_rem_backward_args *args, const char *name,
                               const void *parameter, real **gradient, int64_t count,
                               lh_write write) {
    const lh_rem_spec *spec = &args->spec;
    const double elements = (double)(spec->batch * spec->heads * spec->queries * spec->head_width);
    case_out(s, name, gradient, count, write);
    case_scale(s, gradient, sqrt(elements));
    case_pair(s, parameter, gradient);
}

static void parameter_gradients(suite *s, lh_rem_backward_args *args, int row) {
    const lh_rem_spec *spec = &args->spec;
    args->deta_write = args->dmu_write = write_of(suite_flag(row, 4));
    args->dnu_write = args->dtheta_write = write_of(suite_flag(row, 5));
    parameter_gradient(s, args, "deta", &spec->eta, &args->deta, ENTRIES, args->deta_write);
    if (!suite_flag(row, 2)) {
        parameter_gradient(s, args, "dnu", &spec->nu, &args->dnu, ENTRIES, args->dnu_write);
        parameter_gradient(s, args, "dmu", &spec->mu, &args->dmu, 1, args->dmu_write);
    }
    parameter_gradient(s, args, "dtheta", &spec->theta, &args->dtheta, ENTRIES, args->dtheta_write);
}

static void backward(suite *s, const rem_shape *shape, int row, int layout, bool dense) {
    lh_rem_backward_args args = {.spec = {.batch = 0}};
    lh_rem_spec *spec = &args.spec;
    open_case(s, &args, sizeof args, spec, shape, row);
    const int step = dense ? 0 : 1; /* gaps have no gradient */
    case_in(s, "attention", &args.attention.act,
            lay_out(spec, &args.attention, spec->queries, layout));
    case_in(s, "dout", &args.dout.act, lay_out(spec, &args.dout, spec->queries, layout + step));
    parameters(s, spec);
    values(s, spec, shape, layout + 2 * step);
    if (!suite_flag(row, 0)) {
        args.dattention_write = write_of(suite_flag(row, 3));
        case_out(s, "dattention", &args.dattention.act,
                 lay_out(spec, &args.dattention, spec->queries, layout + 2 * step),
                 args.dattention_write);
        case_pair(s, &args.attention.act, &args.dattention.act);
    }
    value_gradients(s, spec, row, layout + step);
    parameter_gradients(s, &args, row);
    case_loss(s, backward_loss);
    case_flops(s, 40.0 * (double)(spec->batch * spec->heads * spec->queries * spec->head_width));
    case_run(s);
}

void cases_rem_backward(suite *s) {
    for (int i = 0; i < SHAPES; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            if (suite_tries(s, i, row)) backward(s, &shapes[i], row, row % HEADS_LAYOUTS, false);
    for (size_t i = 0; i < sizeof misshapen / sizeof *misshapen; i++)
        CASE_REFUSED(s, LH_ESHAPE, lh_rem_backward_args, .spec = misshapen[i]);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        CASE_REFUSED(s, LH_EOPTION, lh_rem_backward_args, .spec = encoded_by(strange[i]));
    CASE_REFUSED(s, LH_EOPTION, lh_rem_backward_args, .attention = {.act = {.dtype = LH_BF16}});
    CASE_REFUSED(s, LH_EOPTION, lh_rem_backward_args, .dout = {.act = {.dtype = LH_BF16}});
}

void bench_rem_backward(suite *s) {
    backward(s, &bench_shape, 0, HEADS_DENSE, true);
}

void gradients_rem_backward(suite *s) {
    for (int i = 6; i < SHAPES - 1; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, &shapes[i], row, HEADS_DENSE, true);
}
