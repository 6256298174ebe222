/* Memory that runs out while a corpus is opened: it is an error, or changes nothing. The process
 * that forks has not asked yet which call fails (lh_fault). */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { SAME = 0, FAILED = 1, OTHER = 2, MOST_CALLS = 1000, ENOUGH = 30 };

static int open_child(int fail_at, const char *options, int64_t vocabulary) {
    char number[16], cache[DATA_ROOT_BYTES + 32];
    lh_corpus *corpus = NULL;
    (void)snprintf(number, sizeof number, "%d", fail_at);
    (void)snprintf(cache, sizeof cache, "%s/.cache-%d", data_root, fail_at);
    setenv("LH_FAIL_AT", number, 1);
    setenv("XDG_CACHE_HOME", cache, 1);
    if (open_corpus(options, &corpus) != LH_OK)
        return lh_error_get()->status == LH_EMEMORY || lh_error_get()->status == LH_EIO ? FAILED
                                                                                        : OTHER;
    const bool same =
        lh_corpus_documents(corpus, LH_TRAIN) == 3 && lh_corpus_documents(corpus, LH_VALID) == 2 &&
        lh_corpus_documents(corpus, LH_TEST) == 1 && lh_corpus_notes(corpus) == NULL &&
        lh_tokenizer_vocabulary(lh_corpus_tokenizer(corpus)) == vocabulary &&
        lh_error_get()->status == LH_OK;
    lh_corpus_destroy(corpus);
    return same ? SAME : OTHER;
}

static int open_forked(int fail_at, const char *options, int64_t vocabulary) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(open_child(fail_at, options, vocabulary)); /* leaks are seen at exit */
    int result = 0;
    return child > 0 && waitpid(child, &result, 0) == child && WIFEXITED(result)
               ? WEXITSTATUS(result)
               : OTHER;
}

/* Every call fails once; so many children in a row that do well have come to the end of them. */
static void fail_each(const char *options, int64_t vocabulary) {
    int failed = 0, well = 0;
    REQUIRE(make_root());
    write_text("mine/train/1", "a b", 3);
    write_text("mine/train/2", "c", 1);
    write_text("mine/train/3", "d", 1);
    write_text("mine/valid/1", "a", 1);
    write_text("mine/valid/2", "b", 1);
    write_text("mine/test/1", "c", 1);
    for (int call = 1; call <= MOST_CALLS && well < ENOUGH; ++call) {
        const int result = open_forked(call, options, vocabulary);
        test_check(result != OTHER, __FILE__, __LINE__, "LH_FAIL_AT=%d", call);
        failed += result == FAILED;
        well = result == SAME ? well + 1 : 0;
    }
    CHECK(well == ENOUGH && failed > ENOUGH);
}

TEST(a_folder_has_its_splits_or_is_not_read) {
    fail_each("name=mine", 260);
}

TEST(a_vocabulary_is_trained_or_is_not_there) {
    fail_each("name=mine tokens=words:train:9", 6);
}
