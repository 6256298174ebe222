/* The task of regular languages: what batches hold, and how answers are scored. */
#include "datasets/generate/regular_strings.h"
#include "harness/train/session.h"

#include "harness/engine/plugin.h"
#include "harness/train/evaluate.h"
#include "harness/train/train_options.h"
#include "harness/train/trainer.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

enum { ROWS = 4, LONGEST = 8 };

static const char small[] = "batch=4 longest=8 increment=6 strings=10 evaluate_strings=6";

static bool open_language(task_bench *f, const char *more) {
    return open_task(f, "regular_language", small, more, 1);
}

static int64_t letters_of(const lh_host_batch *batch, int64_t r) {
    int64_t length = 0;
    while (length < batch->length &&
           batch->weights[LH_LETTERS * (r * batch->length + length)] > LH_R(0.5))
        length += 1;
    return length;
}

/* A row's targets are the labels of its letters; nothing counts behind its end. */
static void check_row(const lh_host_batch *batch, int64_t r) {
    const int64_t length = letters_of(batch, r), first = r * batch->length;
    uint8_t letters[64];
    real label[64 * LH_LETTERS];
    for (int64_t t = 0; t < length; ++t)
        letters[t] = (uint8_t)batch->tokens[first + t];
    CHECK(lh_regular_language_has(LH_TOMITA6, letters, length));
    lh_regular_language_label(LH_TOMITA6, letters, length, label);
    for (int64_t i = 0; i < LH_LETTERS * batch->length; ++i) {
        const bool inside = i < LH_LETTERS * length;
        CHECK_NEAR(batch->weights[LH_LETTERS * first + i], inside, 0);
        CHECK_NEAR(batch->target_vectors[LH_LETTERS * first + i], inside ? label[i] : 0, 0);
    }
}

TEST(a_row_is_a_string_with_its_labels) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(open_language(&f, "language=tomita6"));
    CHECK_EQ_INT(f.setup.vocabulary, 2);
    CHECK_EQ_INT(f.setup.output_features, 2);
    for (int n = 0; n < 3; ++n) {
        REQUIRE_OK(next_batch(&f, &batch));
        REQUIRE(batch.rows == ROWS && batch.length == LONGEST);
        for (int64_t r = 0; r < ROWS; ++r) {
            check_row(&batch, r);
            CHECK_EQ_INT(batch.starts[r], 1);
            CHECK((letters_of(&batch, r) > 0) == (4 * n + r < 10)); /* 10 strings, 4 a batch */
        }
    }
    close_task(&f);
}

/* An epoch is three batches; the strings come again in the same order. */
TEST(epochs_repeat_and_go_on_from_a_cursor) {
    task_bench f;
    lh_host_batch batch;
    int32_t first[ROWS * LONGEST], second[ROWS * LONGEST];
    int64_t words[LH_CURSOR_WORDS];
    REQUIRE(open_language(&f, ""));
    const lh_task_class *class = f.task->class;
    REQUIRE_OK(class->train_batch(f.task->instance, &batch));
    memcpy(first, batch.tokens, sizeof first);
    const int count = class->cursor_get(f.task->instance, words);
    REQUIRE_OK(class->train_batch(f.task->instance, &batch));
    memcpy(second, batch.tokens, sizeof second);
    REQUIRE_OK(class->train_batch(f.task->instance, &batch));
    REQUIRE_OK(class->train_batch(f.task->instance, &batch));
    CHECK(memcmp(first, batch.tokens, sizeof first) == 0);
    CHECK(memcmp(first, second, sizeof first) != 0);
    REQUIRE_OK(class->cursor_set(f.task->instance, words, count));
    REQUIRE_OK(class->train_batch(f.task->instance, &batch));
    CHECK(memcmp(second, batch.tokens, sizeof second) == 0);
    words[0] = 10;
    CHECK_FAILS(class->cursor_set(f.task->instance, words, count), LH_EFORMAT,
                "outside the 10 training strings");
    close_task(&f);
}

/* 8 strings, 4 a batch: the third batch is the first one again. */
TEST(whole_batches_leave_no_empty_one) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(open_language(&f, "strings=8"));
    for (int n = 0; n < 4; ++n) {
        REQUIRE_OK(next_batch(&f, &batch));
        for (int64_t r = 0; r < ROWS; ++r)
            CHECK(letters_of(&batch, r) > 0);
    }
    close_task(&f);
}

/* Appendix E.2 of Huang et al. 2023. */
TEST(as_many_strings_as_published) {
    static const char *const options[] = {"language=tomita6 longest=0 increment=0 strings=0",
                                          "language=d2 longest=0 increment=0 strings=0"};
    static const char *const counts[] = {"the 10000 training strings", "the 5000 training strings"};
    for (int k = 0; k < 2; ++k) {
        task_bench f;
        int64_t words[LH_CURSOR_WORDS] = {0};
        REQUIRE(open_language(&f, options[k]));
        const int count = f.task->class->cursor_get(f.task->instance, words);
        words[0] = 10000;
        CHECK_FAILS(f.task->class->cursor_set(f.task->instance, words, count), LH_EFORMAT,
                    counts[k]);
        close_task(&f);
    }
}

/* Also one that is begun after another was left, as by who looks whether a split has anything. */
TEST(a_test_pass_reads_both_bins_once) {
    task_bench f;
    lh_host_batch batch = {.rows = 1};
    int64_t strings[2] = {0};
    REQUIRE(open_language(&f, "language=tomita3 evaluate_strings=60"));
    CHECK_FAILS(f.task->class->evaluate_batch(f.task->instance, &batch), LH_ESTATE,
                "no evaluation");
    REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_TEST));
    REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
    REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_TEST));
    batch.rows = 1;
    while (CHECK_OK(f.task->class->evaluate_batch(f.task->instance, &batch)) && batch.rows > 0) {
        CHECK_EQ_INT(batch.length, batch.group == 0 ? 8 : 14);
        for (int64_t r = 0; r < batch.rows; ++r) {
            const int64_t length = letters_of(&batch, r);
            strings[batch.group] += length > 0;
            CHECK(length == 0 || (batch.group == 0 ? length <= 8 : length >= 9 && length <= 14));
        }
    }
    CHECK_EQ_INT(strings[0], 60);
    CHECK_EQ_INT(strings[1], 60);
    close_task(&f);
}

TEST(bad_lengths_are_refused) {
    const lh_task_class *class = lh_task_class_find("regular_language");
    lh_options *options = NULL;
    lh_model_setup setup;
    lh_task *task = NULL;
    REQUIRE_OK(lh_options_create(class->name, class->options, &options));
    REQUIRE_OK(lh_options_parse(options, "shortest=9 longest=5"));
    CHECK_FAILS(lh_task_create(class, options, 1, &setup, &task), LH_EOPTION, "above longest 5");
    CHECK_FAILS(lh_options_parse(options, "language=tomita8"), LH_EOPTION, "tomita7");
    lh_options_destroy(options);
}

/* ---- scores ---- */

typedef struct run {
    lh_options *model, *task, *train;
    lh_session *session;
} run;

static bool open_run_of(run *r, const lh_task_class *task, const char *task_options,
                        const char *train_options) {
    const lh_model_class *model = lh_model_class_find("lstm");
    *r = (run){0};
    const bool good = CHECK_OK(lh_options_create("lstm", model->options, &r->model)) &&
                      CHECK_OK(lh_options_parse(r->model, "layers=1 width=4 hidden=12")) &&
                      CHECK_OK(lh_options_create("regular_language", task->options, &r->task)) &&
                      CHECK_OK(lh_options_parse(r->task, task_options)) &&
                      CHECK_OK(lh_options_create("train", lh_train_options, &r->train)) &&
                      CHECK_OK(lh_options_parse(r->train, train_options));
    const lh_session_spec spec = {.model = model,
                                  .model_options = r->model,
                                  .task = task,
                                  .task_options = r->task,
                                  .train_options = r->train,
                                  .seed = 3,
                                  .device = "cpu"};
    return good && CHECK_OK(lh_session_create(&spec, &r->session));
}

static bool open_run(run *r, const char *task_options, const char *train_options) {
    return open_run_of(r, lh_task_class_find("regular_language"), task_options, train_options);
}

static void close_run(run *r) {
    lh_session_destroy(r->session);
    lh_options_destroy(r->model);
    lh_options_destroy(r->task);
    lh_options_destroy(r->train);
}

/* With all weights 0 every answer is sigmoid(head_bias): no to the first output, yes to the second
 * with a bias of -2 and 1. In Parity that is right just where a string is all 0s. */
static void answer_no_and_yes(const run *r) {
    lh_params *params = lh_session_model(r->session)->params;
    for (int i = 0; i < lh_params_count(params); ++i)
        for (int64_t e = 0; e < lh_params_at(params, i)->count; ++e)
            lh_tensor_real(lh_params_get(params, i))[e] = 0;
    lh_tensor *bias = lh_params_get(params, lh_params_find(params, "head.bias"));
    lh_tensor_real(bias)[0] = LH_R(-2);
    lh_tensor_real(bias)[1] = LH_R(1);
}

/* Of a split: the strings of each group, those that are all 0s, and squared errors of the answers.
 */
typedef struct by_hand {
    double right[3], count[3], squares, numbers;
} by_hand;

static bool score_by_hand(const run *r, lh_split split, by_hand *out) {
    const lh_task *task = lh_session_task(r->session);
    lh_host_batch batch = {.rows = 1};
    const double answer[] = {1 / (1 + exp(2)), 1 / (1 + exp(-1))};
    *out = (by_hand){0};
    if (!CHECK_OK(task->class->evaluate_begin(task->instance, split))) return false;
    while (CHECK_OK(task->class->evaluate_batch(task->instance, &batch)) && batch.rows > 0)
        for (int64_t row = 0; row < batch.rows; ++row) {
            const int64_t length = letters_of(&batch, row);
            bool ones = false;
            for (int64_t t = row * batch.length; t < row * batch.length + length; ++t) {
                ones = ones || batch.tokens[t] == 1;
                for (int v = 0; v < LH_LETTERS; ++v, ++out->numbers)
                    out->squares +=
                        pow(answer[v] - (double)batch.target_vectors[LH_LETTERS * t + v], 2);
            }
            out->count[batch.group] += length > 0;
            out->right[batch.group] += length > 0 && !ones;
        }
    return true;
}

TEST(a_string_is_right_when_all_its_answers_are) {
    run r;
    lh_metrics metrics;
    by_hand hand;
    REQUIRE(
        open_run(&r, "language=parity longest=4 strings=1 evaluate_strings=12 batch=5", "steps=0"));
    answer_no_and_yes(&r);
    REQUIRE_OK(lh_session_evaluate(r.session, LH_TEST, &metrics));
    REQUIRE(score_by_hand(&r, LH_TEST, &hand));
    CHECK(hand.right[0] > 0 && hand.right[0] < hand.count[0]);
    CHECK_NEAR(lh_metrics_get(&metrics, "accuracy_bin0"), hand.right[0] / hand.count[0], 1e-12);
    CHECK_NEAR(lh_metrics_get(&metrics, "accuracy_bin1"), hand.right[1] / hand.count[1], 1e-12);
    CHECK_NEAR(lh_metrics_get(&metrics, "accuracy"),
               (hand.right[0] + hand.right[1]) / (hand.count[0] + hand.count[1]), 1e-12);
    CHECK_NEAR(lh_metrics_get(&metrics, "mse"), hand.squares / hand.numbers, 1e-6);
    CHECK(isnan(lh_metrics_get(&metrics, "bits_per_token")));
    REQUIRE_OK(lh_session_evaluate(r.session, LH_VALID, &metrics));
    CHECK(isnan(lh_metrics_get(&metrics, "accuracy_bin0")));
    CHECK(!isnan(lh_metrics_get(&metrics, "error_percent")));
    close_run(&r);
}

/* The same task with other names: batches of bin 0 in turn short and middle, those of bin 1 long,
 * or what `all_groups` says. */
static const char *const three_names[] = {"short", "middle", "long", NULL};
static int all_groups, batches_read;

static lh_status begin_three(void *instance, lh_split split) {
    batches_read = 0;
    return lh_task_class_find("regular_language")->evaluate_begin(instance, split);
}

static lh_status batch_of_three(void *instance, lh_host_batch *out) {
    const lh_status status = lh_task_class_find("regular_language")->evaluate_batch(instance, out);
    out->group = out->group == 1 ? 2 : batches_read++ % 2;
    if (all_groups != 0) out->group = all_groups;
    return status;
}

static lh_task_class class_of_three(void) {
    lh_task_class class = *lh_task_class_find("regular_language");
    class.groups = three_names;
    class.evaluate_begin = begin_three;
    class.evaluate_batch = batch_of_three;
    return class;
}

TEST(a_task_has_as_many_groups_as_it_names) {
    static const char small_run[] =
        "language=parity shortest=1 longest=3 strings=1 evaluate_strings=41 batch=4";
    const lh_task_class class = class_of_three();
    run r;
    lh_metrics metrics;
    by_hand hand;
    all_groups = 0;
    REQUIRE(open_run_of(&r, &class, small_run, "steps=0"));
    answer_no_and_yes(&r);
    REQUIRE_OK(lh_session_evaluate(r.session, LH_TEST, &metrics));
    REQUIRE(score_by_hand(&r, LH_TEST, &hand));
    for (int g = 0; g < 3; ++g) {
        char name[32];
        snprintf(name, sizeof name, "accuracy_%s", three_names[g]);
        CHECK(hand.count[g] > 0);
        CHECK_NEAR(lh_metrics_get(&metrics, name), hand.right[g] / hand.count[g], 1e-12);
    }
    CHECK(hand.right[0] > 0 && hand.right[0] / hand.count[0] != hand.right[1] / hand.count[1]);
    CHECK_NEAR(lh_metrics_get(&metrics, "accuracy"),
               (hand.right[0] + hand.right[1] + hand.right[2]) /
                   (hand.count[0] + hand.count[1] + hand.count[2]),
               1e-12);
    CHECK(isnan(lh_metrics_get(&metrics, "accuracy_bin0")));
    /* one group alone is the whole split */
    all_groups = 2;
    REQUIRE_OK(lh_session_evaluate(r.session, LH_TEST, &metrics));
    CHECK(isnan(lh_metrics_get(&metrics, "accuracy_long")));
    all_groups = 3;
    CHECK_FAILS(lh_session_evaluate(r.session, LH_TEST, &metrics), LH_EINTERNAL,
                "task regular_language: a batch of group 3, but there are 3");
    all_groups = -1;
    CHECK_FAILS(lh_session_evaluate(r.session, LH_TEST, &metrics), LH_EINTERNAL, "group -1");
    close_run(&r);
}

TEST(a_recurrent_model_learns_what_may_follow) {
    run r;
    lh_metrics before, after;
    REQUIRE(open_run(&r, "language=d2 batch=16 longest=20 strings=200 evaluate_strings=50",
                     "optimizer=adam rate=0.02 schedule=constant warmup=0 steps=150"));
    REQUIRE_OK(lh_session_evaluate(r.session, LH_TEST, &before));
    REQUIRE_OK(lh_session_train(r.session, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_evaluate(r.session, LH_TEST, &after));
    CHECK(lh_metrics_get(&after, "mse") < 0.1 * lh_metrics_get(&before, "mse"));
    CHECK(lh_metrics_get(&after, "accuracy_bin0") > 0.9);
    close_run(&r);
}

/* ---- splits ---- */

typedef struct string_set {
    int count;
    int64_t length[64];
    int32_t letters[64][64];
} string_set;

static bool holds(const string_set *set, const int32_t *letters, int64_t length) {
    for (int i = 0; i < set->count; ++i)
        if (set->length[i] == length &&
            memcmp(set->letters[i], letters, (size_t)length * sizeof *letters) == 0)
            return true;
    return false;
}

/* Adds a pass over a split; every string must be new to the set. */
static void add_split(const task_bench *f, lh_split split, string_set *set) {
    lh_host_batch batch = {.rows = 1};
    REQUIRE_OK(f->task->class->evaluate_begin(f->task->instance, split));
    while (CHECK_OK(f->task->class->evaluate_batch(f->task->instance, &batch)) && batch.rows > 0) {
        for (int64_t r = 0; r < batch.rows; ++r) {
            const int64_t length = letters_of(&batch, r);
            const int32_t *letters = batch.tokens + r * batch.length;
            if (length == 0) continue;
            CHECK(!holds(set, letters, length));
            REQUIRE(set->count < 64 && length <= 64);
            set->length[set->count] = length;
            memcpy(set->letters[set->count++], letters, (size_t)length * sizeof *letters);
        }
    }
}

/* Long random strings: where one comes twice, two splits share it. */
TEST(no_split_has_a_string_of_another) {
    task_bench f;
    string_set seen = {0};
    REQUIRE(open_language(&f, "language=parity shortest=24 longest=30 increment=20"));
    add_split(&f, LH_TRAIN, &seen);
    CHECK_EQ_INT(seen.count, 10);
    add_split(&f, LH_VALID, &seen);
    CHECK_EQ_INT(seen.count, 16);
    add_split(&f, LH_TEST, &seen);
    CHECK_EQ_INT(seen.count, 28);
    close_task(&f);
}
