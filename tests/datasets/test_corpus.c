/* Corpora from folders, generators and streams; what is wrong with a file is said with its name. */
#include "datasets/text/corpus.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { PATH = 512 };

TEST(folders_are_splits_and_files_documents) {
    REQUIRE(make_root());
    write_text("mine/train/b.txt", "two words", 9);
    write_text("mine/train/a.txt", "one  more\nword", 14);
    write_text("mine/valid/c.txt", "\xff\x01z", 3);
    write_text("mine/test/d.txt", "", 0);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=mine", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 2);
    lh_document document;
    REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, 0, &document));
    CHECK_STR(document.name, "a.txt");
    CHECK_EQ_INT(document.bytes, 14);
    CHECK_EQ_INT(document.words, 3);
    CHECK_EQ_INT(document.count, 14);
    CHECK_EQ_INT(document.tokens[0], 'o' + 3);
    REQUIRE_OK(lh_corpus_document(corpus, LH_VALID, 0, &document));
    CHECK_EQ_INT(document.tokens[0], 0xff + 3);
    CHECK_EQ_INT(document.tokens[1], 1 + 3);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TEST), 0); /* an empty file is none */
    CHECK_STATUS(lh_corpus_document(corpus, LH_TRAIN, 2, &document), LH_EOPTION);
    lh_corpus_destroy(corpus);
}

static void check_text(lh_corpus *corpus, lh_split split, int64_t index, const char *name,
                       const char *text) {
    lh_document document;
    REQUIRE_OK(lh_corpus_document(corpus, split, index, &document));
    CHECK_STR(document.name, name);
    REQUIRE(document.bytes == (int64_t)strlen(text));
    for (int64_t i = 0; i < document.bytes; ++i)
        CHECK_EQ_INT(document.tokens[i], (unsigned char)text[i] + 3);
}

TEST(json_lines_are_documents_and_dialogues) {
    static const char lines[] = "{\"text\": \"one\\ntwo\", \"score\": 3}\n"
                                "\n"
                                "{\"dialogue\": [{\"speaker\": \"A\", \"text\": \"hi\"}, \"ho\"]}\n"
                                "[\"caf\\u00e9\"]";
    REQUIRE(make_root());
    write_text("talk/train.jsonl", lines, sizeof lines - 1);
    write_text("talk/test.jsonl", "{\"text\": \"x\"}", 13);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=talk", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 3);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_VALID), 0);
    check_text(corpus, LH_TRAIN, 0, "train.jsonl:1", "one\ntwo");
    check_text(corpus, LH_TRAIN, 1, "train.jsonl:3", "A: hi\nho\n");
    check_text(corpus, LH_TRAIN, 2, "train.jsonl:4", "caf\xc3\xa9\n");
    check_text(corpus, LH_TEST, 0, "test.jsonl:1", "x");
    lh_corpus_destroy(corpus);
}

TEST(json_lines_may_be_packed_and_are_split_by_hash) {
    char lines[200 * 24], command[2 * PATH];
    size_t bytes = 0;
    REQUIRE(make_root());
    for (int i = 0; i < 200; ++i)
        bytes += (size_t)snprintf(lines + bytes, sizeof lines - bytes, "{\"text\":\"d%d\"}\n", i);
    write_text("web/dump.jsonl", lines, bytes);
    (void)snprintf(command, sizeof command, "gzip %s/web/dump.jsonl", data_root);
    REQUIRE(system(command) == 0);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=web", &corpus));
    const int64_t train = lh_corpus_documents(corpus, LH_TRAIN),
                  valid = lh_corpus_documents(corpus, LH_VALID),
                  test = lh_corpus_documents(corpus, LH_TEST);
    CHECK_EQ_INT(train + valid + test, 200);
    CHECK(train > 160 && valid > 0 && test > 0);
    lh_corpus_destroy(corpus);
    (void)snprintf(command, sizeof command, "truncate -s 200 %s/web/dump.jsonl.gz", data_root);
    REQUIRE(system(command) == 0);
    CHECK_FAILS(open_corpus("name=web", &corpus), LH_EFORMAT, "dump.jsonl.gz: cannot be unpacked");
}

TEST(packed_documents_are_unpacked) {
    char command[2 * PATH];
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    write_text("mine/train/a.txt", "one  more\nword", 14);
    write_text("mine/train/b.txt", "last", 4);
    (void)snprintf(command, sizeof command, "gzip %s/mine/train/a.txt", data_root);
    REQUIRE(system(command) == 0);
    REQUIRE_OK(open_corpus("name=mine", &corpus));
    check_text(corpus, LH_TRAIN, 0, "a.txt.gz", "one  more\nword");
    lh_corpus_destroy(corpus);
    write_text("mine/train/c.txt.gz", "no gzip file", 12);
    CHECK_FAILS(open_corpus("name=mine", &corpus), LH_EFORMAT, "c.txt.gz: cannot be unpacked");
    REQUIRE_OK(open_corpus("name=mine limit_documents=2", &corpus));
    lh_corpus_destroy(corpus);
}

TEST(the_field_of_json_lines_is_an_option) {
    static const char lines[] = "{\"target\": 1, \"func\": \"int a;\", \"text\": \"no\"}\n"
                                "{\"func\": [\"hi\", {\"speaker\": \"B\", \"text\": \"ho\"}]}\r\n"
                                "{\"dialogue\": [\"x\"]}\n";
    REQUIRE(make_root());
    write_text("code/train.jsonl", lines, sizeof lines - 1);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=code field=func", &corpus));
    check_text(corpus, LH_TRAIN, 0, "train.jsonl:1", "int a;");
    check_text(corpus, LH_TRAIN, 1, "train.jsonl:2", "hi\nB: ho\n");
    check_text(corpus, LH_TRAIN, 2, "train.jsonl:3", "x\n");
    lh_corpus_destroy(corpus);
    CHECK_FAILS(open_corpus("name=code field=target", &corpus), LH_EFORMAT,
                "train.jsonl: line 1: field 'target' is neither");
    CHECK_FAILS(open_corpus("name=code", &corpus), LH_EFORMAT,
                "train.jsonl: line 2: no field 'text'");
}

/* A file named by its path or by its name in the data folder is split by the hash of its lines. */
TEST(a_file_of_json_lines_is_a_corpus) {
    char lines[400 * 24], options[2 * PATH];
    size_t bytes = 0;
    REQUIRE(make_root());
    for (int i = 0; i < 400; ++i)
        bytes += (size_t)snprintf(lines + bytes, sizeof lines - bytes, "[\"d%d\"]\n", i);
    write_text("dump.jsonl", lines, bytes);
    (void)snprintf(options, sizeof options, "name=%s/dump.jsonl", data_root);
    int64_t train[2];
    for (int i = 0; i < 2; ++i) {
        lh_corpus *corpus = NULL;
        REQUIRE_OK(open_corpus(i == 0 ? "name=dump.jsonl" : options, &corpus));
        train[i] = lh_corpus_documents(corpus, LH_TRAIN);
        CHECK(train[i] > 320 && lh_corpus_documents(corpus, LH_TEST) > 0);
        CHECK_CONTAINS(lh_corpus_source(corpus), "dump.jsonl (400 documents in dump.jsonl)");
        lh_corpus_destroy(corpus);
    }
    CHECK_EQ_INT(train[0], train[1]);
    lh_corpus *corpus = NULL;
    CHECK_FAILS(open_corpus("name=/nowhere/dump.jsonl", &corpus), LH_EIO, "/nowhere/dump.jsonl");
}

TEST(huge_json_lines_are_read) {
    enum { HUGE = 8 << 20 };
    char *line = lh_allocate(HUGE);
    REQUIRE(make_root() && line != NULL);
    memset(line, 'a', HUGE);
    memcpy(line, "{\"text\":\"", 9);
    memcpy(line + HUGE - 2, "\"}", 2);
    write_text("long/train.jsonl", line, HUGE);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=long split_bytes=1048576", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 8);
    lh_corpus_destroy(corpus);
    write_text("long/train.jsonl", line, HUGE - 1);
    CHECK_FAILS(open_corpus("name=long", &corpus), LH_EFORMAT, "line 1, column");
    memset(line, '[', HUGE);
    write_text("long/train.jsonl", line, HUGE);
    CHECK_FAILS(open_corpus("name=long", &corpus), LH_EFORMAT, "no JSON");
    free(line);
}

TEST(malformed_json_lines_are_named) {
    static const struct {
        const char *lines, *message;
    } cases[] = {{"{\"text\": \"a\"}\n{\"text\": ", "line 2, column"},
                 {"{\"title\": \"a\"}", "line 1: no field 'text' and no 'dialogue'"},
                 {"{\"text\": 3}", "line 1: field 'text' is neither"},
                 {"{\"text\": null}", "line 1: field 'text' is neither"},
                 {"{\"dialogue\": \"a\"}\n{\"dialogue\": {}}", "line 2: field 'dialogue' is"},
                 {"[\"a\", 3]", "line 1: field 'dialogue', turn 2: neither"},
                 {"[{\"speaker\": \"A\"}]", "field 'dialogue', turn 1: neither"},
                 {"[{\"speaker\": 1, \"text\": \"a\"}]", "field 'dialogue', turn 1: neither"},
                 {"[]", "line 1: an empty document"},
                 {"{\"text\": \"\"}", "line 1: an empty document"},
                 {"[\"a\"] [\"b\"]", "line 1, column 7: something behind the value"},
                 {"[\"a\"]\n[\"a\\u0000b\"]", "line 2, column 4: a NUL character"},
                 {"[\"\\\\u0000\"]\n[]", "line 2: an empty document"},
                 {"[\"\\ud800\"]", "line 1, column"},
                 {"[\"caf\xe9\"]", "line 1, column 6: not UTF-8"},
                 {"[\"\xed\xa0\x80\"]", "line 1, column 3: not UTF-8"},
                 {"\n\nnull", "line 3: neither"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        lh_corpus *corpus = NULL;
        REQUIRE(make_root());
        write_text("bad/train.jsonl", cases[i].lines, strlen(cases[i].lines));
        CHECK_FAILS(open_corpus("name=bad", &corpus), LH_EFORMAT, cases[i].message);
        CHECK_FAILS(open_corpus("name=bad", &corpus), LH_EFORMAT, "train.jsonl");
    }
    lh_corpus *corpus = NULL;
    write_text("nul/train.jsonl", "{\"text\": \"a\0b\"}", 15);
    CHECK_FAILS(open_corpus("name=nul", &corpus), LH_EFORMAT, "NUL");
    write_text("cut/train.jsonl.gz", "\x1f\x8b\x08\x00", 4);
    CHECK_FAILS(open_corpus("name=cut", &corpus), LH_EFORMAT, "gzip");
}

TEST(a_single_file_is_split_by_its_length) {
    enum { BYTES = 300000 };
    char *text = malloc(BYTES);
    REQUIRE(text != NULL && make_root());
    for (int i = 0; i < BYTES; ++i)
        text[i] = (char)('a' + i % 26);
    write_text("alone/input.txt", text, BYTES);
    free(text);
    lh_corpus *corpus = NULL;
    lh_document document;
    REQUIRE_OK(open_corpus("name=alone", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 5);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_VALID), 1);
    REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, 0, &document));
    CHECK_EQ_INT(document.bytes, BYTES / 20);
    CHECK_EQ_INT(document.tokens[0], 'a' + BYTES / 100 * 95 % 26 + 3);
    lh_corpus_destroy(corpus);
}

/* By its path, by its name in a data folder, or as all that a folder holds. */
TEST(a_file_of_text_is_read_as_a_folder_with_nothing_else) {
    enum { BYTES = 2000 };
    static const char *const files[] = {"input.txt", "train.txt"};
    char text[BYTES], path[4 * DATA_ROOT_BYTES], name[DATA_ROOT_BYTES];
    memset(text, 'x', sizeof text);
    for (int f = 0; f < 2; ++f) {
        REQUIRE(make_root());
        (void)snprintf(name, sizeof name, "alone/%s", files[f]);
        write_text(name, text, sizeof text);
        write_text(files[f], text, sizeof text);
        (void)snprintf(path, sizeof path, "name='%s/%s'", data_root, name);
        (void)snprintf(name, sizeof name, "name=%s", files[f]);
        const char *const options[] = {"name=alone", path, name};
        uint64_t digest = 0;
        for (int i = 0; i < 3; ++i) {
            lh_corpus *corpus = NULL;
            REQUIRE_OK(open_corpus(options[i], &corpus));
            if (i == 0) digest = lh_corpus_digest(corpus);
            CHECK(lh_corpus_digest(corpus) == digest);
            CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TEST), 1);
            if (f == 0) CHECK(lh_corpus_notes(corpus) == NULL);
            if (f == 1) CHECK_CONTAINS(lh_corpus_notes(corpus), "cut 90 / 5 / 5 by place");
            lh_corpus_destroy(corpus);
        }
    }
}

TEST(a_single_file_is_split_between_characters) {
    enum { CHARACTERS = 100000 };
    char *text = malloc(3 * CHARACTERS);
    REQUIRE(text != NULL && make_root());
    for (int i = 0; i < CHARACTERS; ++i)
        memcpy(text + 3 * i, "\xe2\x82\xac", 3);
    write_text("alone/input.txt", text, 3 * CHARACTERS - 100);
    free(text);
    lh_corpus *corpus = NULL;
    lh_document document;
    REQUIRE_OK(
        open_corpus("name=alone tokens=subwords:tests/golden/subwords/small.subwords", &corpus));
    for (int64_t i = 0; i < 5; ++i)
        CHECK_OK(lh_corpus_document(corpus, LH_TRAIN, i, &document));
    CHECK_OK(lh_corpus_document(corpus, LH_VALID, 0, &document));
    CHECK_FAILS(lh_corpus_document(corpus, LH_TEST, 0, &document), LH_EFORMAT, "not UTF-8");
    lh_corpus_destroy(corpus);
}

TEST(limits_and_pieces) {
    REQUIRE(make_root());
    char text[1000];
    for (size_t i = 0; i < sizeof text; ++i)
        text[i] = (char)('a' + i % 26);
    write_text("long/train/a.txt", text, sizeof text);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=long split_bytes=300 limit_bytes=700", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 3);
    lh_document document;
    int64_t at = 0;
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, i, &document));
        CHECK_EQ_INT(document.tokens[0], text[at] + 3);
        at += document.count;
    }
    CHECK_EQ_INT(at, 700);
    lh_corpus_destroy(corpus);
}

/* Pieces of 10 bytes of a character of two and characters of three: a vocabulary of characters
 * reads them without those that are cut through, one of bytes reads every byte. */
TEST(pieces_are_cut_between_characters) {
    REQUIRE(make_root());
    char text[62] = "\xc3\xa9", name[1024];
    for (size_t i = 2; i < sizeof text; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    write_text("cut/train/a.txt", text, sizeof text);
    for (int bytes = 0; bytes < 2; ++bytes) {
        lh_corpus *corpus = NULL;
        (void)snprintf(name, sizeof name, "name=cut split_bytes=10 limit_bytes=58 tokens=%s",
                       bytes ? "bytes" : "subwords:tests/golden/subwords/small.subwords");
        REQUIRE_OK(open_corpus(name, &corpus));
        REQUIRE(lh_corpus_documents(corpus, LH_TRAIN) == 6);
        static const int64_t whole[] = {8, 9, 9, 6, 9, 6};
        for (int i = 0; i < 6; ++i) {
            lh_document document;
            REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, i, &document));
            CHECK_EQ_INT(document.bytes, !bytes ? whole[i] : i == 5 ? 8 : 10);
        }
        lh_corpus_destroy(corpus);
    }
    static const char *const bad[][2] = {{"caf\xc3", "byte 3"}, {"\xa9tait", "byte 0"}};
    for (int i = 0; i < 2; ++i) {
        lh_corpus *corpus = NULL;
        lh_document document;
        write_text("bad/train/a.txt", bad[i][0], strlen(bad[i][0]));
        REQUIRE_OK(open_corpus(
            "name=bad split_bytes=10 tokens=subwords:tests/golden/subwords/small.subwords",
            &corpus));
        CHECK_FAILS(lh_corpus_document(corpus, LH_TRAIN, 0, &document), LH_EFORMAT, bad[i][1]);
        lh_corpus_destroy(corpus);
    }
}

TEST(the_first_books_and_the_first_tokens) {
    REQUIRE(make_root());
    write_text("few/train/10.txt", "ten", 3);
    write_text("few/train/100.txt", "hundred", 7);
    write_text("few/train/9.txt", "nine", 4);
    write_text("few/valid/1.txt", "one two three", 13);
    write_text("few/test/1.txt", "one two three", 13);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=few limit_documents=2 valid_tokens=6", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 2);
    check_text(corpus, LH_TRAIN, 0, "10.txt", "ten"); /* by name, byte for byte */
    check_text(corpus, LH_TRAIN, 1, "100.txt", "hundred");
    check_text(corpus, LH_VALID, 0, "1.txt", "one tw");
    check_text(corpus, LH_TEST, 0, "1.txt", "one two three");
    lh_document document;
    REQUIRE_OK(lh_corpus_document(corpus, LH_VALID, 0, &document));
    CHECK_EQ_INT(document.count, 6);
    CHECK_EQ_INT(document.words, 2);
    lh_corpus_destroy(corpus);
}

static uint64_t digest_of(const char *options) {
    lh_corpus *corpus = NULL;
    if (!CHECK_OK(open_corpus(options, &corpus))) return 0;
    const uint64_t digest = lh_corpus_digest(corpus);
    lh_corpus_destroy(corpus);
    return digest;
}

TEST(digest_names_the_data) {
    const char *base = "name=generate:code documents=3 document_bytes=2000";
    CHECK(digest_of(base) == digest_of(base));
    CHECK(digest_of(base) != digest_of("name=generate:code documents=4 document_bytes=2000"));
    CHECK(digest_of(base) !=
          digest_of("name=generate:code documents=3 document_bytes=2000 data_seed=2"));
}

TEST(names_without_data_use_the_generator_and_say_so) {
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=books documents=4 document_bytes=2000", &corpus));
    CHECK_STR(lh_corpus_source(corpus), "embedded generator (books)");
    CHECK(lh_corpus_documents(corpus, LH_TEST) > 0);
    lh_corpus_destroy(corpus);
}

TEST(streams_are_cut_into_documents) {
    REQUIRE(make_root());
    static const char article[] = " = Title = \n\n some words \n = = Section = = \n more \n";
    char text[4 * sizeof article];
    for (size_t i = 0; i < 4; ++i)
        memcpy(text + i * (sizeof article - 1), article, sizeof article);
    write_text("wikitext-103/wiki.train.tokens", text, 4 * (sizeof article - 1));
    write_text("wikitext-103/wiki.valid.tokens", text, sizeof article - 1);
    write_text("wikitext-103/wiki.test.tokens", text, 2 * (sizeof article - 1));
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=wikitext-103", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 4);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_VALID), 1);
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TEST), 2);
    lh_document document;
    REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, 0, &document));
    CHECK_EQ_INT(document.words, 3 + 2 + 5 + 1 + 5); /* an <eos> for each line */
    lh_corpus_destroy(corpus);
}

static int64_t count_split(lh_corpus *corpus, lh_split split) {
    int64_t words = 0;
    for (int64_t i = 0; i < lh_corpus_documents(corpus, split); ++i) {
        lh_document document;
        if (!CHECK_OK(lh_corpus_document(corpus, split, i, &document))) return -1;
        words += document.words;
    }
    return words;
}

TEST(raw_wikitext_lies_beside_the_other) {
    static const char article[] = " = Title = \n some rare words \n";
    REQUIRE(make_root());
    write_text("wikitext-103-raw/wiki.train.raw", article, sizeof article - 1);
    write_text("wikitext-103-raw/wiki.valid.raw", article, sizeof article - 1);
    write_text("wikitext-103-raw/wiki.test.raw", article, sizeof article - 1);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=wikitext-103-raw", &corpus));
    CHECK_EQ_INT(count_split(corpus, LH_VALID), 8);
    lh_corpus_destroy(corpus);
}

TEST(wikitext_has_the_published_number_of_words) {
    char path[2 * PATH];
    (void)snprintf(path, sizeof path, "%s/wikitext-103", given_data());
    if (access(path, R_OK) != 0) SKIP("no WikiText-103 here");
    REQUIRE(setenv("LONGHAUL_DATA", given_data(), 1) == 0);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=wikitext-103 limit_bytes=1000", &corpus));
    CHECK_EQ_INT(count_split(corpus, LH_VALID), 217646); /* Merity et al. 2017, Table 1 */
    CHECK_EQ_INT(count_split(corpus, LH_TEST), 245569);
    lh_corpus_destroy(corpus);
}

TEST(errors_name_what_is_wrong) {
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    lh_corpus *corpus = NULL;
    CHECK_FAILS(open_corpus("name=nothing", &corpus), LH_EIO,
                "there are: books, latex, code; looked in ");
    write_text("codet5/merges.txt", "x", 1);
    write_text("sentencepiece/small.model", "x", 1);
    write_text("series/ETTh1.csv", "x", 1);
    CHECK_FAILS(open_corpus("name=nothing", &corpus), LH_EIO,
                "there are: books, latex, code; looked in ");
    CHECK_FAILS(open_corpus("name=nothing", &corpus), LH_EIO,
                "`longhaul data fetch nothing` downloads it if `longhaul data list` has it");
    char missing[PATH_MAX + 32], *folder = getcwd(NULL, 0);
    (void)snprintf(missing, sizeof missing, "no file or folder %s/notes.txt (", folder);
    free(folder);
    CHECK_FAILS(open_corpus("name=./notes.txt", &corpus), LH_EIO, missing);
    CHECK_FAILS(open_corpus("name=/none/notes", &corpus), LH_EIO,
                "no file or folder /none/notes (");
    CHECK_FAILS(open_corpus("name=generate:boks", &corpus), LH_EOPTION,
                "no generator 'boks' (did you mean 'books'?)");
    CHECK_FAILS(open_corpus("name=books tokens=letters", &corpus), LH_EOPTION, "no tokenizer");
    CHECK_FAILS(open_corpus("name=books tokens=byte", &corpus), LH_EOPTION,
                "no tokenizer 'byte' (did you mean 'bytes'?); there are: bytes");
    write_text("empty/valid/a.txt", "x", 1);
    CHECK_FAILS(open_corpus("name=empty", &corpus), LH_EFORMAT, "no training documents");
    write_text("text8/text8.gz", "\x1f\x8b broken", 9);
    CHECK_FAILS(open_corpus("name=text8", &corpus), LH_EFORMAT, "text8.gz");
    write_text("enwik8/readme", "x", 1);
    CHECK_FAILS(open_corpus("name=enwik8", &corpus), LH_EIO, "enwik8");
}

/* They lead to the data folder itself, above it, or to an import that is under way. */
TEST(names_of_no_corpus_are_refused) {
    static const char *const names[] = {"", ".", "..", ".mine.begin"};
    REQUIRE(make_root());
    write_text("mine/train/a.txt", "abc", 3);
    write_text(".mine.begin/train/a.txt", "abc", 3);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char options[64];
        lh_corpus *corpus = NULL;
        (void)snprintf(options, sizeof options, "name=%s", names[i]);
        CHECK_FAILS(open_corpus(options, &corpus), LH_EIO, "no data '");
    }
}

TEST(a_file_that_shrinks_is_noticed) {
    REQUIRE(make_root());
    write_text("mine/train/a.txt", "0123456789", 10);
    lh_corpus *corpus = NULL;
    lh_document document;
    REQUIRE_OK(open_corpus("name=mine", &corpus));
    write_text("mine/train/a.txt", "0", 1);
    CHECK_FAILS(lh_corpus_document(corpus, LH_TRAIN, 0, &document), LH_EIO, "a.txt");
    lh_corpus_destroy(corpus);
}

TEST(bytes_come_back_unchanged) {
    lh_tokenizer *tokenizer = NULL;
    REQUIRE_OK(lh_tokenizer_open("bytes", &tokenizer));
    char text[256], *back = NULL;
    for (int i = 0; i < 256; ++i)
        text[i] = (char)i;
    int32_t *tokens = NULL;
    int64_t count = 0;
    size_t bytes = 0;
    REQUIRE_OK(lh_tokenizer_encode(tokenizer, text, sizeof text, &tokens, &count));
    REQUIRE_OK(lh_tokenizer_decode(tokenizer, tokens, count, &back, &bytes));
    CHECK(bytes == sizeof text && memcmp(back, text, sizeof text) == 0);
    CHECK_EQ_INT(lh_tokenizer_vocabulary(tokenizer), 260);
    free(tokens);
    free(back);
    lh_tokenizer_destroy(tokenizer);
}

/* No document of a split is one of another, neither its name nor its text. */
TEST(generated_splits_share_no_document) {
    lh_corpus *corpus = NULL;
    lh_document a, b;
    REQUIRE_OK(open_corpus("name=generate:books documents=10 document_bytes=2000", &corpus));
    for (int i = 0; i < 3 * 10; ++i) {
        REQUIRE_OK(lh_corpus_document(corpus, (lh_split)(i / 10), i % 10, &a));
        char name[64];
        const int64_t count = a.count;
        int32_t first[200];
        REQUIRE(count >= 200);
        (void)snprintf(name, sizeof name, "%s", a.name);
        memcpy(first, a.tokens, sizeof first);
        for (int k = 0; k < i; ++k) {
            REQUIRE_OK(lh_corpus_document(corpus, (lh_split)(k / 10), k % 10, &b));
            CHECK(strcmp(b.name, name) != 0);
            CHECK(b.count < 200 || memcmp(b.tokens, first, sizeof first) != 0);
        }
    }
    lh_corpus_destroy(corpus);
}
