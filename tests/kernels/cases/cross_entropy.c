/* Cross entropy of rows of logits: with gradient, in place or beside them, and weights, and rows
 * that are masked or not numbers. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t rows, vocabulary, padding; /* elements behind a row */
    bool gradient, weighted, scaled, correct, beside;
} shape;

static void open_rows(suite *s, lh_cross_entropy_args *args, const shape *w, const char *what) {
    *args = (lh_cross_entropy_args){.rows = w->rows,
                                    .vocabulary = w->vocabulary,
                                    .leading = w->vocabulary + w->padding,
                                    .scale = LH_R(0.8),
                                    .gradient = w->gradient};
    case_open(s, args, sizeof *args,
              "%" PRId64 " x %" PRId64 " and %" PRId64
              ", gradient %d, weighted %d, scaled %d, correct %d, beside %d%s",
              w->rows, w->vocabulary, w->padding, w->gradient, w->weighted, w->scaled, w->correct,
              w->beside, what);
}

/* In bf16 a gradient lies beside the logits. */
static real *add_logits(suite *s, lh_cross_entropy_args *args, bool beside) {
    const int64_t count = args->rows * args->leading;
    const bool in_place = args->gradient && !beside;
    real *x = in_place ? case_in_out(s, "x", &args->x, count) : case_in(s, "x", &args->x, count);
    if (args->gradient && beside) {
        case_out(s, "dx", &args->dx, count, LH_SET);
        case_dtype(s, &args->dx, s->dtype);
    }
    scale_reals(x, count, 3);
    return x;
}

static void add_outputs(suite *s, lh_cross_entropy_args *args, const shape *w) {
    case_out(s, "loss", &args->loss, w->rows, LH_SET);
    case_scale(s, &args->loss,
               fabs((double)args->scale) * largest(args->x, w->rows * args->leading));
    if (w->correct) case_out(s, "correct", &args->correct, w->rows, LH_SET);
    case_flops(s, 5.0 * (double)(w->rows * w->vocabulary));
}

/* Some targets are the best guess, and behind a weight of 0 a target may be anything. */
static void check(suite *s, const shape *w) {
    lh_cross_entropy_args args;
    open_rows(s, &args, w, "");
    real *x = add_logits(s, &args, w->beside || s->dtype == LH_BF16);
    int32_t *target = case_in_i32(s, "target", &args.target, w->rows, w->vocabulary);
    for (int64_t r = 0; r < w->rows; r += 2)
        x[r * args.leading + target[r]] = 12;
    if (w->weighted) {
        real *weight = case_in(s, "weight", &args.weight, w->rows);
        for (int64_t r = 0; r < w->rows; r++) {
            weight[r] = r % 3 == 1 ? 0 : (real)suite_uniform(s);
            if (r % 3 == 1) target[r] = -1;
        }
    }
    if (w->scaled) *case_in(s, "gradient_scale", &args.gradient_scale, 1) = LH_R(0.013);
    add_outputs(s, &args, w);
    case_run(s);
}

/* Several largest logits: the first of them is the guess. */
static void check_ties(suite *s, int64_t vocabulary) {
    const shape w = {.rows = 24, .vocabulary = vocabulary, .gradient = true, .correct = true};
    lh_cross_entropy_args args;
    open_rows(s, &args, &w, ", ties");
    real *x = add_logits(s, &args, s->dtype == LH_BF16);
    int32_t *target = case_in_i32(s, "target", &args.target, w.rows, w.vocabulary);
    for (int64_t i = 0; i < w.rows * w.vocabulary; i++)
        x[i] = (real)suite_integer(s, 3);
    for (int64_t r = 0; r < w.rows; r++)
        target[r] = (int32_t)(r % w.vocabulary);
    add_outputs(s, &args, &w);
    case_run(s);
}

/* Scores whose exponentials leave even a double, of either sign: the peak is taken off first. */
static void check_steep(suite *s, int64_t vocabulary, real scale) {
    const shape w = {.rows = 9, .vocabulary = vocabulary, .gradient = true, .correct = true};
    lh_cross_entropy_args args;
    open_rows(s, &args, &w, scale < 0 ? ", steep, negative" : ", steep");
    args.scale = scale;
    add_logits(s, &args, s->dtype == LH_BF16);
    case_in_i32(s, "target", &args.target, w.rows, w.vocabulary);
    add_outputs(s, &args, &w);
    case_run(s);
}

static void check_invalid(suite *s, int64_t vocabulary, int32_t wrong) {
    const shape w = {.rows = 5, .vocabulary = vocabulary, .gradient = true};
    lh_cross_entropy_args args;
    open_rows(s, &args, &w, ", an invalid target");
    add_logits(s, &args, s->dtype == LH_BF16);
    case_in_i32(s, "target", &args.target, w.rows, w.vocabulary)[2] = wrong;
    add_outputs(s, &args, &w);
    case_expect(s, LH_EOPTION, false);
    case_run(s);
}

static void check_nan(suite *s, int64_t vocabulary) {
    const shape w = {.rows = 5, .vocabulary = vocabulary, .gradient = true};
    lh_cross_entropy_args args;
    open_rows(s, &args, &w, ", a NaN");
    add_logits(s, &args, s->dtype == LH_BF16)[2 * w.vocabulary + 5] = (real)NAN;
    case_in_i32(s, "target", &args.target, w.rows, w.vocabulary);
    add_outputs(s, &args, &w);
    case_run(s);
}

void cases_cross_entropy(suite *s) {
    static const suite_box boxes[] = {{0, 5},   {1, 1},   {2, 2},    {3, 7},    {5, 8},
                                      {9, 17},  {16, 31}, {7, 33},   {17, 64},  {33, 127},
                                      {5, 257}, {65, 16}, {3, 1021}, {4, 5003}, {257, 67}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            check(s,
                  &(shape){boxes[i].rows, boxes[i].width, 0, suite_flag(row, 0), suite_flag(row, 1),
                           suite_flag(row, 2), suite_flag(row, 3), suite_flag(row, 4)});
    /* what lies between rows */
    static const suite_box padded[] = {{3, 7}, {5, 64}, {4, 2305}};
    for (size_t i = 0; i < sizeof padded / sizeof *padded; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            check(s, &(shape){.rows = padded[i].rows,
                              .vocabulary = padded[i].width,
                              .padding = 1 + 3 * row,
                              .gradient = suite_flag(row, 0),
                              .weighted = suite_flag(row, 1),
                              .beside = suite_flag(row, 4)});
    /* short rows, and such as a GPU takes by blocks */
    static const int64_t vocabularies[] = {33, 2305};
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++) {
        const int64_t vocabulary = vocabularies[i];
        check_ties(s, vocabulary);
        check_steep(s, vocabulary, LH_R(400));
        check_steep(s, vocabulary, -LH_R(400));
        check_invalid(s, vocabulary, -1);
        check_invalid(s, vocabulary, (int32_t)vocabulary);
        check_nan(s, vocabulary);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_cross_entropy_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_cross_entropy_args, .vocabulary = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_cross_entropy_args, .vocabulary = 3, .leading = 2);
    CASE_REFUSED(s, LH_EOPTION, lh_cross_entropy_args, .dx = {.dtype = LH_I32});
}

void bench_cross_entropy(suite *s) {
    check(s, &(shape){.rows = 4096, .vocabulary = 256, .gradient = true, .correct = true});
    check(s, &(shape){.rows = 512, .vocabulary = 8192, .gradient = true, .correct = true});
}

static double loss_of(suite *s, const void *arguments) {
    lh_cross_entropy_args args = *(const lh_cross_entropy_args *)arguments;
    const int64_t count = args.rows * args.vocabulary;
    real *x = scratch(count), *loss = scratch(args.rows);
    memcpy(x, args.x, (size_t)count * sizeof *x);
    args.x = x;
    args.loss = loss;
    args.gradient = false;
    launch_cross_entropy(s, &args);
    double sum = 0;
    for (int64_t r = 0; r < args.rows; r++)
        sum += (double)loss[r] * (double)*args.gradient_scale;
    free(x);
    free(loss);
    return sum;
}

void gradients_cross_entropy(suite *s) {
    enum { ROWS = 4, WORDS = 9, COUNT = ROWS * WORDS };
    real x[COUNT], dx[COUNT], loss[ROWS], weight[ROWS] = {1, LH_R(0.5), 0, LH_R(0.25)};
    const real scale = LH_R(0.3);
    const int32_t target[ROWS] = {3, 0, -1, 8};
    lh_cross_entropy_args args = {.rows = ROWS,
                                  .vocabulary = WORDS,
                                  .leading = WORDS,
                                  .scale = LH_R(0.8),
                                  .x = x,
                                  .target = target,
                                  .weight = weight,
                                  .gradient_scale = &scale,
                                  .loss = loss};
    lh_cross_entropy_args back = args;
    case_open(s, &back, sizeof back, "%d x %d", ROWS, WORDS);
    for (int i = 0; i < COUNT; i++)
        dx[i] = x[i] = (real)suite_normal(s);
    back.x = dx;
    back.gradient = true;
    launch_cross_entropy(s, &back);
    const gradient_pair pair = {"x", x, dx, COUNT};
    gradient_check(s, &pair, 1, loss_of, &args);
    s->ordinal++;
}
