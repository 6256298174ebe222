/* Gradients of every op but the attentions, against differences. */
#include "tests/gradients/gradient_check.h"
#include "tests/test.h"

/* One check: leaves, function, bound. */
#define GRADIENTS_AGREE(bench, function, context)                                                  \
    CHECK_NEAR(check_gradients((bench), (function), (context)), 0.0, 1e-6)

static lh_tensor *run_views(check_bench *b, void *context) {
    (void)context;
    lh_tensor *x = b->input[0];
    lh_tensor *middle = lh_slice(b->tape, x, 1, 1, 3);
    lh_tensor *order = lh_permute(b->tape, middle, (const int[]){2, 0, 1});
    lh_tensor *flat = lh_reshape(b->tape, order, 2, (const int64_t[]){-1, 3});
    lh_tensor *whole = lh_reshape(b->tape, x, 2, (const int64_t[]){4, 10});
    lh_tensor *part =
        lh_reshape(b->tape, lh_slice(b->tape, whole, 0, 0, 3), 2, (const int64_t[]){10, 3});
    lh_tensor *const parts[] = {flat, part, lh_scale(b->tape, flat, -0.5)};
    return lh_concat(b->tape, 0, parts, 3);
}

TEST(views_and_moves) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 2, 5, 4);
    GRADIENTS_AGREE(&b, run_views, NULL);
    check_close(&b);
}

/* Each step reads all that was written before it through overlapping slices; the last row is read
 * by nobody. */
static lh_tensor *run_sequence(check_bench *b, void *context) {
    (void)context;
    const int64_t shape[] = {3, 5, 2};
    lh_tensor *sequence = lh_sequence(b->tape, 3, shape);
    CHECK_OK(lh_sequence_write(b->tape, sequence, 1, 0, lh_slice(b->tape, b->input[0], 1, 1, 2)));
    for (int64_t t = 2; t < 5; ++t) {
        lh_tensor *near = lh_slice(b->tape, sequence, 1, t - 1, 1);
        lh_tensor *far = lh_slice(b->tape, sequence, 1, t - 2, 1);
        lh_tensor *next = lh_multiply(b->tape, lh_unary(b->tape, LH_UNARY_TANH, near), far);
        CHECK_OK(lh_sequence_write(b->tape, sequence, 1, t, lh_add(b->tape, next, far)));
    }
    return lh_contiguous(b->tape, lh_slice(b->tape, sequence, 1, 0, 4));
}

TEST(sequences_written_step_by_step) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 3, 4, 2);
    GRADIENTS_AGREE(&b, run_sequence, NULL);
    lh_tape_begin(b.tape, false, 1, 0);
    const int64_t shape[] = {3, 5, 2};
    lh_tensor *sequence = lh_sequence(b.tape, 3, shape);
    CHECK_FAILS(lh_sequence_write(b.tape, sequence, 1, 2, b.input[0]), LH_ESHAPE, "[3][5][2]");
    CHECK_FAILS(lh_sequence_write(b.tape, sequence, 0, 0, b.input[0]), LH_ESHAPE, "[3][4][2]");
    check_close(&b);
}

static lh_tensor *run_arithmetic(check_bench *b, void *context) {
    (void)context;
    lh_tensor *x = b->input[0], *y = b->input[1], *row = b->input[2];
    lh_tensor *sum = lh_add(b->tape, x, lh_subtract(b->tape, y, x));
    sum = lh_add(b->tape, sum, x);
    lh_tensor *product = lh_multiply(b->tape, sum, y);
    product = lh_add_row(b->tape, lh_multiply_row(b->tape, product, row), row);
    product = lh_add_batch(b->tape, product, row);
    product = lh_multiply_column(b->tape, product, b->input[3]);
    lh_tensor *mean = lh_mean(b->tape, lh_softmax(b->tape, product), 0);
    return lh_add(b->tape, mean, lh_repeat(b->tape, lh_sum_all(b->tape, product), 4));
}

TEST(arithmetic_and_reductions) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 3, 4);
    LEAF(&b, 3, 4);
    LEAF(&b, 4);
    LEAF(&b, 3);
    GRADIENTS_AGREE(&b, run_arithmetic, NULL);
    check_close(&b);
}

static lh_tensor *run_unary(check_bench *b, void *context) {
    const lh_unary_op op = *(const lh_unary_op *)context;
    /* Squares plus a half keep log and roots in their domain; relu's kink is never within a step.
     */
    lh_tensor *x = b->input[0];
    if (op == LH_UNARY_LOG || op == LH_UNARY_SQRT || op == LH_UNARY_RSQRT) {
        x = lh_add(b->tape, lh_unary(b->tape, LH_UNARY_SQUARE, x),
                   lh_unary(b->tape, LH_UNARY_SIGMOID, x));
    }
    return lh_unary(b->tape, op, x);
}

TEST(functions_of_one_tensor) {
    for (int op = LH_UNARY_IDENTITY; op <= LH_UNARY_SOFTPLUS; ++op) {
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, 5, 7);
        lh_unary_op chosen = (lh_unary_op)op;
        GRADIENTS_AGREE(&b, run_unary, &chosen);
        check_close(&b);
    }
}

static lh_tensor *run_linear(check_bench *b, void *context) {
    const lh_unary_op op = *(const lh_unary_op *)context;
    lh_tensor *y = lh_linear(b->tape, b->input[0], b->input[1], b->input[2], op);
    return lh_linear_add(b->tape, y, y, b->input[3]);
}

TEST(a_weight_that_is_transposed_is_told_how_it_lies) {
    check_bench b;
    REQUIRE(check_open(&b));
    lh_tensor *x = LEAF(&b, 5, 7), *weight = LEAF(&b, 3, 7);
    lh_tape_begin(b.tape, false, 1, 0);
    CHECK(lh_linear(b.tape, x, weight, NULL, LH_UNARY_IDENTITY) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE,
                "weight [3][7], bias none; a weight is [in][out]");
    check_close(&b);
}

TEST(linear_with_every_activation) {
    const lh_unary_op ops[] = {LH_UNARY_IDENTITY, LH_UNARY_RELU,       LH_UNARY_GELU,
                               LH_UNARY_TANH,     LH_UNARY_GELU_EXACT, LH_UNARY_SIGMOID,
                               LH_UNARY_SILU,     LH_UNARY_SOFTPLUS,   LH_UNARY_ELU};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, 2, 3, 5);
        LEAF(&b, 5, 4);
        LEAF(&b, 4);
        LEAF(&b, 4, 4);
        lh_unary_op op = ops[i];
        GRADIENTS_AGREE(&b, run_linear, &op);
        check_close(&b);
    }
}

static lh_tensor *run_matmul(check_bench *b, void *context) {
    const int bits = *(const int *)context;
    return lh_matmul(b->tape, b->input[0], b->input[1], (bits & 1) != 0, (bits & 2) != 0);
}

TEST(batched_products_and_transposes) {
    for (int bits = 0; bits < 4; ++bits) {
        check_bench b;
        REQUIRE(check_open(&b));
        if ((bits & 1) != 0) {
            LEAF(&b, 2, 4, 3);
        } else {
            LEAF(&b, 2, 3, 4);
        }
        if ((bits & 2) != 0) {
            LEAF(&b, 2, 5, 4);
        } else {
            LEAF(&b, 2, 4, 5);
        }
        GRADIENTS_AGREE(&b, run_matmul, &bits);
        check_close(&b);
    }
}

static lh_tensor *run_norms(check_bench *b, void *context) {
    (void)context;
    lh_tensor *x = b->input[0];
    lh_tensor *y = lh_layer_norm(b->tape, x, b->input[1], b->input[2], 1e-5);
    y = lh_add(b->tape, y, lh_rms_norm(b->tape, x, b->input[1], 1e-6));
    y = lh_add(b->tape, y, lh_unit_norm(b->tape, x, 1e-6));
    y = lh_add(b->tape, y, lh_dropout(b->tape, x, 0.3, 0));
    return lh_add(b->tape, y, lh_dropout(b->tape, x, 0.3, 2));
}

TEST(norms_and_dropout) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 2, 4, 6);
    LEAF(&b, 6);
    LEAF(&b, 6);
    GRADIENTS_AGREE(&b, run_norms, NULL);
    check_close(&b);
}

static lh_tensor *run_gates(check_bench *b, void *context) {
    (void)context;
    lh_tensor **x = b->input;
    lh_tensor *fixed = lh_fixed_gate(b->tape, x[0], x[1], x[4]);
    return lh_lstm_gate(b->tape, fixed, x[1], x[2], x[3], 1.0, -1.0);
}

TEST(gates) {
    check_bench b;
    REQUIRE(check_open(&b));
    for (int i = 0; i < 4; ++i)
        LEAF(&b, 3, 5);
    LEAF(&b, 5);
    GRADIENTS_AGREE(&b, run_gates, NULL);
    check_close(&b);
}

/* q, k and v are slices of one tensor, as a projection gives them; y and the last state both count.
 */
static lh_tensor *run_scan(check_bench *b, void *context) {
    const bool decays = *(const bool *)context;
    lh_tensor *joined = b->input[0], *end = NULL;
    lh_tensor *decay =
        lh_unary(b->tape, LH_UNARY_LOG, lh_unary(b->tape, LH_UNARY_SIGMOID, b->input[1]));
    lh_tensor *y = lh_decay_scan(
        b->tape, lh_slice(b->tape, joined, 2, 0, 6), lh_slice(b->tape, joined, 2, 6, 6),
        lh_slice(b->tape, joined, 2, 12, 8), decays ? decay : NULL, b->input[2], &end);
    lh_tensor *const parts[] = {lh_reshape(b->tape, y, 1, (const int64_t[]){-1}),
                                lh_reshape(b->tape, end, 1, (const int64_t[]){-1})};
    return lh_concat(b->tape, 0, parts, 2);
}

TEST(decaying_scans) {
    for (int decays = 0; decays < 2; ++decays) {
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, 2, 5, 20);
        if (decays == 1) LEAF(&b, 2, 5, 4);
        if (decays == 0) check_integers(&b, 0, NULL);
        LEAF(&b, 2, 4, 3, 2);
        bool context = decays == 1;
        GRADIENTS_AGREE(&b, run_scan, &context);
        check_close(&b);
    }
}

/* Unit keys and beta within 0 and 1; what is written is scanned, as a model does it. */
static lh_tensor *run_delta_rule(check_bench *b, void *context) {
    const bool decays = *(const bool *)context;
    lh_tensor *joined = b->input[0], *start = b->input[2], *end = NULL;
    const int64_t split[] = {2, 5, 2, 3}, flat[] = {2, 5, 6};
    lh_tensor *keys = lh_contiguous(b->tape, lh_slice(b->tape, joined, 2, 0, 6));
    keys = lh_unit_norm(b->tape, lh_reshape(b->tape, keys, 4, split), 0.1);
    keys = lh_reshape(b->tape, keys, 3, flat);
    lh_tensor *gates = lh_unary(b->tape, LH_UNARY_SIGMOID, b->input[1]);
    lh_tensor *decay = decays ? lh_unary(b->tape, LH_UNARY_LOG, gates) : NULL;
    lh_tensor *u =
        lh_delta_rule(b->tape, keys, lh_slice(b->tape, joined, 2, 6, 8), gates, decay, start);
    return lh_decay_scan(b->tape, keys, keys, u, decay, start, &end);
}

TEST(delta_rules) {
    for (int decays = 0; decays < 2; ++decays) {
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, 2, 5, 14);
        LEAF(&b, 2, 5, 4);
        LEAF(&b, 2, 4, 3, 2);
        bool context = decays == 1;
        GRADIENTS_AGREE(&b, run_delta_rule, &context);
        check_close(&b);
    }
}

/* Whether the scan refuses these, naming a shape. */
static bool scan_fails(check_bench *b, lh_tensor *q, lh_tensor *k, lh_tensor *v, lh_tensor *decay,
                       lh_tensor *start, const char *shape) {
    lh_tensor *end = NULL;
    return CHECK(lh_decay_scan(b->tape, q, k, v, decay, start, &end) == NULL) &&
           CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, shape);
}

/* Four heads, keys of three: six numbers are two groups, four are none. */
TEST(a_scan_refuses_what_does_not_fit) {
    check_bench b;
    lh_tensor *end = NULL;
    REQUIRE(check_open(&b));
    lh_tensor *q = LEAF(&b, 2, 5, 6), *v = LEAF(&b, 2, 5, 8), *start = LEAF(&b, 2, 4, 3, 2);
    lh_tensor *narrow = LEAF(&b, 2, 5, 4), *longer = LEAF(&b, 2, 6, 8);
    lh_tape_begin(b.tape, false, 1, 0);
    CHECK(lh_decay_scan(b.tape, q, q, v, NULL, start, &end) != NULL);
    scan_fails(&b, narrow, narrow, v, NULL, start, "q [2][5][4]");
    scan_fails(&b, q, narrow, v, NULL, start, "k [2][5][4]");
    scan_fails(&b, q, q, longer, NULL, start, "v [2][6][8]");
    scan_fails(&b, q, q, v, LEAF(&b, 2, 5, 3), start, "decay_scan");
    scan_fails(&b, q, q, v, NULL, narrow, "start [2][5][4]");
    CHECK(lh_delta_rule(b.tape, q, v, narrow, NULL, start) != NULL);
    CHECK(lh_delta_rule(b.tape, q, v, LEAF(&b, 2, 5, 3), NULL, start) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "beta [2][5][3]");
    check_close(&b);
}

static lh_tensor *run_convolution(check_bench *b, void *context) {
    (void)context;
    lh_tensor *before = lh_filled(b->tape, 3, (const int64_t[]){2, 3, 3}, 0.5);
    return lh_short_convolution(b->tape, b->input[0], before, b->input[1], b->input[2]);
}

TEST(short_convolutions) {
    check_bench b;
    REQUIRE(check_open(&b));
    lh_tensor *x = LEAF(&b, 2, 5, 3), *weight = LEAF(&b, 3, 1, 4), *bias = LEAF(&b, 3);
    GRADIENTS_AGREE(&b, run_convolution, NULL);
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *before = lh_slice(b.tape, x, 1, 0, 2);
    CHECK(lh_short_convolution(b.tape, x, before, weight, bias) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "before [2][2][3]");
    check_close(&b);
}

static lh_tensor *run_rows(check_bench *b, void *context) {
    (void)context;
    lh_tensor *table = b->input[0];
    lh_tensor *gathered = lh_gather(b->tape, table, b->input[3]);
    return lh_select_rows(b->tape, b->input[4], b->input[1],
                          lh_add(b->tape, gathered, b->input[2]));
}

TEST(gather_and_select_rows) {
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 4, 3);
    LEAF(&b, 3);
    LEAF(&b, 5, 3);
    check_integers(&b, 5, (const int32_t[]){1, 3, 1, 0, 1});
    check_integers(&b, 5, (const int32_t[]){0, 1, 0, 0, 1});
    GRADIENTS_AGREE(&b, run_rows, NULL);
    check_close(&b);
}

/* The rows' sum by entry, one of which has none, twice, so that a gradient is added to another. */
static lh_tensor *run_scatter(check_bench *b, void *context) {
    (void)context;
    lh_tensor *once = lh_scatter_add(b->tape, b->input[0], b->input[1], 4);
    lh_tensor *other = lh_scatter_add(b->tape, b->input[0], b->input[2], 4);
    return lh_multiply(b->tape, once, lh_unary(b->tape, LH_UNARY_TANH, other));
}

TEST(rows_added_by_index) {
    static const double sums[] = {0.5 + 16, 8, 0, 3};
    check_bench b;
    REQUIRE(check_open(&b));
    LEAF(&b, 5, 3);
    check_integers(&b, 5, (const int32_t[]){1, 3, 1, 0, 1});
    check_integers(&b, 5, (const int32_t[]){0, 1, 3, 3, 1});
    GRADIENTS_AGREE(&b, run_scatter, NULL);
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *x =
        lh_reals(b.tape, 2, (const int64_t[]){4, 1}, (const real[]){LH_R(0.5), 3, 8, 16});
    lh_tensor *index =
        lh_integers(b.tape, 2, (const int64_t[]){2, 2}, (const int32_t[]){0, 3, 1, 0});
    const lh_tensor *y = lh_scatter_add(b.tape, x, index, 4);
    REQUIRE(y != NULL);
    for (int e = 0; e < 4; ++e)
        CHECK_NEAR((double)lh_tensor_real(y)[e], sums[e], 0);
    CHECK(lh_scatter_add(b.tape, b.input[0], index, 4) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "x [5][3], index [2][2]");
    check_close(&b);
}

/* Of two groups of two rows: ties go to the lower token, and the second group's follow the first's.
 */
TEST(top_tokens_of_groups) {
    static const real score[] = {1, 3, 2, 3, 0, 5, 5, 5, 2, 1, 0, 3, -1, -2, -3, -4};
    static const int32_t taken[] = {1, 3, 1, 2, 4, 7, 4, 5};
    check_bench b;
    REQUIRE(check_open(&b));
    lh_tape_begin(b.tape, true, 1, 0);
    lh_tensor *x = lh_reals(b.tape, 3, (const int64_t[]){2, 2, 4}, score);
    const lh_tensor *index = lh_top_tokens(b.tape, x, 2, 2);
    REQUIRE(index != NULL && index->rank == 3 && index->shape[2] == 2);
    for (int i = 0; i < 8; ++i)
        CHECK_EQ_INT(lh_tensor_integer(index)[i], taken[i]);
    CHECK(lh_top_tokens(b.tape, x, 5, 2) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "scores [2][2][4], the top 5");
    CHECK(lh_top_tokens(b.tape, x, 2, 3) == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_ESHAPE, "rows in groups of 3");
    check_close(&b);
}

static lh_tensor *run_loss(check_bench *b, void *context) {
    const int64_t chunk = *(const int64_t *)context;
    const lh_cross_entropy head = {.weight = b->input[1],
                                   .bias = b->input[2],
                                   .scale = 0.7,
                                   .target = b->input[3],
                                   .weights = b->input[4],
                                   .gradient_scale = 1.3,
                                   .chunk = chunk};
    return lh_linear_cross_entropy(b->tape, &head, b->input[0]);
}

TEST(cross_entropy_in_chunks) {
    for (int64_t chunk = 0; chunk < 4; ++chunk) {
        check_bench b;
        REQUIRE(check_open(&b));
        LEAF(&b, 2, 3, 4);
        LEAF(&b, 7, 4);
        LEAF(&b, 7);
        check_integers(&b, 6, (const int32_t[]){1, 6, 0, 5, 2, 1});
        lh_tensor *weights = LEAF(&b, 6);
        for (int i = 0; i < 6; ++i)
            lh_tensor_real(weights)[i] = i == 2 ? 0 : 1;
        /* The loss is not differentiated in the weights. */
        lh_tensor *constant = lh_tensor_detached(weights);
        lh_tensor_release(weights);
        b.input[4] = constant;
        GRADIENTS_AGREE(&b, run_loss, &chunk);
        check_close(&b);
    }
}
