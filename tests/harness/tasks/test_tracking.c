/* Episodes in rows: their order, their labels, their end. */

#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

enum { ROWS = 3, LENGTH = 8 };

static bool open_tracking(task_bench *f, const char *name, const char *more) {
    return open_task(f, name, "batch=3 segment=8", more, 1);
}

/* A walk of 4 steps is 5 symbols, of which only the first is the reset (0). */
TEST(rows_read_whole_episodes_one_after_the_other) {
    task_bench f;
    REQUIRE(open_tracking(&f, "random_walk", "steps=4 grid=3 episodes=0"));
    CHECK_EQ_INT(f.setup.vocabulary, 4 + 9);
    for (int64_t n = 0; n < 5; ++n) {
        lh_host_batch batch;
        REQUIRE_OK(next_batch(&f, &batch));
        REQUIRE(batch.rows == ROWS && batch.length == LENGTH);
        for (int64_t i = 0; i < ROWS * LENGTH; ++i) {
            const int64_t at = n * LENGTH + i % LENGTH;
            CHECK((batch.tokens[i] == 0) == (at % 5 == 0));
            CHECK((double)batch.weights[i] == 1.0);
            CHECK(batch.target[i] >= 4 && batch.target[i] < 13);
        }
        for (int64_t r = 0; r < ROWS; ++r)
            CHECK_EQ_INT(batch.starts[r], n == 0);
    }
    close_task(&f);
}

TEST(training_episodes_come_again_unless_they_are_fresh) {
    for (int fresh = 0; fresh < 2; ++fresh) {
        task_bench f;
        REQUIRE(
            open_tracking(&f, "random_walk", fresh ? "steps=7 episodes=0" : "steps=7 episodes=3"));
        lh_host_batch batch;
        int32_t first[ROWS * LENGTH];
        REQUIRE_OK(next_batch(&f, &batch));
        memcpy(first, batch.tokens, sizeof first);
        CHECK(memcmp(first, first + LENGTH, LENGTH * sizeof *first) != 0); /* rows of their own */
        REQUIRE_OK(next_batch(&f, &batch));
        CHECK((memcmp(first, batch.tokens, sizeof first) == 0) == (fresh == 0));
        close_task(&f);
    }
}

TEST(a_stream_goes_on_from_its_cursor) {
    static const char *const tasks[] = {"random_walk", "algorithm"};
    for (int k = 0; k < 2; ++k) {
        task_bench f, again;
        lh_host_batch a, b;
        int64_t words[LH_CURSOR_WORDS];
        REQUIRE(open_tracking(&f, tasks[k], "") && open_tracking(&again, tasks[k], ""));
        for (int n = 0; n < 7; ++n)
            REQUIRE_OK(next_batch(&f, &a));
        const int count = f.task->class->cursor_get(f.task->instance, words);
        REQUIRE_OK(again.task->class->cursor_set(again.task->instance, words, count));
        for (int n = 0; n < 40; ++n) {
            REQUIRE_OK(next_batch(&f, &a));
            REQUIRE_OK(next_batch(&again, &b));
            const size_t bytes = ROWS * LENGTH * sizeof(int32_t);
            CHECK(memcmp(a.tokens, b.tokens, bytes) == 0 && memcmp(a.target, b.target, bytes) == 0);
        }
        CHECK_FAILS(again.task->class->cursor_set(again.task->instance, words, 2), LH_EFORMAT,
                    "rows");
        words[0] = -1;
        CHECK_FAILS(again.task->class->cursor_set(again.task->instance, words, count), LH_EFORMAT,
                    "no stream of episodes has");
        close_task(&f);
        close_task(&again);
    }
}

/* Labels that a pass over a split asks for, and the sum of their values. */
static double pass_over(task_bench *f, lh_split split, double *sum) {
    double labels = 0;
    lh_host_batch batch = {.rows = 1};
    *sum = 0;
    CHECK_OK(f->task->class->evaluate_begin(f->task->instance, split));
    while (CHECK_OK(f->task->class->evaluate_batch(f->task->instance, &batch)) && batch.rows > 0) {
        for (int64_t i = 0; i < batch.rows * batch.length; ++i) {
            labels += (double)batch.weights[i];
            *sum += (double)batch.weights[i] * batch.target[i] * (double)(i + 1);
        }
    }
    return labels;
}

TEST(a_pass_asks_for_every_label_once) {
    task_bench f;
    double valid, again, test;
    REQUIRE(open_tracking(&f, "random_walk", "steps=10 evaluate_episodes=7"));
    CHECK_NEAR(pass_over(&f, LH_VALID, &valid), 7 * 11, 0);
    CHECK_NEAR(pass_over(&f, LH_VALID, &again), 7 * 11, 0);
    CHECK_NEAR(pass_over(&f, LH_TEST, &test), 7 * 11, 0);
    CHECK_NEAR(valid, again, 0);
    CHECK(fabs(valid - test) > 0);
    close_task(&f);
}

TEST(fewer_episodes_than_rows_make_fewer_rows) {
    task_bench f;
    double sum;
    lh_host_batch batch;
    REQUIRE(open_tracking(&f, "random_walk", "steps=10 evaluate_episodes=2"));
    CHECK_NEAR(pass_over(&f, LH_TEST, &sum), 2 * 11, 0);
    REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_TEST));
    REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
    CHECK_EQ_INT(batch.rows, 2);
    close_task(&f);
}

/* Nothing but what is printed is asked for; a guess is right one time in ten. */
TEST(programs_are_scored_where_they_print) {
    task_bench f;
    double sum;
    REQUIRE(open_tracking(&f, "algorithm", "evaluate_episodes=200"));
    CHECK_EQ_INT(f.setup.vocabulary, 23);
    CHECK_NEAR(pass_over(&f, LH_TEST, &sum) / 200, 25.6, 1.5);
    char *data = f.task->class->describe(f.task->instance);
    CHECK_CONTAINS(data, "3 variables (constant guess errs 8");
    free(data);
    close_task(&f);
}

TEST(malformed_options_are_refused) {
    task_bench f;
    CHECK_FAILS(make_task(&f, "algorithm", "variables=6", "", 1), LH_EOPTION, "variables");
    CHECK_FAILS(make_task(&f, "algorithm", "largest=1", "", 1), LH_EOPTION, "largest");
    CHECK_FAILS(make_task(&f, "algorithm", "grid=4", "", 1), LH_EOPTION, "grid");
}
