/* Words to duplicate and images: what is read, what is scored, which draws are whose. */
#include "datasets/generate/duplication.h"
#include "datasets/generate/generate_image.h"

#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

/* ---- duplication ---- */

/* 0w0w: in 100 words of 7 symbols 1 .. 3 each symbol occurs, and 0 only before a word. */
TEST(words_are_of_the_alphabet_alone) {
    const lh_duplication rules = {.word = 7, .alphabet = 3};
    int64_t seen[4] = {0};
    for (uint64_t n = 0; n < 100; ++n) {
        int32_t out[16];
        lh_duplication_write(&rules, (lh_random_key){.seed = 1, .step = n}, out);
        for (int t = 0; t < 16; ++t) {
            REQUIRE(out[t] >= 0 && out[t] <= 3);
            CHECK((out[t] == 0) == (t % 8 == 0));
            CHECK_EQ_INT(out[t], out[t % 8]);
            seen[out[t]] += 1;
        }
    }
    CHECK(seen[1] > 0 && seen[2] > 0 && seen[3] > 0);
}

/* Row by row: the sequence one place later, every symbol a target, of which the second word counts.
 */
static void check_duplication(const lh_host_batch *batch, int64_t word) {
    const int64_t length = 2 * (word + 1);
    REQUIRE(batch->length == length);
    for (int64_t r = 0; r < batch->rows; ++r) {
        const int32_t *tokens = batch->tokens + r * length, *target = batch->target + r * length;
        CHECK(batch->starts[r] == 1 && tokens[0] == 0 && tokens[1] == 0);
        for (int64_t t = 0; t < length; ++t) {
            const bool counts = t > word + 1;
            CHECK(batch->weights[r * length + t] == (counts ? LH_R(1) : LH_R(0)));
            if (counts) CHECK_EQ_INT(target[t], tokens[t - word]);
            if (counts && t + 1 < length) CHECK_EQ_INT(target[t], tokens[t + 1]);
        }
        CHECK_EQ_INT(tokens[word + 2], 0);
    }
}

TEST(the_second_word_alone_is_scored) {
    task_bench f;
    lh_host_batch batch;
    int64_t rows = 0, length = 0;
    REQUIRE(open_task(&f, "duplication", "batch=3", "", 1));
    CHECK_EQ_INT(f.setup.vocabulary, 128);
    f.task->class->shape(f.task->instance, &rows, &length);
    CHECK(rows == 3 && length == 1024);
    for (int n = 0; n < 3; ++n) {
        REQUIRE_OK(next_batch(&f, &batch));
        check_duplication(&batch, 511);
    }
    close_task(&f);
}

/* In segments of 5 what is read, predicted and scored is what it is in one of 20. */
TEST(a_sequence_may_be_read_in_segments) {
    task_bench whole, cut;
    lh_host_batch all, part;
    int64_t rows = 0, length = 0;
    REQUIRE(open_task(&whole, "duplication", "batch=3 word=9", "", 1));
    REQUIRE(open_task(&cut, "duplication", "batch=3 word=9 segment=5", "", 1));
    cut.task->class->shape(cut.task->instance, &rows, &length);
    CHECK(rows == 3 && length == 5);
    for (int n = 0; n < 8; ++n) {
        if (n % 4 == 0) REQUIRE_OK(next_batch(&whole, &all));
        REQUIRE_OK(next_batch(&cut, &part));
        for (int64_t r = 0; r < 3; ++r) {
            CHECK_EQ_INT(part.starts[r], n % 4 == 0);
            for (int64_t t = 0; t < 5; ++t) {
                const int64_t there = r * 20 + n % 4 * 5 + t, here = r * 5 + t;
                CHECK_EQ_INT(part.tokens[here], all.tokens[there]);
                CHECK_EQ_INT(part.target[here], all.target[there]);
                CHECK(part.weights[here] == all.weights[there]);
            }
        }
    }
    close_task(&whole);
    close_task(&cut);
}

/* Words of 6 symbols out of a billion: none is met twice unless it is the same. */
static uint64_t read_words(task_bench *f, int batches) {
    uint64_t sum = 0;
    for (int n = 0; n < batches; ++n) {
        lh_host_batch batch;
        if (!CHECK_OK(next_batch(f, &batch))) return 0;
        for (int64_t i = 0; i < batch.rows * batch.length; ++i)
            sum = sum * 31 + (uint64_t)batch.tokens[i];
    }
    return sum;
}

TEST(training_words_are_fresh_and_drawn_from_the_runs_seed) {
    task_bench one, again, other;
    const char *options = "batch=2 word=6 alphabet=1000";
    REQUIRE(open_task(&one, "duplication", options, "", 1));
    REQUIRE(open_task(&again, "duplication", options, "", 1));
    REQUIRE(open_task(&other, "duplication", options, "", 2));
    uint64_t before = 0;
    for (int n = 0; n < 50; ++n) {
        const uint64_t read = read_words(&one, 1);
        CHECK(read == read_words(&again, 1));
        CHECK(read != read_words(&other, 1) && read != before);
        before = read;
    }
    close_task(&one);
    close_task(&again);
    close_task(&other);
}

/* A pass reads so many sequences; the sum of its tokens, weighted. */
static double pass_over(task_bench *f, lh_split split, double *predicted) {
    double sum = 0;
    lh_host_batch batch = {.rows = 1};
    *predicted = 0;
    CHECK_OK(f->task->class->evaluate_begin(f->task->instance, split));
    while (CHECK_OK(f->task->class->evaluate_batch(f->task->instance, &batch)) && batch.rows > 0) {
        for (int64_t i = 0; i < batch.rows * batch.length; ++i) {
            *predicted += (double)batch.weights[i];
            sum += (double)batch.target[i] * (double)(i + 1);
        }
    }
    return sum;
}

TEST(held_out_words_are_the_same_for_every_seed) {
    task_bench one, other, elsewhere;
    double predicted;
    REQUIRE(open_task(&one, "duplication", "batch=4 word=9 evaluate_sequences=10", "", 1));
    REQUIRE(open_task(&other, "duplication", "batch=4 word=9 evaluate_sequences=10", "", 2));
    REQUIRE(
        open_task(&elsewhere, "duplication", "word=9 evaluate_sequences=10 data_seed=2", "", 1));
    const double test = pass_over(&one, LH_TEST, &predicted);
    CHECK_NEAR(predicted, 10 * 9, 0);
    CHECK_NEAR(test, pass_over(&other, LH_TEST, &predicted), 0);
    CHECK(fabs(test - pass_over(&one, LH_VALID, &predicted)) > 0);
    CHECK(fabs(test - pass_over(&elsewhere, LH_TEST, &predicted)) > 0);
    close_task(&one);
    close_task(&other);
    close_task(&elsewhere);
}

TEST(a_stream_without_end_goes_on_from_its_cursor) {
    static const char *const tasks[] = {"duplication", "imagenet64"};
    static const char *const options[] = {"batch=3 word=5", "batch=3 side=8 images=4"};
    for (int k = 0; k < 2; ++k) {
        task_bench f, again;
        int64_t words[LH_CURSOR_WORDS];
        REQUIRE(open_task(&f, tasks[k], options[k], "", 1));
        REQUIRE(open_task(&again, tasks[k], options[k], "", 1));
        (void)read_words(&f, 7);
        const int count = f.task->class->cursor_get(f.task->instance, words);
        REQUIRE_OK(again.task->class->cursor_set(again.task->instance, words, count));
        CHECK(read_words(&f, 20) == read_words(&again, 20));
        words[2] = words[1] + 100;
        CHECK_FAILS(again.task->class->cursor_set(again.task->instance, words, count), LH_EFORMAT,
                    "a position outside");
        close_task(&f);
        close_task(&again);
    }
}

/* ---- images ---- */

TEST(an_image_is_read_byte_by_byte_after_a_zero) {
    task_bench f;
    lh_host_batch batch;
    uint8_t image[64 * 64 * 3];
    REQUIRE(open_task(&f, "imagenet64", "batch=1 images=1", "", 1));
    CHECK_EQ_INT(f.setup.vocabulary, 256);
    REQUIRE_OK(next_batch(&f, &batch));
    REQUIRE(batch.length == 12288 && batch.rows == 1);
    lh_generate_image(LH_SPLITS * 1 + LH_TRAIN, 0, 64, image);
    CHECK_EQ_INT(batch.tokens[0], 0);
    for (int64_t t = 0; t < batch.length; ++t) {
        CHECK(batch.target[t] == image[t] && batch.weights[t] == LH_R(1));
        if (t > 0) CHECK(batch.tokens[t] == image[t - 1]);
    }
    CHECK_NEAR(batch.predicted_bytes, 12288, 0); /* bits per byte are bits per dim */
    close_task(&f);
}

TEST(an_epoch_shows_every_image_once) {
    task_bench f;
    uint64_t first = 0, second = 0;
    REQUIRE(open_task(&f, "imagenet64", "batch=1 side=8 images=6 evaluate_images=2", "", 1));
    for (int n = 0; n < 6; ++n)
        first += read_words(&f, 1);
    for (int n = 0; n < 6; ++n)
        second += read_words(&f, 1);
    CHECK(first == second);
    close_task(&f);
}

TEST(malformed_options_are_refused) {
    static const struct {
        const char *task, *options;
        lh_status status;
        const char *message;
    } refused[] = {
        {"duplication", "word=0", LH_EOPTION, "word"},
        {"duplication", "alphabt=3", LH_EOPTION, "did you mean 'alphabet'"},
        {"imagenet64", "side=10", LH_EOPTION, "multiple of 4"},
        {"imagenet64", "side=64 name=imagenet32", LH_EIO, "no images 'imagenet32'"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        task_bench f;
        CHECK_FAILS(make_task(&f, refused[i].task, refused[i].options, "", 1), refused[i].status,
                    refused[i].message);
    }
}
