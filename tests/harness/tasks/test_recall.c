/* Recall as a task: what is asked of a row, whole and segment by segment, and mixtures of kinds. */
#include "datasets/generate/recall.h"

#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

static bool open_recall(task_bench *f, const char *options, uint64_t seed) {
    return open_task(f, "recall", options, "", seed);
}

TEST(a_row_is_a_sequence_and_its_queries_alone_are_asked) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(open_recall(&f, "vocabulary=64 pairs=5 lengths=40 batch=3", 1));
    CHECK_EQ_INT(f.setup.vocabulary, 64);
    for (int n = 0; n < 4; ++n) {
        REQUIRE_OK(next_batch(&f, &batch));
        REQUIRE(batch.rows == 3 && batch.length == 40);
        CHECK_NEAR(weight_of(&batch), 3 * 5, 0);
        for (int64_t i = 0; i < 3 * 40; ++i) {
            const int32_t *row = batch.tokens + i / 40 * 40;
            if (!(batch.weights[i] > 0)) continue;
            int64_t pair = 0;
            while (pair < 5 && row[2 * pair] != batch.tokens[i])
                pair += 1;
            REQUIRE(pair < 5);
            CHECK_EQ_INT(batch.target[i], row[2 * pair + 1]);
        }
        CHECK(batch.starts[0] == 1 && batch.starts[2] == 1);
    }
    close_task(&f);
}

/* The same tokens and targets in pieces, the last position of a sequence among them; only the first
 * piece begins afresh. */
TEST(a_sequence_may_be_read_in_segments) {
    task_bench whole, parts;
    lh_host_batch all, part;
    REQUIRE(open_recall(&whole, "vocabulary=64 pairs=4 lengths=16 batch=2 power=1", 1));
    REQUIRE(open_recall(&parts, "vocabulary=64 pairs=4 lengths=16 batch=2 power=1 segment=4", 1));
    for (int n = 0; n < 5; ++n) {
        REQUIRE_OK(next_batch(&whole, &all));
        for (int64_t p = 0; p < 4; ++p) {
            REQUIRE_OK(next_batch(&parts, &part));
            REQUIRE(part.length == 4);
            CHECK_EQ_INT(part.starts[1], p == 0);
            for (int64_t i = 0; i < 8; ++i) {
                const int64_t at = i / 4 * 16 + 4 * p + i % 4;
                CHECK_EQ_INT(part.tokens[i], all.tokens[at]);
                CHECK_EQ_INT(part.target[i], all.target[at]);
                CHECK(part.weights[i] == all.weights[at]);
            }
        }
    }
    close_task(&whole);
    close_task(&parts);
}

/* Queries of a row tell its kind: 2 in 16 tokens three times as often as 8 in 32. */
TEST(kinds_are_mixed_by_their_shares) {
    task_bench f;
    lh_host_batch batch;
    int64_t seen[2] = {0};
    REQUIRE(open_recall(&f, "vocabulary=64 pairs=2,8 lengths=16,32 shares=3,1 batch=1", 1));
    for (int n = 0; n < 1000; ++n) {
        REQUIRE_OK(next_batch(&f, &batch));
        REQUIRE(batch.length == 32);
        const double asked = weight_of(&batch);
        REQUIRE(asked == 2 || asked == 8);
        seen[asked == 8] += 1;
    }
    CHECK_NEAR((double)seen[0], 750, 60);
    close_task(&f);
}

TEST(the_most_of_all_kinds_is_told) {
    static const struct {
        const char *options, *data;
    } cases[] = {{"pairs=8 lengths=32", "recall, 8 pairs in 32 tokens"},
                 {"pairs=2,8 lengths=16,32", "recall, up to 8 pairs in 32 tokens"},
                 {"pairs=8,2 lengths=32,16", "recall, up to 8 pairs in 32 tokens"},
                 {"pairs=2,8,4 lengths=64,32,16", "recall, up to 8 pairs in 64 tokens"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        task_bench f;
        REQUIRE(open_recall(&f, cases[i].options, 1));
        char *data = f.task->class->describe(f.task->instance);
        CHECK_STR(data, cases[i].data);
        free(data);
        close_task(&f);
    }
}

static double pass_over(task_bench *f, lh_split split, double *asked) {
    double sum = 0;
    lh_host_batch batch = {.rows = 1};
    *asked = 0;
    CHECK_OK(f->task->class->evaluate_begin(f->task->instance, split));
    while (CHECK_OK(f->task->class->evaluate_batch(f->task->instance, &batch)) && batch.rows > 0) {
        *asked += weight_of(&batch);
        for (int64_t i = 0; i < batch.rows * batch.length; ++i)
            sum += (double)batch.target[i] * (double)(i + 1);
    }
    return sum;
}

TEST(held_out_sequences_are_the_same_for_every_seed_and_training_has_others) {
    static const char options[] = "batch=4 pairs=3 lengths=16 evaluate_sequences=10";
    task_bench one, other, elsewhere;
    lh_host_batch a, b;
    double asked;
    REQUIRE(open_recall(&one, options, 1) && open_recall(&other, options, 2));
    REQUIRE(open_recall(&elsewhere, "pairs=3 lengths=16 evaluate_sequences=10 data_seed=2", 1));
    const double test = pass_over(&one, LH_TEST, &asked);
    CHECK_NEAR(asked, 10 * 3, 0);
    CHECK_NEAR(test, pass_over(&other, LH_TEST, &asked), 0);
    CHECK(fabs(test - pass_over(&one, LH_VALID, &asked)) > 0);
    CHECK(fabs(test - pass_over(&elsewhere, LH_TEST, &asked)) > 0);
    REQUIRE_OK(next_batch(&one, &a));
    REQUIRE_OK(next_batch(&other, &b));
    CHECK(memcmp(a.tokens, b.tokens, 64 * sizeof *a.tokens) != 0);
    close_task(&one);
    close_task(&other);
    close_task(&elsewhere);
}

TEST(malformed_options_are_refused) {
    const lh_task_class *class = lh_task_class_find("recall");
    static const struct {
        const char *text, *says;
    } wrong[] = {{"pairs=2,3 shares=1,2,3", "one entry for each kind"},
                 {"pairs=0", "'pairs' must be integers between 1 and 1000000"},
                 {"shares=1,0", "'shares' must be integers between 1 and 1000000"},
                 {"shares=1,5000000000", "got '5000000000'"},
                 {"pairs=8 lengths=30", "an even length of 32"},
                 {"vocabulary=16", "has 7 keys"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        lh_options *options = NULL;
        lh_task *task = NULL;
        lh_model_setup setup;
        REQUIRE_OK(lh_options_create("recall", class->options, &options));
        lh_status status = lh_options_parse(options, wrong[i].text);
        if (status == LH_OK) status = lh_task_create(class, options, 1, &setup, &task);
        CHECK_FAILS(status, LH_EOPTION, wrong[i].says);
        lh_options_destroy(options);
    }
}
