/* Defect detection: what the batches hold, and t5 trained on them. */
#include "harness/engine/plugin.h"
#include "harness/tasks/tasks.h"

#include <unistd.h>

#include "harness/train/evaluate.h"
#include "harness/train/session.h"
#include "harness/train/session_file.h"
#include "harness/train/step_timer.h"
#include "harness/train/train_options.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

/* ids behind the 260 rows of bytes */
enum { PAD = 260, BEGIN, END, CLEAN, DEFECTIVE, ROWS = 4, SOURCE = 40 };

static const char *const task_text =
    "batch=4 source_length=40 functions=10 evaluate_functions=6 data_seed=3";
static const char *const model_text = "layers=2 width=16 heads=2 hidden=32 dropout=0.1";
static const char *const train_text =
    "steps=6 optimizer=adam rate=0.01 warmup=2 clip=1 checkpoint_seconds=0 log_every=3";

static char checkpoint[64];

/* Programs of several builds may run side by side; none finds data. */
__attribute__((constructor)) static void prepare(void) {
    (void)snprintf(checkpoint, sizeof checkpoint, "/tmp/longhaul-test-defect-%ld", (long)getpid());
    (void)unsetenv("LONGHAUL_DATA");
    (void)setenv("XDG_CACHE_HOME", "/nonexistent", 1);
}

static lh_status parse(const char *owner, const lh_option_table *table, const char *base,
                       const char *more, lh_options **out) {
    LH_TRY(lh_options_create(owner, table, out));
    LH_TRY(lh_options_parse(*out, base));
    return lh_options_parse(*out, more);
}

static lh_status open_task(const char *more, lh_model_setup *setup, lh_task **out) {
    lh_options *options = NULL;
    lh_status status = parse("defect", lh_defect_class.options, task_text, more, &options);
    if (status == LH_OK) status = lh_task_create(&lh_defect_class, options, 5, setup, out);
    lh_options_destroy(options);
    return status;
}

static lh_status open_session(const char *model, const char *more, const char *train,
                              lh_session **out) {
    const lh_model_class *class = lh_model_class_find(model);
    lh_options *options[3] = {NULL};
    lh_status status = parse(model, class->options, model_text, "", &options[0]);
    if (status == LH_OK)
        status = parse("defect", lh_defect_class.options, task_text, more, &options[1]);
    if (status == LH_OK) status = parse("train", lh_train_options, train_text, train, &options[2]);
    const lh_session_spec spec = {.model = class,
                                  .model_options = options[0],
                                  .task = &lh_defect_class,
                                  .task_options = options[1],
                                  .train_options = options[2],
                                  .seed = 3,
                                  .device = "cpu"};
    if (status == LH_OK) status = lh_session_create(&spec, out);
    for (int i = 0; i < 3; ++i)
        lh_options_destroy(options[i]);
    return status;
}

/* ---- batches ---- */

/* Begin, the function, end, padding. */
static void check_source(const lh_host_batch *batch, int64_t r) {
    const int32_t *source = batch->source_tokens + r * SOURCE;
    const int32_t count = batch->source_count[r];
    REQUIRE(count >= 3 && count <= SOURCE);
    CHECK(source[0] == BEGIN && source[count - 1] == END);
    for (int32_t t = 0; t < SOURCE; ++t)
        CHECK(t < count ? source[t] != PAD : source[t] == PAD);
}

TEST(answers_are_written_between_begin_and_end) {
    lh_model_setup setup;
    lh_task *task = NULL;
    lh_host_batch batch;
    int defective = 0;
    REQUIRE_OK(open_task("", &setup, &task));
    CHECK(setup.vocabulary == 360 && setup.source_vocabulary == 360);
    CHECK(setup.source_length == SOURCE && setup.classes == 0);
    for (int step = 0; step < 5; ++step) {
        REQUIRE_OK(lh_defect_class.train_batch(task->instance, &batch));
        REQUIRE(batch.rows == ROWS && batch.length == 3 && batch.source_length == SOURCE);
        for (int64_t r = 0; r < ROWS; ++r) {
            const int32_t *tokens = batch.tokens + 3 * r, *target = batch.target + 3 * r;
            check_source(&batch, r);
            CHECK(tokens[0] == PAD && tokens[1] == BEGIN && tokens[2] == target[1]);
            CHECK(target[0] == BEGIN && target[2] == END);
            CHECK(target[1] == CLEAN || target[1] == DEFECTIVE);
            for (int t = 0; t < 3; ++t)
                CHECK(batch.weights[3 * r + t] == LH_R(1));
            defective += target[1] == DEFECTIVE;
        }
    }
    CHECK(defective > 0 && defective < 5 * ROWS);
    lh_task_destroy(task);
}

TEST(labels_stand_at_the_end_of_the_function) {
    lh_model_setup setup;
    lh_task *task = NULL;
    lh_host_batch batch;
    REQUIRE_OK(open_task("head=classification", &setup, &task));
    CHECK_EQ_INT(setup.classes, 2);
    REQUIRE_OK(lh_defect_class.train_batch(task->instance, &batch));
    REQUIRE(batch.rows == ROWS && batch.length == SOURCE);
    for (int64_t r = 0; r < ROWS; ++r) {
        const int32_t *tokens = batch.tokens + r * SOURCE,
                      *source = batch.source_tokens + r * SOURCE;
        check_source(&batch, r);
        CHECK_EQ_INT(tokens[0], PAD);
        for (int t = 1; t < SOURCE; ++t)
            CHECK_EQ_INT(tokens[t], source[t - 1]);
        for (int t = 0; t < SOURCE; ++t) {
            const bool labelled = t == batch.source_count[r] - 1;
            CHECK(batch.weights[r * SOURCE + t] == (labelled ? LH_R(1) : LH_R(0)));
            if (labelled) CHECK_EQ_INT(source[t], END);
        }
    }
    lh_task_destroy(task);
}

/* Each function once, the answer alone scored; what is left of the last batch predicts nothing. */
static void check_pass(const char *more, int64_t answers) {
    lh_model_setup setup;
    lh_task *task = NULL;
    lh_host_batch batch;
    double weight = 0;
    int32_t last_counts[ROWS] = {0};
    int batches = 0;
    REQUIRE_OK(open_task(more, &setup, &task));
    CHECK_FAILS(lh_defect_class.evaluate_batch(task->instance, &batch), LH_ESTATE, "no evaluation");
    REQUIRE_OK(lh_defect_class.evaluate_begin(task->instance, LH_TEST));
    while (lh_defect_class.evaluate_batch(task->instance, &batch) == LH_OK && batch.rows > 0) {
        CHECK_EQ_INT(batch.rows, ROWS);
        for (int64_t i = 0; i < batch.rows * batch.length; ++i)
            weight += (double)batch.weights[i];
        memcpy(last_counts, batch.source_count, sizeof last_counts);
        batches += 1;
    }
    CHECK_EQ_INT(batches, 2);
    CHECK_NEAR(weight, (double)answers, 0);
    CHECK(last_counts[1] > 0 && last_counts[2] == 0 && last_counts[3] == 0);
    lh_task_destroy(task);
}

TEST(a_pass_scores_each_function_once) {
    check_pass("", 6);
    check_pass("head=classification", 6);
}

TEST(an_epoch_has_each_function_once_and_the_cursor_goes_back) {
    lh_model_setup setup;
    lh_task *task = NULL;
    lh_host_batch batch;
    int64_t cursor[LH_CURSOR_WORDS];
    int32_t tokens[3 * ROWS], source[SOURCE * ROWS];
    REQUIRE_OK(open_task("", &setup, &task));
    for (int step = 0; step < 4; ++step)
        REQUIRE_OK(lh_defect_class.train_batch(task->instance, &batch));
    const int words = lh_defect_class.cursor_get(task->instance, cursor);
    CHECK(words == 2 && cursor[0] == 1 && cursor[1] == 6);
    REQUIRE_OK(lh_defect_class.train_batch(task->instance, &batch));
    memcpy(tokens, batch.tokens, sizeof tokens);
    memcpy(source, batch.source_tokens, sizeof source);
    REQUIRE_OK(lh_defect_class.train_batch(task->instance, &batch));
    CHECK(memcmp(source, batch.source_tokens, sizeof source) != 0);
    CHECK_OK(lh_defect_class.cursor_set(task->instance, cursor, words));
    REQUIRE_OK(lh_defect_class.train_batch(task->instance, &batch));
    CHECK(memcmp(tokens, batch.tokens, sizeof tokens) == 0);
    CHECK(memcmp(source, batch.source_tokens, sizeof source) == 0);
    cursor[1] = 11;
    CHECK_FAILS(lh_defect_class.cursor_set(task->instance, cursor, words), LH_EFORMAT,
                "outside the 10 functions");
    lh_task_destroy(task);
}

/* ---- with a model ---- */

TEST(an_encoder_needs_a_source) {
    lh_session *session = NULL;
    CHECK_FAILS(pattern_session(lh_model_class_find("t5"), model_text, "", train_text, 1, &session),
                LH_EOPTION, "t5: needs a source");
}

static lh_wish stop_at_three(void *context, const lh_progress *progress) {
    (void)context;
    return progress->step != 3 ? LH_GO_ON : LH_STOP;
}

static void copy_values(const lh_session *session, real *values, int64_t capacity) {
    const lh_tensor *from = lh_params_values(lh_session_model(session)->params);
    REQUIRE(lh_tensor_count(from) <= capacity);
    CHECK_OK(lh_tensor_read(from, values, lh_tensor_count(from)));
}

/* Dropout in both stacks and the order of the functions included. */
static void check_resume(const char *more) {
    enum { MOST = 40000 };
    static real expected[MOST], resumed[MOST];
    lh_session *whole = NULL, *first = NULL, *second = NULL;
    REQUIRE_OK(open_session("t5", more, "", &whole));
    REQUIRE_OK(open_session("t5", more, "", &first));
    REQUIRE_OK(open_session("t5", more, "", &second));
    CHECK_OK(lh_session_train(whole, NULL, NULL, NULL));
    CHECK_STATUS(lh_session_train(first, checkpoint, stop_at_three, NULL), LH_EINTERRUPT);
    CHECK_OK(lh_session_restore(second, checkpoint));
    CHECK_OK(lh_session_train(second, NULL, NULL, NULL));
    copy_values(whole, expected, MOST);
    copy_values(second, resumed, MOST);
    CHECK(memcmp(expected, resumed, sizeof expected) == 0);
    copy_values(first, resumed, MOST);
    CHECK(memcmp(expected, resumed, sizeof expected) != 0);
    lh_session_destroy(whole);
    lh_session_destroy(first);
    lh_session_destroy(second);
    unlink(checkpoint);
}

TEST(training_resumes_bit_for_bit) {
    check_resume("");
    check_resume("head=classification");
}

TEST(steady_steps_allocate_nothing) {
    lh_session *session = NULL;
    lh_step_time time;
    REQUIRE_OK(open_session("t5", "", "", &session));
    REQUIRE_OK(lh_session_time_steps(&session, 1, 2, 4, &time));
    CHECK_EQ_INT(time.allocations_after_warmup, 0);
    lh_session_destroy(session);
}

/* Ten functions are learnt by heart. */
static void check_learning(const char *model, const char *more) {
    lh_session *session = NULL;
    lh_metrics before, after;
    REQUIRE_OK(open_session(model, more, "steps=400", &session));
    REQUIRE_OK(lh_session_evaluate(session, LH_TRAIN, &before));
    CHECK_NEAR(lh_metrics_get(&before, "predicted_tokens"), 10, 0);
    CHECK_OK(lh_session_train(session, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_evaluate(session, LH_TRAIN, &after));
    const double accuracy = lh_metrics_get(&after, "accuracy");
    CHECK(accuracy > 0.85 && lh_metrics_get(&before, "accuracy") < 0.85);
    CHECK_NEAR(lh_metrics_get(&after, "error_percent"), 100 * (1 - accuracy), 1e-9);
    lh_session_destroy(session);
}

TEST(functions_are_learnt_and_accuracy_is_that_of_the_answers) {
    static const char *const models[] = {"t5", "transformer", "logsparse"};
    for (int i = 0; i < 3; ++i) {
        check_learning(models[i], "");
        check_learning(models[i], "head=classification");
    }
}
