/* Every task: a position that no stream has is refused, and the stream then stands where it stood.
 */
#include <unistd.h>

#include "harness/train/session_file.h"
#include "harness/train/trainer.h"
#include "tests/harness/trigram.h"
#include "tests/test.h"

#include "tests/harness/tasks/task_bench.h"

enum { BATCHES = 3 };

/* Small ones, with data of their own. */
static const struct {
    const char *task, *options;
} cases[] = {
    {"language_model", "name=generate:books documents=3 document_bytes=512 segment=8 batch=2"},
    {"random_walk", "segment=8 batch=2"},
    {"algorithm", "segment=8 batch=2 episodes=0"},
    {"duplication", "word=3 batch=2"},
    {"recall", "batch=2"},
    {"imagenet64", "side=8 images=4 evaluate_images=2 batch=2"},
    {"regular_language", "batch=2"},
    {"simulated_network", ""},
    {"forecasting", "name=generate:seasonal seq_len=12 label_len=6 pred_len=5 batch=8"},
    {"translation", "pairs=60 evaluate_pairs=9 tokens=bytes batch_tokens=256 longer=6"},
    {"defect", "batch=2"},
    {"scripted_tokens", "file=experiments/rmt/tasks.lua parameters=task=copy batch=2 segment=4"},
};

static const int64_t hostile[] = {INT64_MAX, INT64_MAX - 1, (int64_t)1 << 61, INT64_MIN, -2};

static void check_word(const task_bench *f, const lh_task_place *before, int word) {
    for (size_t h = 0; h < sizeof hostile / sizeof *hostile; ++h) {
        lh_task_place place = *before, after;
        place.cursor[word] = hostile[h];
        CHECK_FAILS(lh_task_return(f->task, &place, LH_OK), LH_EFORMAT, "data: ");
        lh_task_mark(f->task, &after);
        CHECK(memcmp(after.cursor, before->cursor, sizeof(int64_t) * (size_t)before->words) == 0);
    }
}

TEST(positions_that_no_stream_has_are_refused) {
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        task_bench f;
        lh_host_batch batch;
        lh_task_place place;
        REQUIRE(open_task(&f, cases[c].task, cases[c].options, "", 1));
        for (int n = 0; n < BATCHES; ++n)
            REQUIRE_OK(next_batch(&f, &batch));
        lh_task_mark(f.task, &place);
        for (int word = 0; word < place.words; ++word)
            check_word(&f, &place, word);
        place.words += 1;
        CHECK_FAILS(lh_task_return(f.task, &place, LH_OK), LH_EFORMAT, "data: ");
        close_task(&f);
    }
}

static int lie(const void *instance, int64_t *words) {
    const int count = pattern_class.cursor_get(instance, words);
    words[0] = INT64_MAX;
    return count;
}

TEST(a_checkpoint_with_such_a_position_changes_nothing) {
    lh_session *liar = NULL, *session = NULL, *other = NULL;
    lh_task_class lying = pattern_class;
    char path[64], message[160];
    lying.cursor_get = lie;
    snprintf(path, sizeof path, "/tmp/longhaul-test-cursors-%ld", (long)getpid());
    snprintf(message, sizeof message, "%s: not a usable checkpoint: data: a position outside",
             path);
    REQUIRE_OK(any_session(&trigram_class, "", &lying, "", "steps=2", 1, &liar));
    REQUIRE_OK(trigram_session("", "", "steps=2", 1, &session));
    REQUIRE_OK(trigram_session("", "", "steps=2", 1, &other));
    REQUIRE_OK(lh_session_train(liar, NULL, NULL, NULL));
    REQUIRE_OK(lh_session_save(liar, path));
    CHECK_FAILS(lh_session_restore(session, path), LH_EFORMAT, message);
    CHECK(same_values(session, other));
    CHECK_EQ_INT(lh_session_step(session), 0);
    unlink(path);
    lh_session_destroy(liar);
    lh_session_destroy(session);
    lh_session_destroy(other);
}
