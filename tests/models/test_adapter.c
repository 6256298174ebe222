/* Adapters: which pairs need which, what a model reads through one, and that nothing that is to be
 * predicted is seen. */
#include "tests/test.h"

#include "tests/models/adapted_bench.h"

static bool open_pair(model_bench *bench, const pair_case *which) {
    return bench_open_for(bench, which->name, which->options, which->setup, PAIR_ROWS);
}

/* With a batch of its task. */
static bool open_drawn(const pair_case *which, model_bench *bench, pair_batch *batch) {
    if (!open_pair(bench, which)) return false;
    draw_pair_batch(&which->setup, batch);
    return true;
}

/* ---- which ---- */

static uint32_t ways_of(const char *name, lh_model_setup setup) {
    return lh_adapter_ways(lh_model_class_find(name), &setup);
}

TEST(a_pair_that_fits_has_no_adapter) {
    CHECK_EQ_INT(ways_of("brt", (lh_model_setup)PAIR_TOKENS), 0);
    CHECK_EQ_INT(ways_of("t5", (lh_model_setup)PAIR_CLASSES), 0);
    CHECK_EQ_INT(ways_of("lstm", (lh_model_setup)PAIR_SERIES), 0);
    CHECK_EQ_INT(ways_of("informer", (lh_model_setup)PAIR_SERIES), 0);
    CHECK_EQ_INT(ways_of("rsa", (lh_model_setup)PAIR_NETWORK), 0);
}

TEST(other_pairs_have_what_they_need) {
    CHECK_EQ_INT(ways_of("brt", (lh_model_setup)PAIR_SERIES), LH_ADAPT_VECTORS);
    CHECK_EQ_INT(ways_of("t5", (lh_model_setup)PAIR_SERIES), LH_ADAPT_VECTORS);
    CHECK_EQ_INT(ways_of("brt", (lh_model_setup)PAIR_SOURCE), LH_ADAPT_JOIN);
    CHECK_EQ_INT(ways_of("t5", (lh_model_setup)PAIR_PAST), LH_ADAPT_PAST);
    CHECK_EQ_INT(ways_of("brt", (lh_model_setup)PAIR_PAST), 0);
    CHECK_EQ_INT(ways_of("brt", (lh_model_setup)PAIR_CLASSES), LH_ADAPT_CLASSES);
    CHECK_EQ_INT(ways_of("rsa", (lh_model_setup)PAIR_SOURCE), LH_ADAPT_EMBED | LH_ADAPT_JOIN);
    CHECK_EQ_INT(ways_of("series_xl", (lh_model_setup)PAIR_SOURCE),
                 LH_ADAPT_EMBED | LH_ADAPT_WINDOW);
    CHECK_EQ_INT(ways_of("series_xl", (lh_model_setup)PAIR_NETWORK), LH_ADAPT_WINDOW);
}

static lh_status create(const char *name, lh_model_setup setup) {
    lh_model *model = NULL;
    const lh_status status = create_model_for(name, "", &setup, &model);
    if (status == LH_OK) lh_model_destroy(model);
    return status;
}

TEST(refusals_say_why_and_who_would_do) {
    CHECK_FAILS(create("t5", (lh_model_setup)PAIR_TOKENS), LH_EOPTION,
                "t5: needs a source for its encoder, which the task lacks; these would do: xl, ");
    CHECK_FAILS(create("xl", (lh_model_setup){.vocabulary = 7, .many_lengths = true}), LH_EOPTION,
                "one length, of which the task has several; these would do: slide, ");
    CHECK_FAILS(create("informer", (lh_model_setup)PAIR_TOKENS), LH_EOPTION, "set mix=false");
}

/* ---- in the engine ---- */

static void declare_nothing(lh_adapter *adapter, const lh_model_setup *setup, lh_declare *declare) {
    (void)adapter;
    (void)setup;
    (void)declare;
}

/* The class reads the first half alone. */
static lh_status read_half(const lh_model *model, lh_pass *pass, lh_output *out) {
    static const int32_t first[] = {0, 1, 2, 3};
    static const int64_t shape[] = {1, 4};
    lh_batch half = *lh_pass_batch(pass);
    half.length /= 2;
    half.tokens = lh_integers(lh_pass_tape(pass), 2, shape, first);
    CHECK(model->adapter.ways == 1);
    LH_TRY(lh_pass_run(pass, &half, out));
    CHECK_EQ_INT(lh_pass_batch(pass)->length, 2 * half.length);
    return LH_OK;
}

TEST(an_adapter_stands_where_the_class_would) {
    static const int32_t tokens[] = {0, 1, 2, 3, 4, 5, 6, 7}, starts[] = {1};
    const lh_model_setup setup = PAIR_TOKENS;
    const lh_adapter half = {
        .ways = 1, .inner = {.vocabulary = 9}, .declare = declare_nothing, .forward = read_half};
    const lh_model_class *class = lh_model_class_find("rnn");
    lh_options *options = NULL;
    model_bench b;
    lh_output out;
    REQUIRE(bench_open(&b, "rnn", "", 1));
    lh_state_destroy(b.state);
    lh_model_destroy(b.model);
    REQUIRE_OK(lh_options_create("rnn", class->options, &options));
    REQUIRE_OK(lh_model_create_adapted(class, options, &setup, &half, &b.model));
    CHECK(b.model->setup.vocabulary == 7 && lh_params_at(b.model->params, 0)->shape[0] == 9);
    REQUIRE_OK(lh_params_allocate(b.model->params, b.pool));
    REQUIRE_OK(lh_params_initialize(b.model->params, 1));
    REQUIRE_OK(lh_state_create(b.model, b.pool, 1, &b.state));
    lh_tape_begin(b.tape, false, 1, 0);
    const lh_tensor *hidden = bench_forward(&b, 8, tokens, starts, false, &out);
    REQUIRE(hidden != NULL);
    CHECK_EQ_INT(hidden->shape[1], 4);
    lh_options_destroy(options);
    bench_close(&b);
}

TEST(a_state_has_its_rows) {
    model_bench carries, forgets;
    REQUIRE(bench_open(&carries, "rnn", "", 3));
    REQUIRE(bench_open(&forgets, "transformer", PAIR_CORE, 3));
    CHECK(lh_state_takes(carries.state, 3) && !lh_state_takes(carries.state, 2));
    CHECK(lh_state_takes(forgets.state, 3) && lh_state_takes(forgets.state, 2));
    bench_close(&carries);
    bench_close(&forgets);
}

/* ---- reading ---- */

TEST(a_source_stands_before_its_target) {
    static const int32_t expected[] = {3, 4, 7, 5, 6, 7, 7, 2, 7, 1, 0, 7, 7, 7},
                         placed[] = {0, 0, 5, 6, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0};
    static const real weighed[] = {0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0};
    static const int32_t source[] = {3, 4, 0, 0, 2, 0, 0, 0}, counts[] = {2, 1},
                         tokens[] = {0, 5, 6, 0, 1, 0}, target[] = {5, 6, 1, 1, 0, 2},
                         starts[] = {1, 1};
    static const real weights[] = {1, 1, 0, 1, 1, 1};
    const pair_case which = {"transformer", PAIR_CORE, {.vocabulary = 7, .source_vocabulary = 7}};
    model_bench b;
    lh_batch batch = {0};
    int32_t read[14];
    real weight[14];
    const lh_host_batch host = {.rows = 2,
                                .length = 3,
                                .source_length = 4,
                                .tokens = tokens,
                                .target = target,
                                .weights = weights,
                                .source_tokens = source,
                                .source_count = counts,
                                .starts = starts};
    REQUIRE(open_pair(&b, &which));
    REQUIRE_OK(lh_model_upload(b.pool, b.model, &host, &batch));
    REQUIRE(batch.source_tokens == NULL && batch.length == 7);
    CHECK_OK(lh_tensor_read(batch.tokens, read, 14));
    CHECK(memcmp(read, expected, sizeof read) == 0);
    CHECK_OK(lh_tensor_read(batch.target, read, 14));
    CHECK(memcmp(read, placed, sizeof read) == 0);
    CHECK_OK(lh_tensor_read(batch.weights, weight, 14));
    CHECK(memcmp(weight, weighed, sizeof weight) == 0);
    lh_batch_clear(&batch);
    bench_close(&b);
}

/* A task whose sources are all of one length need not count their tokens. */
TEST(sources_without_counts_are_whole) {
    static const int32_t source[] = {3, 4, 2, 1}, counts[] = {2, 2}, tokens[] = {0, 5, 0, 1},
                         target[] = {5, 6, 1, 2}, starts[] = {1, 1};
    const pair_case which = {"transformer", PAIR_CORE, {.vocabulary = 7, .source_vocabulary = 7}};
    lh_host_batch host = {.rows = 2,
                          .length = 2,
                          .source_length = 2,
                          .tokens = tokens,
                          .target = target,
                          .source_tokens = source,
                          .starts = starts};
    model_bench b;
    real picked[2][2 * 2 * 16];
    REQUIRE(open_pair(&b, &which));
    for (int i = 0; i < 2; ++i) {
        lh_batch batch = {0};
        lh_output out;
        host.source_count = i == 0 ? counts : NULL;
        lh_tape_begin(b.tape, false, 1, 0);
        REQUIRE_OK(lh_model_upload(b.pool, b.model, &host, &batch));
        REQUIRE_OK(lh_model_forward(b.model, b.tape, b.state, &batch, false, &out));
        REQUIRE_OK(lh_model_pick(b.tape, b.model, &host, 0, 2, &out));
        REQUIRE(lh_tensor_count(out.hidden) <= 2 * 2 * 16);
        REQUIRE_OK(lh_tensor_read(out.hidden, picked[i], lh_tensor_count(out.hidden)));
        CHECK(i == 0 || memcmp(picked[0], picked[1],
                               (size_t)lh_tensor_count(out.hidden) * sizeof(real)) == 0);
        lh_batch_clear(&batch);
    }
    bench_close(&b);
}

/* A token and the vector with a 1 in its place are read alike. */
TEST(a_one_hot_vector_is_its_token) {
    static const int64_t shape[] = {4, 3}, flat[] = {2};
    static const int32_t index[] = {2, 1};
    static const real table[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, hot[] = {0, 0, 1, 0, 1, 0};
    model_bench b;
    REQUIRE(bench_open(&b, "rnn", "", 1));
    lh_tape_begin(b.tape, false, 1, 0);
    lh_tensor *all = lh_reals(b.tape, 2, shape, table);
    const lh_tensor *token = lh_gather(b.tape, all, lh_integers(b.tape, 1, flat, index));
    const lh_tensor *vector =
        lh_gather(b.tape, all, lh_reals(b.tape, 2, (const int64_t[]){2, 3}, hot));
    REQUIRE(token != NULL && vector != NULL && lh_tensor_same_shape(token, vector));
    for (int i = 0; i < 6; ++i)
        CHECK(lh_tensor_real(token)[i] == lh_tensor_real(vector)[i]);
    CHECK(lh_gather(b.tape, all, lh_zeros(b.tape, 2, (const int64_t[]){2, 5})) == NULL);
    CHECK_CONTAINS(lh_error_get()->message, "gather: table");
    lh_error_clear();
    bench_close(&b);
}

/* ---- nothing of the future ---- */

/* The answers at all places [rows][length][columns] on the host; free() them. */
static real *answers_of(model_bench *b, const pair_batch *batch, int64_t *columns) {
    lh_batch uploaded = {0};
    lh_output out;
    real *values = NULL;
    const bool joins = (b->model->adapter.ways & LH_ADAPT_JOIN) != 0;
    const lh_scope scope = lh_scope_open(b->tape);
    bool good = run_pair(b, batch, &uploaded, false, &out);
    if (good && joins)
        good =
            CHECK_OK(lh_model_pick(b->tape, b->model, &batch->host, 0, batch->host.length, &out));
    const lh_tensor *y = good ? lh_loss_logits(b->tape, &out) : NULL;
    if (CHECK(y != NULL)) {
        *columns = y->shape[2];
        values = malloc((size_t)lh_tensor_count(y) * sizeof *values);
        CHECK_OK(lh_tensor_read(y, values, lh_tensor_count(y)));
    }
    lh_scope_close(b->tape, scope, NULL);
    lh_batch_clear(&uploaded);
    return values;
}

/* Another last token, or vector, changes answers at its own place alone. */
static void check_future(const pair_case *which) {
    model_bench b;
    pair_batch batch;
    int64_t columns = 0;
    REQUIRE(open_drawn(which, &b, &batch));
    real *before = answers_of(&b, &batch, &columns);
    const int64_t length = batch.host.length, width = which->setup.input_features;
    for (int r = 0; r < PAIR_ROWS; ++r) {
        const int64_t last = (r + 1) * length - 1;
        batch.tokens[last] = (batch.tokens[last] + 1) % 3;
        for (int64_t f = 0; f < width; ++f)
            batch.vectors[last * width + f] += LH_R(0.5);
    }
    real *after = answers_of(&b, &batch, &columns);
    bool changed = false;
    for (int64_t i = 0; before != NULL && after != NULL && i < PAIR_ROWS * length * columns; ++i) {
        if (i / columns % length < length - 1)
            test_check(before[i] == after[i], __FILE__, __LINE__, "%s %s: %.9g, then %.9g",
                       which->name, which->options, (double)before[i], (double)after[i]);
        changed = changed || before[i] != after[i];
    }
    test_check(changed, __FILE__, __LINE__, "%s: the last token changes nothing", which->name);
    free(before);
    free(after);
    bench_close(&b);
}

TEST(no_answer_knows_a_later_token) {
    for (int i = 0; i < PAIR_CASES; ++i)
        if (pair_cases[i].setup.pred_len == 0 && pair_cases[i].setup.classes == 0)
            check_future(&pair_cases[i]);
}

/* Sources are read; what pads them is not, but by models that see all of a window. */
TEST(answers_know_the_source) {
    for (int i = 0; i < PAIR_CASES; ++i) {
        const pair_case *which = &pair_cases[i];
        model_bench b;
        pair_batch batch;
        int64_t columns = 0;
        if (which->setup.source_vocabulary == 0) continue;
        REQUIRE(open_drawn(which, &b, &batch));
        real *before = answers_of(&b, &batch, &columns);
        batch.source[0] = (batch.source[0] + 1) % 7;
        real *after = answers_of(&b, &batch, &columns);
        const int64_t row = batch.host.length * columns;
        REQUIRE(before != NULL && after != NULL);
        CHECK(memcmp(before, after, (size_t)row * sizeof *before) != 0);
        CHECK(memcmp(before + row, after + row, (size_t)row * sizeof *before) == 0);
        free(before);
        free(after);
        bench_close(&b);
    }
}

/* Row 0 has no past, row 1 has three tokens of it, and what is behind them is padding. */
TEST(answers_know_the_past_that_there_is) {
    for (int i = 0; i < PAIR_CASES; ++i) {
        const pair_case *which = &pair_cases[i];
        model_bench b;
        pair_batch batch;
        int64_t columns = 0;
        if (which->setup.past_length == 0) continue;
        REQUIRE(open_drawn(which, &b, &batch));
        real *before = answers_of(&b, &batch, &columns);
        batch.past[0] = (batch.past[0] + 1) % 7;
        batch.past[6 + 3] = (batch.past[6 + 3] + 1) % 7;
        real *padded = answers_of(&b, &batch, &columns);
        batch.past[6 + 2] = (batch.past[6 + 2] + 1) % 7;
        real *other = answers_of(&b, &batch, &columns);
        batch.host.past = NULL;
        real *without = answers_of(&b, &batch, &columns);
        const int64_t row = batch.host.length * columns;
        const size_t bytes = (size_t)row * sizeof(real);
        REQUIRE(before != NULL && padded != NULL && other != NULL && without != NULL);
        CHECK(memcmp(before, padded, 2 * bytes) == 0);
        CHECK(memcmp(before, other, bytes) == 0 && memcmp(before + row, other + row, bytes) != 0);
        CHECK(memcmp(before, without, bytes) == 0);
        CHECK(memcmp(before + row, without + row, bytes) != 0);
        free(before);
        free(padded);
        free(other);
        free(without);
        bench_close(&b);
    }
}

/* Windows of a series overlap: what came before leaves no trace. */
TEST(windows_of_a_series_are_read_afresh) {
    model_bench b;
    pair_batch batch;
    int64_t columns = 0;
    REQUIRE(open_drawn(&pair_cases[0], &b, &batch));
    batch.starts[0] = batch.starts[1] = 0;
    real *first = answers_of(&b, &batch, &columns);
    CHECK_OK(lh_state_commit(b.state));
    real *second = answers_of(&b, &batch, &columns);
    REQUIRE(first != NULL && second != NULL);
    CHECK(columns == 3);
    CHECK(memcmp(first, second, (size_t)(PAIR_ROWS * 3 * columns) * sizeof *first) == 0);
    free(first);
    free(second);
    bench_close(&b);
}

/* ---- accounting ---- */

/* The head that is left to the loss counts for each place that it sees. */
TEST(counted_flops_are_those_of_the_formula) {
    for (int i = 0; i < PAIR_CASES; ++i) {
        const pair_case *which = &pair_cases[i];
        model_bench b;
        pair_batch batch;
        lh_batch uploaded = {0};
        lh_output out;
        if (strstr(which->options, "cluster_divisor") != NULL) continue; /* adapter.c: cost */
        REQUIRE(open_drawn(which, &b, &batch));
        const lh_scope scope = lh_scope_open(b.tape);
        REQUIRE(run_pair(&b, &batch, &uploaded, false, &out));
        double counted = lh_tape_flops(b.tape);
        if (out.head_weight != NULL)
            counted += 2.0 * (double)(PAIR_ROWS * out.hidden->shape[1] * out.hidden->shape[2]) *
                       (double)out.head_weight->shape[0];
        counted /= (double)(PAIR_ROWS * batch.host.length);
        const double formula = lh_model_flops_per_token(b.model, batch.host.length);
        test_check(fabs(counted - formula) < 1e-6 * formula, __FILE__, __LINE__,
                   "%s %s: %.1f FLOP per token counted, %.1f by formula", which->name,
                   which->options, counted, formula);
        lh_scope_close(b.tape, scope, NULL);
        lh_batch_clear(&uploaded);
        bench_close(&b);
    }
}

/* What the adapter declares is among the parameters, behind the model's own. */
TEST(its_parameters_count) {
    const lh_model_setup tokens = PAIR_TOKENS,
                         vectors = {.input_features = 6, .output_features = 6};
    const int64_t own = count_parameters("rsa", "width=6 heads=2", vectors);
    CHECK_EQ_INT(count_parameters("rsa", "width=6 heads=2", tokens), own + 7 * 6 + 7);
}
