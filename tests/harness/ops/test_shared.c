/* One tensor in several places of an op, or parts of it: each place contributes to the one
 * gradient, which is the sum of those that tensors of equal values get in its stead. Operands with
 * gaps between their elements, and in bf16, are what dense reals of the same values are. On every
 * device that this build has. The attentions are in tests/gradients/test_attention.c. */
#include "harness/ops/ops.h"

#include "tests/tape_bench.h"
#include "tests/test.h"

enum { SIDE = 4, COUNT = SIDE * SIDE, PLACES = 24, MOST = 4 * COUNT };

/* How operands lie: in a leaf each, or all in the first; in half of each row of a wide leaf, with
 * gaps or copied; parts of a leaf as bf16, or rounded to it. */
typedef enum layout { APART, SHARED, GAPS, DENSE, NARROW, WIDENED } layout;

typedef struct bench {
    lh_device *device;
    lh_pool *pool;
    lh_tape *tape;
    lh_tensor *leaf[PLACES], *wide[PLACES]; /* [COUNT], [2 * COUNT] */
    layout lie;
    int places;
} bench;

static bool open_bench(bench *b, const char *device) {
    *b = (bench){0};
    if (lh_device_open(device, &b->device) != LH_OK) return false;
    return CHECK_OK(lh_pool_create(b->device, &b->pool)) &&
           CHECK_OK(lh_tape_create(b->pool, &b->tape));
}

static bool add_leaf(bench *b, int64_t count, const real *values, lh_tensor **leaf) {
    return CHECK_OK(lh_tensor_create(b->pool, LH_REAL, 1, &count, leaf)) &&
           CHECK_OK(lh_tensor_write(*leaf, values, count)) &&
           CHECK_OK(lh_tensor_require_gradient(*leaf));
}

static bool add_leaves(bench *b) {
    real values[2 * COUNT];
    for (int i = 0; i < 2 * COUNT; ++i)
        values[i] = (real)test_uniform();
    for (int i = 0; i < PLACES; ++i) {
        if (!add_leaf(b, COUNT, values, &b->leaf[i]) ||
            !add_leaf(b, 2 * COUNT, values, &b->wide[i]))
            return false;
    }
    return true;
}

static void close_bench(bench *b) {
    for (int i = 0; i < PLACES; ++i) {
        lh_tensor_release(b->leaf[i]);
        lh_tensor_release(b->wide[i]);
    }
    lh_tape_destroy(b->tape);
    bench_close_pool(b->device, b->pool);
}

/* ---- operands ---- */

static lh_tensor *next_leaf(bench *b) {
    return b->leaf[b->lie == SHARED ? 0 : b->places++];
}

/* The first half of each row of a wide leaf. */
static lh_tensor *half(bench *b, int rank, const int64_t *shape) {
    int64_t wide[LH_MAX_RANK], count = 2;
    for (int i = 0; i < rank; ++i) {
        wide[i] = shape[i];
        count *= shape[i];
    }
    wide[rank - 1] *= 2;
    lh_tensor *all = lh_slice(b->tape, b->wide[b->places++], 0, 0, count);
    all = lh_reshape(b->tape, all, rank, wide);
    lh_tensor *x = lh_slice(b->tape, all, rank - 1, 0, shape[rank - 1]);
    return b->lie == DENSE ? lh_contiguous(b->tape, x) : x;
}

/* A place for an operand: elements `first` and on in this shape. */
static lh_tensor *part(bench *b, int64_t first, int rank, const int64_t *shape) {
    if (b->lie == GAPS || b->lie == DENSE) return half(b, rank, shape);
    int64_t count = 1;
    for (int i = 0; i < rank; ++i)
        count *= shape[i];
    lh_tensor *x = lh_slice(b->tape, next_leaf(b), 0, first, count);
    x = lh_reshape(b->tape, x, rank, shape);
    if (b->lie == APART || b->lie == SHARED) return x;
    x = lh_convert(b->tape, x, LH_BF16);
    return b->lie == WIDENED ? lh_convert(b->tape, x, LH_REAL) : x;
}

/* The whole of it. */
static lh_tensor *shaped(bench *b, int rank, const int64_t *shape) {
    if (b->lie == GAPS || b->lie == DENSE) return half(b, rank, shape);
    return lh_reshape(b->tape, next_leaf(b), rank, shape);
}

#define SHAPE(...)                                                                                 \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {                       \
        __VA_ARGS__                                                                                \
    }
#define WHOLE(b, ...)    shaped((b), SHAPE(__VA_ARGS__))
#define PART(b, at, ...) part((b), (at), SHAPE(__VA_ARGS__))
#define SQUARE(b)        WHOLE((b), SIDE, SIDE)
#define ROW(b)           PART((b), 0, SIDE)
#define COLUMN(b)        PART((b), 0, SIDE, 1) /* what a row is, where elements are counted */

/* ---- ops ---- */

static lh_tensor *sums(bench *b) {
    lh_tensor *twice = lh_add(b->tape, SQUARE(b), SQUARE(b)), *third = SQUARE(b);
    return lh_subtract(b->tape, lh_scale(b->tape, twice, 3), third);
}

static lh_tensor *products(bench *b) {
    lh_tensor *square = lh_multiply(b->tape, SQUARE(b), SQUARE(b)), *row = ROW(b);
    return lh_multiply_column(b->tape, lh_multiply_row(b->tape, square, row), ROW(b));
}

static lh_tensor *spread_sums(bench *b) {
    lh_tensor *y = lh_add_row(b->tape, SQUARE(b), ROW(b));
    return lh_add_batch(b->tape, y, ROW(b));
}

static lh_tensor *matmuls(bench *b) {
    lh_tensor *y = lh_matmul(b->tape, SQUARE(b), SQUARE(b), false, false);
    for (int bits = 1; bits < 4; ++bits) {
        lh_tensor *left = SQUARE(b), *right = SQUARE(b);
        y = lh_add(b->tape, y, lh_matmul(b->tape, left, right, (bits & 1) != 0, (bits & 2) != 0));
    }
    return y;
}

static lh_tensor *linear(bench *b) {
    lh_tensor *x = SQUARE(b), *weight = SQUARE(b);
    return lh_linear(b->tape, x, weight, COLUMN(b), LH_UNARY_TANH);
}

static lh_tensor *linear_add(bench *b) {
    lh_tensor *residual = SQUARE(b), *x = SQUARE(b);
    return lh_linear_add(b->tape, residual, x, SQUARE(b));
}

static lh_tensor *concat(bench *b) {
    lh_tensor *const parts[] = {SQUARE(b), SQUARE(b), lh_scale(b->tape, SQUARE(b), 0.5), SQUARE(b)};
    return lh_concat(b->tape, 1, parts, 4);
}

static lh_tensor *select_rows(bench *b) {
    lh_tensor *flag = lh_integers(b->tape, SHAPE(SIDE), (const int32_t[SIDE]){1, 0, 1, 1});
    lh_tensor *row = ROW(b);
    return lh_select_rows(b->tape, flag, row, SQUARE(b));
}

static lh_tensor *layer_norm(bench *b) {
    lh_tensor *x = SQUARE(b), *gain = COLUMN(b);
    return lh_layer_norm(b->tape, x, gain, COLUMN(b), 0.5);
}

static lh_tensor *rms_norm(bench *b) {
    lh_tensor *x = SQUARE(b);
    return lh_rms_norm(b->tape, x, COLUMN(b), 0.5);
}

static lh_tensor *fixed_gate(bench *b) {
    lh_tensor *c = SQUARE(b), *z = SQUARE(b);
    return lh_fixed_gate(b->tape, c, z, COLUMN(b));
}

/* Of states one token apart. */
static lh_tensor *shifted_gate(bench *b) {
    lh_tensor *before = PART(b, 0, SIDE - 1, SIDE), *after = PART(b, SIDE, SIDE - 1, SIDE);
    return lh_fixed_gate(b->tape, before, after, COLUMN(b));
}

static lh_tensor *lstm_gate(bench *b) {
    lh_tensor *c = SQUARE(b), *z = SQUARE(b), *forget = SQUARE(b);
    return lh_lstm_gate(b->tape, c, z, forget, SQUARE(b), 0.5, -0.5);
}

static lh_tensor *lstm_cell(bench *b) {
    lh_tensor *gates = WHOLE(b, 1, COUNT), *c = PART(b, 0, 1, SIDE), *next = NULL;
    lh_tensor *h = lh_lstm_cell(b->tape, gates, c, &next);
    return lh_add(b->tape, h, next);
}

static lh_tensor *short_convolution(bench *b) {
    lh_tensor *before = lh_zeros(b->tape, SHAPE(1, SIDE - 1, SIDE));
    lh_tensor *x = WHOLE(b, 1, SIDE, SIDE), *weight = SQUARE(b);
    return lh_short_convolution(b->tape, x, before, weight, COLUMN(b));
}

static lh_tensor *decay_scan(bench *b) {
    lh_tensor *q = WHOLE(b, 1, SIDE, SIDE), *k = WHOLE(b, 1, SIDE, SIDE), *end = NULL;
    lh_tensor *v = WHOLE(b, 1, SIDE, SIDE), *decay = PART(b, 0, 1, SIDE, 1);
    lh_tensor *y = lh_decay_scan(b->tape, q, k, v, decay, WHOLE(b, 1, 1, SIDE, SIDE), &end);
    return lh_add(b->tape, y, lh_reshape(b->tape, end, SHAPE(1, SIDE, SIDE)));
}

/* Queries and keys are one slice of rows, values the next. */
static lh_tensor *scan_of_slices(bench *b) {
    lh_tensor *q = lh_slice(b->tape, WHOLE(b, 1, SIDE, SIDE), 2, 0, 2), *end = NULL;
    lh_tensor *k = lh_slice(b->tape, WHOLE(b, 1, SIDE, SIDE), 2, 0, 2);
    lh_tensor *v = lh_slice(b->tape, WHOLE(b, 1, SIDE, SIDE), 2, 2, 2);
    return lh_decay_scan(b->tape, q, k, v, NULL, PART(b, 0, 1, 1, 2, 2), &end);
}

static lh_tensor *delta_rule(bench *b) {
    lh_tensor *k = WHOLE(b, 1, SIDE, SIDE), *v = WHOLE(b, 1, SIDE, SIDE);
    lh_tensor *beta = PART(b, 0, 1, SIDE, 1), *decay = PART(b, 0, 1, SIDE, 1);
    return lh_delta_rule(b->tape, k, v, beta, decay, WHOLE(b, 1, 1, SIDE, SIDE));
}

static lh_tensor *recurrence(bench *b) {
    lh_recurrence encoding = {
        .encoded = 2, .eta = COLUMN(b), .nu = COLUMN(b), .theta = COLUMN(b), .mu = PART(b, 1, 1)};
    encoding.head[0] = (lh_rem_head){.kind = LH_REM_REGULAR, .decay = 0, .dilation = 1};
    encoding.head[1] = (lh_rem_head){.kind = LH_REM_COSINE, .decay = 1, .angle = 2, .dilation = 1};
    const lh_keys keys = {.v = WHOLE(b, 1, SIDE, 2, SIDE / 2)};
    lh_tensor *attended = WHOLE(b, 1, SIDE, 2, SIDE / 2);
    return lh_encode_recurrence(b->tape, &encoding, &keys, 1, attended);
}

static lh_tensor *nearest(bench *b) {
    lh_tensor *count = lh_integers(b->tape, SHAPE(1), (const int32_t[]){SIDE});
    real held[COUNT];
    for (int i = 0; i < COUNT; ++i)
        held[i] = (real)(i % 5) - 2;
    lh_tensor *memory = lh_reals(b->tape, SHAPE(1, SIDE, SIDE), held);
    lh_tensor *q = WHOLE(b, 1, SIDE, 2, SIDE / 2);
    return lh_attend_knn(b->tape, q, memory, memory, count, PART(b, 2, 2, 1), SIDE);
}

static lh_tensor *loss(bench *b) {
    lh_tensor *target = lh_integers(b->tape, SHAPE(SIDE), (const int32_t[SIDE]){2, 0, 3, 1});
    lh_tensor *hidden = SQUARE(b), *weight = PART(b, 0, SIDE, SIDE);
    const lh_cross_entropy head = {.weight = weight,
                                   .bias = COLUMN(b),
                                   .scale = 1,
                                   .target = target,
                                   .weights = lh_detach(b->tape, COLUMN(b)),
                                   .gradient_scale = 1,
                                   .chunk = 2};
    return lh_linear_cross_entropy(b->tape, &head, hidden);
}

typedef struct op {
    const char *name;
    lh_tensor *(*run)(bench *b);
} op;

static const op ops[] = {{"sums", sums},
                         {"products", products},
                         {"spread sums", spread_sums},
                         {"matmul", matmuls},
                         {"linear", linear},
                         {"linear_add", linear_add},
                         {"concat", concat},
                         {"select_rows", select_rows},
                         {"layer_norm", layer_norm},
                         {"rms_norm", rms_norm},
                         {"fixed_gate", fixed_gate},
                         {"fixed_gate, a token apart", shifted_gate},
                         {"lstm_gate", lstm_gate},
                         {"lstm_cell", lstm_cell},
                         {"short_convolution", short_convolution},
                         {"decay_scan", decay_scan},
                         {"decay_scan of slices", scan_of_slices},
                         {"delta_rule", delta_rule},
                         {"recurrence", recurrence},
                         {"attend_knn", nearest},
                         {"linear_cross_entropy", loss}};

/* ---- the check ---- */

static lh_tensor *cotangent_like(bench *b, const lh_tensor *y) {
    static real values[MOST];
    for (int i = 0; i < MOST; ++i)
        values[i] = (real)(i * 7 % 11) / 5 - 1;
    return lh_reals(b->tape, y->rank, y->shape, values);
}

/* What an op gives, and the gradients of all leaves, summed. */
typedef struct outcome {
    double y[MOST], gradient[2 * COUNT];
} outcome;

static bool collect(lh_tensor *leaf, double *sum) {
    const int64_t count = lh_tensor_count(leaf);
    const lh_tensor *gradient = lh_tensor_gradient(leaf);
    real flowed[2 * COUNT] = {0};
    if (gradient != NULL && !CHECK_OK(lh_tensor_read(gradient, flowed, count))) return false;
    for (int64_t n = 0; n < count; ++n)
        sum[n] += (double)flowed[n];
    lh_tensor_clear_gradient(leaf);
    return true;
}

static bool run(bench *b, const op *tested, layout lie, outcome *out) {
    real values[MOST] = {0};
    *out = (outcome){{0}, {0}};
    lh_tape_begin(b->tape, true, 7, 3);
    b->lie = lie;
    b->places = 0;
    lh_tensor *y = tested->run(b);
    if (!CHECK(y != NULL && b->places <= PLACES && lh_tensor_count(y) <= MOST)) return false;
    if (!CHECK_OK(lh_tensor_read(y, values, lh_tensor_count(y)))) return false;
    for (int n = 0; n < MOST; ++n)
        out->y[n] = (double)values[n];
    lh_tensor *cotangent = cotangent_like(b, y);
    if (!CHECK_OK(lh_tape_backward_from(b->tape, y, cotangent))) return false;
    for (int i = 0; i < PLACES; ++i)
        if (!collect(b->leaf[i], out->gradient) || !collect(b->wide[i], out->gradient))
            return false;
    return true;
}

/* How far they are apart, as a share of the largest element. */
static double difference(const double *one, const double *other, int count) {
    double worst = 0, largest = 1e-3;
    for (int n = 0; n < count; ++n) {
        const double off = fabs(one[n] - other[n]), size = fabs(other[n]);
        worst = off <= worst ? worst : isnan(off) ? HUGE_VAL : off;
        largest = size > largest ? size : largest;
    }
    return worst / largest;
}

static double difference_of(bench *b, const op *tested, layout one, layout other) {
    outcome x, y;
    if (!run(b, tested, one, &x) || !run(b, tested, other, &y)) return HUGE_VAL;
    return fmax(difference(x.y, y.y, MOST), difference(x.gradient, y.gradient, 2 * COUNT));
}

static void check_device(const char *device, layout one, layout other) {
    for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
        bench b;
        if (!open_bench(&b, device)) return;
        if (add_leaves(&b) && !CHECK_NEAR(difference_of(&b, &ops[i], one, other), 0.0, 1e-5))
            printf("  %s on %s\n", ops[i].name, device);
        close_bench(&b);
    }
}

TEST(one_tensor_in_several_places) {
    check_device("cpu", SHARED, APART);
    check_device("cuda", SHARED, APART);
}

TEST(operands_with_gaps) {
    check_device("cpu", GAPS, DENSE);
    check_device("cuda", GAPS, DENSE);
}

TEST(operands_in_bf16) {
    check_device("cpu", NARROW, WIDENED);
    check_device("cuda", NARROW, WIDENED);
}

/* No op makes integers dense: every second of a row is refused, not taken for the first ones. */
TEST(integers_with_gaps_are_refused) {
    bench b;
    REQUIRE(open_bench(&b, "cpu") && add_leaves(&b));
    lh_tape_begin(b.tape, true, 7, 3);
    lh_tensor *pairs = lh_integers(b.tape, SHAPE(SIDE, 2), (const int32_t[2 * SIDE]){0, 1, 2, 3});
    lh_tensor *gaps = lh_slice(b.tape, pairs, 1, 0, 1), *x = SQUARE(&b), *row = ROW(&b);
    lh_tensor *heads = lh_reshape(b.tape, x, SHAPE(SIDE, 1, 1, SIDE));
    lh_tensor *memory = lh_reshape(b.tape, x, SHAPE(SIDE, 1, SIDE));
    const lh_cross_entropy head = {.weight = x, .scale = 1, .target = gaps, .gradient_scale = 1};
    lh_attention attention = LH_ATTENTION;
    attention.keys[attention.key_count++] = (lh_keys){.k = heads, .v = heads, .filled = gaps};
    CHECK(lh_gather(b.tape, x, gaps) == NULL);
    CHECK(strstr(lh_error_text(), "integers lie side by side") != NULL);
    CHECK(lh_scatter_add(b.tape, x, gaps, SIDE) == NULL);
    CHECK(lh_select_rows(b.tape, gaps, row, x) == NULL);
    CHECK(lh_linear_cross_entropy(b.tape, &head, x) == NULL);
    CHECK(lh_attend(b.tape, &attention, heads) == NULL);
    CHECK(lh_attend_knn(b.tape, heads, memory, memory, gaps, NULL, 1) == NULL);
    close_bench(&b);
}

/* The gradient of an activation may be made in place, but not where the caller's cotangent lies. */
TEST(a_cotangent_stays_as_it_was) {
    bench b;
    double sum[COUNT];
    REQUIRE(open_bench(&b, "cpu") && add_leaves(&b));
    lh_tape_begin(b.tape, true, 7, 3);
    lh_tensor *y = linear(&b), *cotangent = cotangent_like(&b, y);
    for (int i = 0; i < COUNT; ++i)
        sum[i] = (double)lh_tensor_real(cotangent)[i];
    CHECK_OK(lh_tape_backward_from(b.tape, y, cotangent));
    for (int i = 0; i < COUNT; ++i)
        CHECK_NEAR(lh_tensor_real(cotangent)[i], sum[i], 0.0);
    close_bench(&b);
}
