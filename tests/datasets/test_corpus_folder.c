/* Which split a file of a folder is of, by what it is called. */
#include "datasets/text/corpus.h"

#include "tests/config.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { PATH = 512 };

static lh_status open_corpus(const char *text, lh_corpus **out) {
    lh_options *options = NULL;
    lh_corpus_config config;
    lh_status status = parse_config(lh_corpus_config_options, text, &config, &options);
    if (status == LH_OK) status = lh_corpus_open(&config, out);
    lh_options_destroy(options);
    return status;
}

/* Each line of `file` in the split that its name says; -1: by hash. */
static void check_named(const char *file, int split) {
    char name[PATH];
    lh_corpus *corpus = NULL;
    static const char line[] = "{\"text\": \"x\"}";
    REQUIRE(make_root());
    write_text("named/en/train.jsonl", line, sizeof line - 1);
    (void)snprintf(name, sizeof name, "named/en/%s", file);
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
    check_named("test.jsonl", LH_TEST);
    check_named("valid.jsonl", LH_VALID);
    check_named("validation.jsonl", LH_VALID);
    check_named("val_0.jsonl", LH_VALID);
    check_named("dev.00.jsonl", LH_VALID);
    check_named("train-00.jsonl", LH_TRAIN);
    check_named("test-00000-of-00002.jsonl", LH_TEST);
    check_named("testing.jsonl", -1);
    check_named("test-cases.jsonl", -1);
    check_named("train.old.jsonl", -1);
    check_named("more.jsonl", -1);
    check_named("reddit.test.jsonl", LH_TEST);
}

/* A folder with "train-0.txt" and `file`, which is of that split; -1: refused. */
static void check_named_text(const char *file, int split) {
    char name[PATH];
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    write_text("flat/train-0.txt", "text to train on", 16);
    (void)snprintf(name, sizeof name, "flat/%s", file);
    write_text(name, "x", 1);
    const lh_status status = open_corpus("name=flat", &corpus);
    if (split < 0) {
        CHECK_FAILS(status, LH_EFORMAT, "others are not");
        return;
    }
    REQUIRE_OK(status);
    CHECK_EQ_INT(lh_corpus_documents(corpus, (lh_split)split), split == LH_TRAIN ? 2 : 1);
    lh_corpus_destroy(corpus);
}

TEST(files_of_text_are_of_the_split_that_they_are_called) {
    check_named_text("test.txt", LH_TEST);
    check_named_text("test-00.txt", LH_TEST);
    check_named_text("test", LH_TEST);
    check_named_text("wiki.test.tokens", LH_TEST);
    check_named_text("wiki_dev_01.txt", LH_VALID);
    check_named_text("valid-03.txt", LH_VALID);
    check_named_text("validation.raw", LH_VALID);
    check_named_text("en/train.txt", LH_TRAIN);
    check_named_text("latest.txt", -1);
    check_named_text("test-cases.txt", -1);
    check_named_text("readme.txt", -1);
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
