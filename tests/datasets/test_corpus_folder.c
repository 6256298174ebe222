/* Which split a file of a folder is of, by what it is called. */
#include "datasets/text/corpus.h"

#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { PATH = 512 };

/* A folder with `trained`, which is called after the training split, and `file`, which is of that
 * split; -1: refused. */
static void check_named(const char *trained, const char *file, int split) {
    static const char line[] = "{\"text\": \"x\"}"; /* a document as text, too */
    char name[PATH];
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    (void)snprintf(name, sizeof name, "named/%s", trained);
    write_text(name, line, sizeof line - 1);
    (void)snprintf(name, sizeof name, "named/%s", file);
    write_text(name, line, sizeof line - 1);
    const lh_status status = open_corpus("name=named", &corpus);
    if (split < 0) {
        CHECK_FAILS(status, LH_EFORMAT, "others are not");
        return;
    }
    REQUIRE_OK(status);
    CHECK_EQ_INT(lh_corpus_documents(corpus, (lh_split)split), split == LH_TRAIN ? 2 : 1);
    lh_corpus_destroy(corpus);
}

TEST(json_lines_are_of_the_split_that_they_are_called_in_any_folder) {
    check_named("en/train.jsonl", "en/test.jsonl", LH_TEST);
    check_named("en/train.jsonl", "en/valid.jsonl", LH_VALID);
    check_named("en/train.jsonl", "en/validation.jsonl", LH_VALID);
    check_named("en/train.jsonl", "en/val_0.jsonl", LH_VALID);
    check_named("en/train.jsonl", "en/dev.00.jsonl", LH_VALID);
    check_named("en/train.jsonl", "en/train-00.jsonl", LH_TRAIN);
    check_named("en/train.jsonl", "en/test-00000-of-00002.jsonl", LH_TEST);
    check_named("en/train.jsonl", "en/testing.jsonl", -1);
    check_named("en/train.jsonl", "en/test-cases.jsonl", -1);
    check_named("en/train.jsonl", "en/train.old.jsonl", -1);
    check_named("en/train.jsonl", "en/more.jsonl", -1);
    check_named("en/train.jsonl", "en/reddit.test.jsonl", LH_TEST);
}

TEST(files_of_text_are_of_the_split_that_they_are_called) {
    check_named("train-0.txt", "test.txt", LH_TEST);
    check_named("train-0.txt", "test-00.txt", LH_TEST);
    check_named("train-0.txt", "test", LH_TEST);
    check_named("train-0.txt", "wiki.test.tokens", LH_TEST);
    check_named("train-0.txt", "wiki_dev_01.txt", LH_VALID);
    check_named("train-0.txt", "valid-03.txt", LH_VALID);
    check_named("train-0.txt", "validation.raw", LH_VALID);
    check_named("train-0.txt", "en/train.txt", LH_TRAIN);
    check_named("train-0.txt", "latest.txt", -1);
    check_named("train-0.txt", "test-cases.txt", -1);
    check_named("train-0.txt", "readme.txt", -1);
}

/* Twenty sources, three of them called train.py, test.py and dev.c: by their hashes. */
TEST(sources_of_programs_are_called_after_no_split) {
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    write_text("sources/train.py", "x", 1);
    write_text("sources/test.py", "x", 1);
    write_text("sources/dev.c", "x", 1);
    for (int i = 0; i < 17; ++i) {
        char name[PATH];
        (void)snprintf(name, sizeof name, "sources/model%d.py", i);
        write_text(name, "x", 1);
    }
    REQUIRE_OK(open_corpus("name=sources", &corpus));
    int64_t documents = 0;
    for (int split = 0; split < LH_SPLITS; ++split)
        documents += lh_corpus_documents(corpus, (lh_split)split);
    CHECK_EQ_INT(documents, 20);
    CHECK(lh_corpus_documents(corpus, LH_TRAIN) > 10);
    lh_corpus_destroy(corpus);
}
