/* Word vocabularies: order, unknown words, files that are broken, a corpus read in words. */
#include <stdio.h>
#include <stdlib.h>

#include "datasets/text/corpus.h"
#include "datasets/tokens/words.h"
#include "harness/engine/file.h"
#include "tests/config.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

static const char text[] = " b a <unk> b\n\n c\ta b  d \n";

/* A file in the test's own folder. */
static const char *path_of(const char *name) {
    static char path[512];
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "/tmp", name);
    return path;
}

static bool write_vocabulary(int64_t size, const char *path) {
    lh_words *words = NULL;
    bool good = CHECK_OK(lh_words_create(&words)) &&
                CHECK_OK(lh_words_count(words, text, sizeof text - 1)) &&
                CHECK_OK(lh_words_write(words, size, path));
    lh_words_destroy(words);
    return good;
}

static void check_lines(int64_t size, const char *expected) {
    void *data = NULL;
    size_t bytes = 0;
    const char *path = path_of("words");
    REQUIRE(write_vocabulary(size, path));
    REQUIRE_OK(lh_file_read_all(path, &data, &bytes));
    test_check(bytes == strlen(expected) && memcmp(data, expected, bytes) == 0, __FILE__, __LINE__,
               "a vocabulary of %lld words is %.*s", (long long)size, (int)bytes, (char *)data);
    free(data);
    (void)remove(path);
}

TEST(frequent_words_come_first_and_of_equal_ones_the_first_seen) {
    check_lines(100, "<eos>\nb\na\n<unk>\nc\nd\n");
    check_lines(4, "<eos>\nb\na\n<unk>\n");
    check_lines(3, "<eos>\nb\n<unk>\n"); /* which the text has too seldom */
}

static void check_encoding(const lh_tokenizer *tokenizer, const char *from, const int32_t *ids,
                           int64_t expected, const char *back) {
    int32_t *tokens = NULL;
    int64_t count = 0;
    char *decoded = NULL;
    size_t bytes = 0;
    REQUIRE_OK(lh_tokenizer_encode(tokenizer, from, strlen(from), &tokens, &count));
    CHECK_EQ_INT(count, expected);
    for (int64_t i = 0; i < count && i < expected; ++i)
        CHECK_EQ_INT(tokens[i], ids[i]);
    REQUIRE_OK(lh_tokenizer_decode(tokenizer, tokens, count, &decoded, &bytes));
    CHECK(bytes == strlen(back) && strcmp(decoded, back) == 0);
    free(tokens);
    free(decoded);
}

TEST(text_becomes_words_and_line_ends) {
    char name[600];
    lh_tokenizer *tokenizer = NULL;
    REQUIRE(write_vocabulary(5, path_of("words")));
    (void)snprintf(name, sizeof name, "words:%s", path_of("words"));
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(tokenizer), 5);
    CHECK_EQ_INT(lh_tokenizer_find(tokenizer, "<unk>"), 3);
    check_encoding(tokenizer, " a  d\n\nc b", (const int32_t[]){2, 3, 0, 0, 4, 1}, 6,
                   "a <unk>\n\nc b");
    check_encoding(tokenizer, "", NULL, 0, "");
    lh_tokenizer_destroy(tokenizer);
    (void)remove(path_of("words"));
}

/* Nothing pays for the letters of a word that is not in the vocabulary. */
TEST(a_text_with_unknown_words_is_not_spelled) {
    char name[600];
    lh_corpus *corpus = NULL;
    lh_tokenizer *tokenizer = NULL;
    lh_document document;
    REQUIRE(write_vocabulary(5, path_of("words")));
    (void)snprintf(name, sizeof name, "words:%s", path_of("words"));
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    REQUIRE_OK(lh_corpus_create(NULL, &corpus));
    lh_corpus_set_tokenizer(corpus, tokenizer, 0);
    static const char *const texts[] = {"a b c", "a <unk> c", "a d c"};
    for (int i = 0; i < 3; ++i)
        REQUIRE_OK(lh_corpus_add_part(corpus, LH_TEST, "t", texts[i], strlen(texts[i]), 0,
                                      strlen(texts[i])));
    for (int i = 0; i < 3; ++i) {
        REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, i, &document));
        CHECK(document.bytes >= 5 && document.words == 3);
        CHECK(i == 2 ? document.unspelled > 1e12 : document.unspelled == 0);
    }
    lh_corpus_destroy(corpus);
    (void)remove(path_of("words"));
}

TEST(broken_vocabularies_are_refused) {
    static const struct {
        const char *lines, *message;
    } wrong[] = {{"a\n<eos>\n<unk>\n", ":1: the first word must be <eos>"},
                 {"<eos>\na\n\n<unk>\n", ":3: a word is empty or stands twice"},
                 {"<eos>\na\nb\na\n<unk>\n", ":4: a word is empty or stands twice"},
                 {"<eos>\n<eos>\n<unk>\n", ":2: a word is empty or stands twice"},
                 {"<eos>\na\n", "no line is <unk>"},
                 {"", "no line is <unk>"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const char *path = path_of("broken");
        lh_words *words = NULL;
        FILE *file = fopen(path, "w");
        REQUIRE(file != NULL);
        (void)fputs(wrong[i].lines, file);
        (void)fclose(file);
        CHECK_FAILS(lh_words_read(path, &words), LH_EFORMAT, wrong[i].message);
        (void)remove(path);
    }
}

/* More words than one table begins with. */
TEST(many_words_are_found_again) {
    enum { WORDS = 5000 };
    lh_words *words = NULL;
    char word[32];
    int missing = 0;
    REQUIRE_OK(lh_words_create(&words));
    for (int i = 0; i < WORDS; ++i) {
        const int length = snprintf(word, sizeof word, "w%d ", i);
        REQUIRE_OK(lh_words_count(words, word, (size_t)length));
    }
    for (int i = 0; i < WORDS; ++i) {
        const int length = snprintf(word, sizeof word, "w%d", i);
        missing += lh_words_find(words, word, (size_t)length) != i + 1;
    }
    CHECK_EQ_INT(missing, 0);
    CHECK_EQ_INT(lh_words_size(words), WORDS + 1);
    lh_words_destroy(words);
}

TEST(a_corpus_trains_its_own_words) {
    lh_options *options = NULL;
    lh_corpus *corpus = NULL;
    lh_document document;
    lh_corpus_config config;
    REQUIRE_OK(parse_config(lh_corpus_config_options,
                            "name=generate:books documents=3 document_bytes=2000 "
                            "tokens=words:train:90",
                            &config, &options));
    REQUIRE_OK(lh_corpus_open(&config, &corpus));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(lh_corpus_tokenizer(corpus)), 90);
    REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, 0, &document));
    CHECK(document.count > 200 && document.count < document.bytes / 3);
    for (int64_t i = 0; i < document.count; ++i)
        CHECK(document.tokens[i] >= 0 && document.tokens[i] < 90);
    lh_corpus_destroy(corpus);
    lh_options_destroy(options);
}

/* Words do not give blanks back; what they do not know is behind the first tokens. */
TEST(the_first_tokens_have_the_bytes_of_the_raw_text) {
    char given[2 * DATA_ROOT_BYTES];
    lh_options *options = NULL;
    lh_corpus_config config;
    lh_document document;
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    write_text("words.txt", "<eos>\none\nunbelievable\n<unk>\n", 29);
    write_text("few/train/1.txt", "one", 3);
    write_text("few/valid/1.txt", "one   unbelievable\n one two three", 33);
    (void)snprintf(given, sizeof given, "name=few valid_tokens=4 tokens=words:%s/words.txt",
                   data_root);
    REQUIRE_OK(parse_config(lh_corpus_config_options, given, &config, &options));
    REQUIRE_OK(lh_corpus_open(&config, &corpus));
    REQUIRE_OK(lh_corpus_document(corpus, LH_VALID, 0, &document));
    CHECK_EQ_INT(document.count, 4);
    CHECK_EQ_INT(document.bytes, 24); /* to the blank behind the second "one" */
    CHECK_EQ_INT(document.words, 3);
    lh_corpus_destroy(corpus);
    lh_options_destroy(options);
}
