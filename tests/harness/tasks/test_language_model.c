/* Batches and passes of language modelling on the embedded generator's books. */

#include <string.h>

#include "datasets/text/corpus.h"
#include "harness/train/evaluate.h"
#include "tests/config.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

static const char *const generated =
    "name=generate:books documents=6 document_bytes=3000 segment=64 batch=4";

static bool open_books(task_bench *f, const char *more) {
    return open_task(f, "language_model", generated, more, 1);
}

/* The same corpus, opened beside the task. */
static lh_status open_corpus(lh_corpus **out) {
    lh_options *options = NULL;
    lh_corpus_config config;
    lh_status status =
        parse_config(lh_corpus_config_options,
                     "name=generate:books documents=6 document_bytes=3000", &config, &options);
    if (status == LH_OK) status = lh_corpus_open(&config, out);
    lh_options_destroy(options);
    return status;
}

TEST(the_tables_are_its_own_and_those_of_the_corpus) {
    REQUIRE(lh_language_model_class.options[1].rows == lh_corpus_config_options);
    CHECK(lh_language_model_class.options[2].rows == NULL);
}

TEST(an_unknown_task_suggests_the_nearest) {
    CHECK(lh_task_class_find("langage_model") == NULL);
    CHECK_FAILS(lh_error_get()->status, LH_EOPTION, "did you mean 'language_model'");
    CHECK(lh_task_class_at(-1) == NULL && lh_task_class_at(1000) == NULL);
}

TEST(training_batches_have_the_promised_shape) {
    task_bench f;
    lh_host_batch batch;
    int64_t rows = 0, length = 0;
    REQUIRE(open_books(&f, ""));
    CHECK_EQ_INT(f.setup.vocabulary, 260);
    f.task->class->shape(f.task->instance, &rows, &length);
    CHECK_EQ_INT(rows, 4);
    CHECK_EQ_INT(length, 64);
    for (int i = 0; i < 300; ++i) {
        REQUIRE_OK(next_batch(&f, &batch));
        CHECK(batch.rows == 4 && batch.length == 64);
    }
    close_task(&f);
}

TEST(an_evaluation_reads_the_split_once) {
    task_bench f;
    lh_corpus *corpus = NULL;
    lh_host_batch batch;
    REQUIRE_OK(open_corpus(&corpus));
    REQUIRE(open_books(&f, ""));
    for (int split = LH_VALID; split <= LH_TEST; ++split) {
        double expected = 0.0, bytes = 0.0, predicted = 0.0, predicted_bytes = 0.0;
        for (int64_t d = 0; d < lh_corpus_documents(corpus, (lh_split)split); ++d) {
            lh_document document;
            REQUIRE_OK(lh_corpus_document(corpus, (lh_split)split, d, &document));
            expected += (double)(document.count - 1);
            bytes += document.bytes;
        }
        REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, (lh_split)split));
        while (true) {
            REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
            if (batch.rows == 0) break;
            CHECK(batch.rows <= 4);
            predicted_bytes += batch.predicted_bytes;
            predicted += weight_of(&batch);
        }
        CHECK_NEAR(predicted, expected, 0);
        CHECK(expected > 0.0 && predicted_bytes < bytes && predicted_bytes > 0.99 * bytes);
    }
    close_task(&f);
    lh_corpus_destroy(corpus);
}

TEST(an_evaluation_can_be_cut_short) {
    task_bench f;
    lh_host_batch batch;
    REQUIRE(open_books(&f, "evaluate_documents=1 evaluate_batches=3"));
    CHECK_STATUS(f.task->class->evaluate_batch(f.task->instance, &batch), LH_ESTATE);
    for (int pass = 0; pass < 2; ++pass) {
        int batches = 0;
        REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_TEST));
        for (bool more = true; more; batches += more) {
            REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
            more = batch.rows > 0;
            if (more) CHECK_EQ_INT(batch.rows, 1);
        }
        CHECK_EQ_INT(batches, 3);
    }
    close_task(&f);
}

/* A split may have documents, and in them nothing to predict. */
TEST(a_split_with_nothing_to_predict_is_told) {
    task_bench f;
    static const char *const none = "evaluate: the valid split has nothing to predict";
    REQUIRE(open_books(&f, "valid_tokens=1"));
    CHECK_FAILS(lh_task_check_split(f.task, &f.setup, LH_VALID), LH_EFORMAT, none);
    CHECK_OK(lh_task_check_split(f.task, &f.setup, LH_TEST));
    close_task(&f);
    REQUIRE(open_books(&f, "limit_eval_bytes=1"));
    CHECK_FAILS(lh_task_check_split(f.task, &f.setup, LH_VALID), LH_EFORMAT, none);
    close_task(&f);
    REQUIRE(open_books(&f, "limit_eval_bytes=2"));
    CHECK_OK(lh_task_check_split(f.task, &f.setup, LH_VALID));
    close_task(&f);
}

/* The joined tokens of a split; allocated here. */
static int64_t join_split(lh_split split, int32_t **out, double *bytes) {
    lh_corpus *corpus = NULL;
    int64_t count = 0;
    *out = NULL;
    *bytes = 0.0;
    if (!CHECK_OK(open_corpus(&corpus))) return 0;
    for (int64_t d = 0; d < lh_corpus_documents(corpus, split); ++d) {
        lh_document document;
        if (!CHECK_OK(lh_corpus_document(corpus, split, d, &document))) break;
        *out = realloc(*out, (size_t)(count + document.count) * sizeof **out);
        memcpy(*out + count, document.tokens, (size_t)document.count * sizeof **out);
        count += document.count;
        *bytes += document.bytes;
    }
    lh_corpus_destroy(corpus);
    return count;
}

/* A pass in subsequences predicts all the split's tokens but one, in rows that each begin anew; in
 * training with quarters a token is read four times an epoch. */
TEST(segments_can_be_read_each_by_itself) {
    task_bench f;
    lh_host_batch batch;
    int32_t *tokens = NULL;
    double bytes = 0, predicted = 0;
    const int64_t count = join_split(LH_TEST, &tokens, &bytes);
    free(tokens);
    REQUIRE(open_books(&f, "subsequences=quarter segment=64 batch=2"));
    REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_TEST));
    do {
        REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
        predicted += weight_of(&batch);
        for (int64_t row = 0; row < batch.rows; ++row)
            CHECK_EQ_INT(batch.starts[row], 1);
    } while (batch.rows > 0);
    CHECK_NEAR(predicted, (double)(count - 1), 0);
    for (int n = 0; n < 10; ++n) {
        REQUIRE_OK(next_batch(&f, &batch));
        CHECK(batch.starts[0] == 1 && batch.starts[1] == 1);
    }
    close_task(&f);
}

/* Each row goes through its part of the joined documents, whose bounds it does not see, and begins
 * anew at its end alone; nothing of an evaluation is left out. */
TEST(rows_read_streams_from_end_to_end) {
    enum { ROWS = 3, LENGTH = 64 };
    task_bench f;
    lh_host_batch batch;
    int32_t *tokens = NULL;
    double bytes = 0, predicted_bytes = 0;
    const int64_t count = join_split(LH_TEST, &tokens, &bytes);
    const int64_t share = (count - 1 + ROWS - 1) / ROWS;
    int64_t at[ROWS] = {0}, predicted = 0;
    REQUIRE(open_books(&f, "subsequences=streams segment=64 batch=3"));
    REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_TEST));
    do {
        REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
        predicted_bytes += batch.predicted_bytes;
        for (int64_t i = 0; i < batch.rows * LENGTH; ++i) {
            const int64_t row = i / LENGTH;
            if (batch.weights[i] == LH_R(0)) continue;
            CHECK_EQ_INT(batch.starts[row], at[row] < LENGTH);
            CHECK_EQ_INT(batch.tokens[i], tokens[row * share + at[row]]);
            CHECK_EQ_INT(batch.target[i], tokens[row * share + at[row] + 1]);
            at[row] += 1;
            predicted += 1;
        }
    } while (batch.rows > 0);
    CHECK_EQ_INT(predicted, count - 1);
    CHECK_NEAR(predicted_bytes, bytes, 4);
    free(tokens);
    close_task(&f);
}

TEST(training_reads_streams_that_are_equally_long) {
    enum { ROWS = 3, LENGTH = 64 };
    task_bench f;
    lh_host_batch batch;
    int32_t *tokens = NULL;
    double bytes = 0;
    const int64_t share = (join_split(LH_TRAIN, &tokens, &bytes) - 1) / ROWS;
    int64_t steps = 0;
    free(tokens);
    REQUIRE(open_books(&f, "subsequences=streams segment=64 batch=3"));
    for (int epoch = 0; epoch < 3; ++epoch) {
        for (int64_t step = 0; step * LENGTH < share; ++step) {
            REQUIRE_OK(next_batch(&f, &batch));
            for (int row = 0; row < ROWS; ++row)
                CHECK_EQ_INT(batch.starts[row], step == 0);
            steps += 1;
        }
    }
    CHECK(steps > 3 * 10);
    close_task(&f);
}

/* More rows than tokens: no row is without a stream of at least one prediction. */
TEST(short_splits_have_fewer_streams) {
    task_bench f;
    lh_host_batch batch;
    double predicted = 0;
    REQUIRE(open_books(&f, "subsequences=streams batch=40 limit_eval_bytes=20 evaluate_batches=9"));
    REQUIRE_OK(f.task->class->evaluate_begin(f.task->instance, LH_VALID));
    do {
        REQUIRE_OK(f.task->class->evaluate_batch(f.task->instance, &batch));
        predicted += weight_of(&batch);
    } while (batch.rows > 0);
    CHECK_NEAR(predicted, 19, 0);
    close_task(&f);
}

static void check_excluded(const char *more, const char *cause) {
    task_bench f;
    CHECK_FAILS(make_task(&f, "language_model", generated, more, 1), LH_EOPTION, cause);
}

TEST(subsequences_exclude_overlaps_and_counts_of_documents) {
    check_excluded("subsequences=disjoint overlap=4", "'overlap' and 'subsequences' exclude each");
    static const char *const joined[] = {"subsequences=streams evaluate_documents=4",
                                         "subsequences=disjoint evaluate_documents=4",
                                         "subsequences=quarter evaluate_documents=4"};
    for (size_t i = 0; i < sizeof joined / sizeof *joined; ++i)
        check_excluded(joined[i], "'evaluate_batches' bounds");
    task_bench f;
    REQUIRE(open_books(&f, "subsequences=streams overlap=4"));
    close_task(&f);
}

TEST(the_data_is_described) {
    task_bench f;
    REQUIRE(open_books(&f, ""));
    char *data = f.task->class->describe(f.task->instance);
    CHECK_CONTAINS(data, "books");
    free(data);
    CHECK(f.task->class->digest(f.task->instance) != 0);
    close_task(&f);
}

/* What is remarked on the data with these options; NULL: nothing. */
static char *remark_with(const char *options) {
    task_bench f;
    char *data = NULL, *remark = NULL;
    if (!CHECK(open_books(&f, options))) return NULL;
    CHECK_OK(lh_task_describe(f.task, &data, &remark));
    CHECK(data != NULL && strstr(data, "batch") == NULL);
    free(data);
    close_task(&f);
    return remark;
}

TEST(rows_that_read_the_same_document_are_remarked_on) {
    char *none = remark_with("batch=1");
    char *streams = remark_with("batch=40 subsequences=streams");
    char *some = remark_with("batch=40");
    char *one = remark_with("limit_documents=1 batch=8");
    CHECK(none == NULL && streams == NULL);
    CHECK_CONTAINS(some, " training documents for a batch of 40 rows");
    CHECK_CONTAINS(one, "1 training document for a batch of 8 rows, some of which read the same");
    free(some);
    free(one);
}
