/* Which split a file of a folder is of, by what it is called. */
#include "datasets/text/corpus.h"
#include "datasets/text/corpus_folder.h"

#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { PATH = 512 };

static const char line[] = "{\"text\": \"x\"}"; /* a document as text, too */

static void write_lines(const char *folder, const char *file) {
    char name[2 * PATH];
    (void)snprintf(name, sizeof name, "%s/%s", folder, file);
    write_text(name, line, sizeof line - 1);
}

/* A folder with `trained`, which is called after the training split, dev.txt or dev.jsonl, and
 * `file`, which is of that split; -1: refused. */
static void check_named(const char *trained, const char *file, int split) {
    lh_corpus *corpus = NULL;
    CHECK_EQ_INT(lh_corpus_named_split(trained), LH_TRAIN);
    CHECK_EQ_INT(lh_corpus_named_split(file), split);
    REQUIRE(make_root());
    write_lines("named", trained);
    write_lines("named", strstr(trained, ".jsonl") != NULL ? "dev.jsonl" : "dev.txt");
    write_lines("named", file);
    const lh_status status = open_corpus("name=named", &corpus);
    if (split < 0) {
        CHECK_FAILS(status, LH_EFORMAT, "others are not");
        return;
    }
    REQUIRE_OK(status);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), split == LH_TRAIN ? 2 : 1);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_VALID), split == LH_VALID ? 2 : 1);
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
    check_named("train-0.txt", "test.1", -1); /* a manual page */
    check_named("train-0.txt", "test.1.gz", -1);
    check_named("train-0.txt", "test.1.txt", LH_TEST);
    check_named("train-0.txt", "latest.txt", -1);
    check_named("train-0.txt", "test-cases.txt", -1);
    check_named("train-0.txt", "readme.txt", -1);
}

TEST(a_file_with_a_NUL_byte_is_refused_wherever_it_lies) {
    static const char *const places[] = {"named/train/photo.png", "named/train.txt", "named/a/b"};
    lh_corpus *corpus = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        REQUIRE(make_root());
        write_lines("named", i == 0 ? "valid/x.txt" : "valid.txt");
        write_text(places[i], "x\0y", 3);
        CHECK_FAILS(open_corpus("name=named", &corpus), LH_EFORMAT, places[i] + 6);
        CHECK(corpus == NULL);
    }
}

/* Seventeen files and three more, which say nothing: all by their hashes; the note, if any. */
static void check_hashed(const char *const more[3], const char *note) {
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    for (int i = 0; i < 3; ++i)
        write_lines("mixed", more[i]);
    for (int i = 0; i < 17; ++i) {
        char name[PATH];
        (void)snprintf(name, sizeof name, "model%d.py", i);
        write_lines("mixed", name);
    }
    REQUIRE_OK(open_corpus("name=mixed", &corpus));
    int64_t documents = 0;
    for (int split = 0; split < LH_SPLITS; ++split)
        documents += lh_corpus_documents(corpus, (lh_split)split);
    CHECK_EQ_INT(documents, 20);
    CHECK(lh_corpus_documents(corpus, LH_TRAIN) > 10);
    if (note == NULL) CHECK(lh_corpus_notes(corpus) == NULL);
    if (note != NULL) CHECK_CONTAINS(lh_corpus_notes(corpus), note);
    lh_corpus_destroy(corpus);
}

TEST(what_says_no_two_splits_is_split_by_hashes) {
    static const char *const sources[] = {"train.py", "test.py", "dev.c"},
                             *const pages[] = {"test.1", "train.1.gz.1", "dev.8"},
                             *const essays[] = {"driving-test.txt", "life.txt", "death.txt"};
    check_hashed(sources, NULL);
    check_hashed(pages, NULL);
    check_hashed(essays, "called after one split alone");
}

/* nanoGPT's layout: what validates tests, too. */
TEST(validation_stands_in_for_a_test_split_that_is_not_there) {
    static const char *const files[][2] = {
        {"train/a.txt", "valid/b.txt"}, {"train/a.txt", "dev/b.txt"}, {"train.txt", "val.txt"}};
    for (int i = 0; i < 3; ++i) {
        lh_corpus *corpus = NULL;
        lh_document document = {0};
        REQUIRE(make_root());
        write_lines("two", files[i][0]);
        write_lines("two", files[i][1]);
        REQUIRE_OK(open_corpus("name=two", &corpus));
        for (int split = 0; split < LH_SPLITS; ++split)
            CHECK_EQ_INT(lh_corpus_documents(corpus, (lh_split)split), 1);
        REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, 0, &document));
        CHECK_CONTAINS(document.name, i < 2 ? "b.txt" : "val.txt");
        CHECK_CONTAINS(lh_corpus_notes(corpus), "no test split: the validation split is read");
        lh_corpus_destroy(corpus);
    }
}

TEST(the_first_folder_of_validation_is_the_split_where_others_are_splits) {
    lh_corpus *corpus = NULL;
    char folder[2 * PATH];
    REQUIRE(make_root());
    (void)snprintf(folder, sizeof folder, "%s/parted", data_root);
    write_lines("parted/dev", "a.txt");
    CHECK(lh_corpus_split_folder(folder, LH_VALID) == NULL);
    write_lines("parted/train", "b.txt");
    CHECK_STR(lh_corpus_split_folder(folder, LH_VALID), "dev");
    write_lines("parted/validation", "c.txt");
    write_lines("parted/test", "d.txt");
    REQUIRE_OK(open_corpus("name=parted", &corpus));
    for (int split = 0; split < LH_SPLITS; ++split)
        CHECK_EQ_INT(lh_corpus_documents(corpus, (lh_split)split), 1);
    CHECK(lh_corpus_notes(corpus) == NULL);
    lh_corpus_destroy(corpus);
}
