/* Windows of a series as batches; the loss and the metrics of target vectors. */
#include "datasets/series/series.h"
#include "harness/engine/plugin.h"
#include "harness/train/batch.h"
#include "harness/train/evaluate.h"
#include "harness/train/loss.h"
#include "harness/train/session.h"
#include "harness/train/train_options.h"
#include "harness/train/trainer.h"
#include "tests/config.h"
#include "tests/tape_bench.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

#define DATA "name=generate:seasonal series_rows=400 channels=3 "

typedef struct fixture {
    task_bench bench;
    lh_series *series; /* the same data, to look at */
} fixture;

static bool open_fixture(fixture *f, const char *text) {
    lh_options *own = NULL;
    lh_series_config config;
    f->series = NULL;
    const bool good = open_task(&f->bench, "forecasting", DATA, text, 1) &&
                      CHECK_OK(parse_config(lh_series_config_options, DATA, &config, &own)) &&
                      CHECK_OK(lh_series_open(&config, &f->series));
    lh_options_destroy(own);
    return good;
}

static void close_fixture(fixture *f) {
    lh_series_destroy(f->series);
    close_task(&f->bench);
}

/* Row `row` of a batch is the window whose first observed row is `first`. */
static void check_window(const fixture *f, const lh_host_batch *batch, int64_t row, int64_t first) {
    const int64_t width = f->bench.setup.input_features, channels = f->bench.setup.output_features,
                  seq_len = f->bench.setup.seq_len;
    for (int64_t t = 0; t < batch->length; ++t) {
        const real *x = batch->vectors + (row * batch->length + t) * width;
        const real *values = lh_series_values(f->series, first + t);
        const real *features = lh_series_features(f->series, first + t);
        for (int64_t c = 0; c < channels; ++c) {
            const int64_t at = (row * batch->target_length + t - seq_len) * channels + c;
            CHECK_NEAR(x[c], t < seq_len ? (double)values[c] : 0.0, 0);
            if (t >= seq_len) CHECK_NEAR(batch->target_vectors[at], values[c], 0);
        }
        for (int64_t i = 0; i < f->bench.setup.time_features; ++i)
            CHECK_NEAR(x[channels + i], features[i], 0);
    }
}

/* 280 training rows: 280 - 12 - 5 + 1 = 264 windows, 33 batches of 8. */
TEST(windows_in_order) {
    fixture f;
    lh_host_batch batch;
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=6 pred_len=5 batch=8"));
    CHECK_EQ_INT(f.bench.setup.input_features, 7);
    CHECK_EQ_INT(f.bench.setup.time_features, 4);
    CHECK_EQ_INT(f.bench.setup.stride, 8);
    CHECK_EQ_INT(f.bench.setup.vocabulary, 0);
    for (int64_t n = 0; n < 35; ++n) {
        REQUIRE_OK(next_batch(&f.bench, &batch));
        CHECK_EQ_INT(batch.rows, 8);
        CHECK_EQ_INT(batch.length, 17);
        CHECK(batch.weights == NULL);
        for (int64_t r = 0; r < 8; ++r) {
            check_window(&f, &batch, r, 8 * (n % 33) + r);
            CHECK_EQ_INT(batch.starts[r], n % 33 == 0);
        }
    }
    close_fixture(&f);
}

/* The latest 16 of 264 windows: the first of them begins at row 248. */
TEST(a_limit_of_windows_keeps_the_latest) {
    fixture f;
    lh_host_batch batch;
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=6 pred_len=5 batch=8 limit_windows=16"));
    for (int64_t n = 0; n < 3; ++n) {
        REQUIRE_OK(next_batch(&f.bench, &batch));
        for (int64_t r = 0; r < 8; ++r)
            check_window(&f, &batch, r, 248 + 8 * (n % 2) + r);
    }
    close_fixture(&f);
}

/* 264 windows: 33 a row. Eight rounds, which begin at the first eight of a row's windows. */
TEST(streams_read_a_piece_of_the_series_each) {
    fixture f;
    lh_host_batch batch;
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=6 pred_len=5 batch=8 sampler=streams"));
    CHECK_EQ_INT(f.bench.setup.stride, 8);
    for (int64_t round = 0; round < 10; ++round)
        for (int64_t at = round % 8; at < 33; at += 8) {
            REQUIRE_OK(next_batch(&f.bench, &batch));
            for (int64_t r = 0; r < 8; ++r) {
                check_window(&f, &batch, r, 33 * r + at);
                CHECK_EQ_INT(batch.starts[r], at == round % 8);
            }
        }
    close_fixture(&f);
}

/* Validation rows 280 .. 319: 38 windows from row 268 on. A memory is there from the second batch
 * on, and rows have moved on by as much as in training. */
TEST(an_evaluation_goes_in_order_where_training_reads_streams) {
    fixture f;
    lh_host_batch batch;
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=6 pred_len=3 batch=8 sampler=streams"));
    REQUIRE_OK(f.bench.task->class->evaluate_begin(f.bench.task->instance, LH_VALID));
    for (int64_t n = 0; n < 5; ++n) {
        REQUIRE_OK(f.bench.task->class->evaluate_batch(f.bench.task->instance, &batch));
        CHECK_EQ_INT(batch.rows, 8);
        for (int64_t r = 0; r < 8; ++r) {
            if (8 * n + r < 38) check_window(&f, &batch, r, 268 + 8 * n + r);
            CHECK_EQ_INT(batch.starts[r], n == 0);
        }
        CHECK_NEAR(lh_host_batch_weight(&f.bench.setup, &batch), (n < 4 ? 8 : 6) * 3 * 3, 0);
    }
    REQUIRE_OK(f.bench.task->class->evaluate_batch(f.bench.task->instance, &batch));
    CHECK_EQ_INT(batch.rows, 0);
    close_fixture(&f);
}

TEST(shuffled_windows_are_a_permutation_of_each_epoch) {
    fixture f;
    lh_host_batch batch;
    double seen = 0, all = 0, first[2] = {0, 0};
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=0 pred_len=5 batch=8 sampler=shuffled"));
    CHECK_EQ_INT(f.bench.setup.stride, 0);
    for (int64_t n = 0; n < 66; ++n) {
        REQUIRE_OK(next_batch(&f.bench, &batch));
        if (n % 33 == 0) first[n / 33] = (double)batch.vectors[0];
        for (int64_t r = 0; r < 8; ++r)
            seen += (double)batch.vectors[r * 17 * 7];
        CHECK_EQ_INT(batch.starts[0], 1);
    }
    for (int64_t w = 0; w < 264; ++w)
        all += 2.0 * (double)lh_series_values(f.series, w)[0];
    CHECK_NEAR(seen, all, 1e-4);
    CHECK(first[0] != first[1]);
    close_fixture(&f);
}

/* Validation rows 280 .. 319: targets from there on, windows reach back 12 rows: 36 windows. */
TEST(evaluation_reads_every_window_once) {
    for (int drop = 0; drop < 2; ++drop) {
        fixture f;
        lh_host_batch batch;
        int64_t window = 0;
        double weight = 0;
        REQUIRE(open_fixture(&f, drop ? "seq_len=12 label_len=6 pred_len=5 batch=8 drop_last=true"
                                      : "seq_len=12 label_len=6 pred_len=5 batch=8"));
        REQUIRE_OK(f.bench.task->class->evaluate_begin(f.bench.task->instance, LH_VALID));
        while (true) {
            REQUIRE_OK(f.bench.task->class->evaluate_batch(f.bench.task->instance, &batch));
            if (batch.rows == 0) break;
            CHECK_EQ_INT(batch.rows, 8);
            weight += lh_host_batch_weight(&f.bench.setup, &batch);
            for (int64_t r = 0; r < 8 && window < 36; ++r, ++window)
                check_window(&f, &batch, r, 280 - 12 + window);
        }
        CHECK_EQ_INT(window, drop ? 32 : 36);
        CHECK_NEAR(weight, (drop ? 32 : 36) * 5 * 3, 0);
        close_fixture(&f);
    }
}

TEST(windows_that_fill_no_batch_cannot_be_evaluated_by_whole_ones) {
    fixture f;
    lh_host_batch batch;
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=6 pred_len=5 batch=37 drop_last=true"));
    CHECK_FAILS(f.bench.task->class->evaluate_begin(f.bench.task->instance, LH_VALID), LH_EOPTION,
                "'drop_last': the 36 windows of the validation split that are evaluated fill no");
    REQUIRE_OK(f.bench.task->class->evaluate_begin(f.bench.task->instance, LH_TEST));
    REQUIRE_OK(f.bench.task->class->evaluate_batch(f.bench.task->instance, &batch));
    CHECK_EQ_INT(batch.rows, 37);
    close_fixture(&f);
}

TEST(an_evaluation_may_end_early) {
    fixture f;
    lh_host_batch batch;
    double weight = 0;
    REQUIRE(open_fixture(&f, "seq_len=12 label_len=6 pred_len=5 batch=8 evaluate_windows=11"));
    REQUIRE_OK(f.bench.task->class->evaluate_begin(f.bench.task->instance, LH_TEST));
    do {
        REQUIRE_OK(f.bench.task->class->evaluate_batch(f.bench.task->instance, &batch));
        weight += batch.rows > 0 ? lh_host_batch_weight(&f.bench.setup, &batch) : 0.0;
    } while (batch.rows > 0);
    CHECK_NEAR(weight, 11 * 5 * 3, 0);
    close_fixture(&f);
}

TEST(a_stream_of_windows_goes_on_from_its_cursor) {
    static const char *const samplers[] = {
        "seq_len=12 label_len=6 pred_len=5 batch=8",
        "seq_len=12 label_len=6 pred_len=5 batch=8 sampler=shuffled",
        "seq_len=12 label_len=6 pred_len=5 batch=8 sampler=streams"};
    for (int k = 0; k < 3; ++k) {
        fixture f, again;
        lh_host_batch a, b;
        int64_t words[LH_CURSOR_WORDS];
        REQUIRE(open_fixture(&f, samplers[k]) && open_fixture(&again, samplers[k]));
        for (int n = 0; n < 40; ++n)
            REQUIRE_OK(next_batch(&f.bench, &a));
        const int count = f.bench.task->class->cursor_get(f.bench.task->instance, words);
        REQUIRE_OK(again.bench.task->class->cursor_set(again.bench.task->instance, words, count));
        REQUIRE_OK(next_batch(&f.bench, &a));
        REQUIRE_OK(next_batch(&again.bench, &b));
        CHECK(memcmp(a.vectors, b.vectors, sizeof(real) * 8 * 17 * 7) == 0);
        words[0] = -1;
        CHECK_STATUS(again.bench.task->class->cursor_set(again.bench.task->instance, words, 2),
                     LH_EFORMAT);
        close_fixture(&f);
        close_fixture(&again);
    }
}

static lh_status try_task(const char *text) {
    task_bench f;
    const lh_status status = make_task(&f, "forecasting", text, "", 1);
    close_task(&f);
    return status;
}

TEST(sizes_that_do_not_fit_are_refused) {
    CHECK_FAILS(try_task(DATA "seq_len=12 label_len=13"), LH_EOPTION, "label_len");
    CHECK_FAILS(try_task(DATA "seq_len=300 label_len=0"), LH_EOPTION, "too few for seq_len 300");
    CHECK_FAILS(try_task(DATA "seq_len=12 label_len=0 batch=300"), LH_EOPTION, "'batch' (300)");
    CHECK_FAILS(try_task(DATA "sampler=random"), LH_EOPTION, "sequential");
}

/* ---- sessions ---- */

static lh_status session(const char *model, const char *task, const char *task_text,
                         lh_session **out) {
    const lh_model_class *model_class = lh_model_class_find(model);
    const lh_task_class *task_class = lh_task_class_find(task);
    lh_options *options[3] = {NULL, NULL, NULL};
    lh_status status = lh_options_create(model, model_class->options, &options[0]);
    if (status == LH_OK) status = lh_options_create(task, task_class->options, &options[1]);
    if (status == LH_OK) status = lh_options_create("train", lh_train_options, &options[2]);
    if (status == LH_OK)
        status = lh_options_parse(options[0], "width=16 heads=2 layers=1 dropout=0.1");
    if (status == LH_OK) status = lh_options_parse(options[1], task_text);
    if (status == LH_OK)
        status = lh_options_parse(options[2], "steps=60 optimizer=adam rate=3e-3 schedule=constant "
                                              "warmup=0 evaluate_every=30 log_every=5");
    const lh_session_spec spec = {.model = model_class,
                                  .model_options = options[0],
                                  .task = task_class,
                                  .task_options = options[1],
                                  .train_options = options[2],
                                  .seed = 1,
                                  .device = "cpu"};
    if (status == LH_OK) status = lh_session_create(&spec, out);
    for (int i = 0; i < 3; ++i)
        lh_options_destroy(options[i]);
    return status;
}

typedef struct journal {
    double first, last, valid;
} journal;

static lh_wish note(void *context, const lh_progress *p) {
    journal *j = context;
    if (isnan(j->first)) j->first = p->mse;
    if (!isnan(p->mse)) j->last = p->mse;
    if (!isnan(lh_metrics_get(&p->valid, "mse"))) j->valid = lh_metrics_get(&p->valid, "mse");
    const bool as_expected =
        isnan(p->loss_bits) && isnan(lh_metrics_get(&p->valid, "bits_per_token"));
    return as_expected ? LH_GO_ON : LH_STOP;
}

/* The mean square of the validation windows' targets; the inputs reach back before the split. */
static double zero_error(int64_t pred_len, int64_t windows) {
    fixture f;
    double sum = 0.0;
    if (!open_fixture(&f, "")) return -1.0;
    const int64_t begin = lh_series_split(f.series, LH_VALID).begin;
    const int64_t channels = lh_series_channels(f.series);
    for (int64_t w = 0; w < windows; ++w)
        for (int64_t i = 0; i < pred_len * channels; ++i) {
            const double y = (double)lh_series_values(f.series, begin + w)[i];
            sum += y * y;
        }
    close_fixture(&f);
    return sum / (double)(windows * pred_len * channels);
}

TEST(training_lowers_the_error_and_evaluation_reports_it) {
    lh_session *s = NULL;
    lh_metrics metrics, again;
    journal j = {(double)NAN, (double)NAN, (double)NAN};
    REQUIRE_OK(
        session("informer", "forecasting", DATA "seq_len=12 label_len=6 pred_len=5 batch=8", &s));
    CHECK_OK(lh_session_train(s, NULL, note, &j));
    CHECK_EQ_INT(lh_session_step(s), 60);
    CHECK(j.last < 0.9 * j.first);
    CHECK_OK(lh_session_evaluate(s, LH_VALID, &metrics));
    CHECK_NEAR(lh_metrics_get(&metrics, "mse"), j.valid, 1e-12);
    CHECK(lh_metrics_get(&metrics, "mae") < sqrt(lh_metrics_get(&metrics, "mse")));
    CHECK_NEAR(lh_metrics_get(&metrics, "predicted_values"), 36 * 5 * 3, 0);
    CHECK_NEAR(lh_metrics_get(&metrics, "zero_mse"), zero_error(5, 36), 1e-9);
    CHECK(isnan(lh_metrics_get(&metrics, "bits_per_token")));
    CHECK_OK(lh_session_evaluate(s, LH_VALID, &again));
    CHECK_NEAR(lh_metrics_get(&again, "mse"), lh_metrics_get(&metrics, "mse"), 0);
    lh_session_destroy(s);
}

/* ---- loss ---- */

TEST(errors_are_means_over_what_is_weighed) {
    static const real predicted[] = {1, 2, 3, 4, 5, 6}, target[] = {1, 4, 0, 4, 6, 0},
                      weights[] = {1, 1, 1, 1, 0, 0};
    const int64_t shape[] = {1, 3, 2};
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    lh_tape *tape = NULL;
    lh_loss_sums sums = {0};
    lh_tensor *loss = NULL;
    REQUIRE(bench_open_tape("cpu", &device, &pool, &tape));
    lh_tape_begin(tape, false, 1, 0);
    const lh_output output = {.hidden = lh_reals(tape, 3, shape, predicted)};
    lh_batch batch = {.target_vectors = lh_reals(tape, 3, shape, target)};
    CHECK_OK(lh_loss_forward(tape, &output, &batch, 6, &loss, &sums));
    CHECK_NEAR(*lh_tensor_real(loss), (4 + 9 + 1 + 36) / 6.0, 1e-6);
    CHECK_NEAR(sums.absolute, 2 + 3 + 1 + 6, 1e-6);
    batch.weights = lh_reals(tape, 3, shape, weights);
    CHECK_OK(lh_loss_forward(tape, &output, &batch, 4, &loss, &sums));
    CHECK_NEAR(*lh_tensor_real(loss), 13 / 4.0, 1e-6);
    CHECK_NEAR(sums.squared, 13, 1e-6);
    CHECK_NEAR(sums.weight, 4, 0);
    lh_tape_destroy(tape);
    bench_close_pool(device, pool);
}
