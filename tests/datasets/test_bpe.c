/* Byte-level BPE against Hugging Face's implementation (tests/oracles/bpe.py), and what it says of
 * files that are broken. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "datasets/locate.h"
#include "datasets/tokens/bpe.h"
#include "datasets/tokens/tokenizer.h"
#include "harness/engine/file.h"
#include "tests/test.h"

enum { PATH = 256 };

#ifdef LH_HAVE_PCRE2

static const char vocabulary[] = "bpe:tests/golden/bpe";

/* The bytes behind hexadecimal digits; free(). */
static char *from_hex(const char *hex, size_t *bytes) {
    *bytes = strlen(hex) / 2;
    char *text = malloc(*bytes + 1);
    for (size_t i = 0; text != NULL && i < *bytes; ++i) {
        unsigned value = 0;
        (void)sscanf(hex + 2 * i, "%2x", &value);
        text[i] = (char)value;
    }
    return text;
}

static void check_text(const lh_tokenizer *tokenizer, const cJSON *item, const char *field) {
    const char *hex = cJSON_GetObjectItem(item, "hex")->valuestring;
    const cJSON *ids = cJSON_GetObjectItem(item, field);
    size_t bytes = 0, back_bytes = 0;
    char *text = from_hex(hex, &bytes), *back = NULL;
    int32_t *tokens = NULL;
    int64_t count = 0;
    REQUIRE_OK(lh_tokenizer_encode(tokenizer, text, bytes, &tokens, &count));
    bool same = count == cJSON_GetArraySize(ids);
    for (int64_t i = 0; same && i < count; ++i)
        same = tokens[i] == cJSON_GetArrayItem(ids, (int)i)->valueint;
    test_check(same, __FILE__, __LINE__, "%s: other tokens for %s", field, hex);
    CHECK_OK(lh_tokenizer_decode(tokenizer, tokens, count, &back, &back_bytes));
    CHECK(back_bytes == bytes && memcmp(back, text, bytes) == 0);
    free(text);
    free(back);
    free(tokens);
}

static void compare(const char *name, const char *field) {
    FILE *file = fopen("tests/golden/bpe/texts.jsonl", "r");
    lh_tokenizer *tokenizer = NULL;
    static char line[1 << 16];
    int texts = 0;
    REQUIRE(file != NULL);
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    for (; fgets(line, sizeof line, file) != NULL; ++texts) {
        cJSON *item = cJSON_Parse(line);
        REQUIRE(item != NULL);
        check_text(tokenizer, item, field);
        cJSON_Delete(item);
    }
    CHECK(texts > 100);
    lh_tokenizer_destroy(tokenizer);
    (void)fclose(file);
}

/* With GPT-2's own vocabulary too, where it is on this machine. */
TEST(hard_texts_have_the_tokens_of_the_reference) {
    char *path = NULL;
    compare(vocabulary, "ids");
    REQUIRE_OK(lh_data_find("gpt2-bpe/vocab.bpe", &path));
    if (path != NULL) compare("bpe:gpt2", "gpt2");
    free(path);
}

TEST(a_vocabulary_that_names_its_files_by_its_model_is_read) {
    char *path = NULL;
    lh_tokenizer *tokenizer = NULL;
    REQUIRE_OK(lh_data_find("codet5-bpe/codet5-vocab.json", &path));
    const bool found = path != NULL;
    free(path);
    if (!found) SKIP("no CodeT5 vocabulary here");
    REQUIRE_OK(lh_tokenizer_open("bpe:codet5", &tokenizer));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(tokenizer), 32000);
    lh_tokenizer_destroy(tokenizer);
}

TEST(any_bytes_come_back) {
    lh_tokenizer *tokenizer = NULL;
    REQUIRE_OK(lh_tokenizer_open(vocabulary, &tokenizer));
    for (int round = 0; round < 200; ++round) {
        char text[300], *back = NULL;
        const size_t bytes = (size_t)test_integer(300);
        for (size_t i = 0; i < bytes; ++i) /* few kinds, so that UTF-8 comes about by chance */
            text[i] = "ab \n\xc3\xa9\xe2\x82\xac\xff\x80"[test_integer(11)];
        int32_t *tokens = NULL;
        int64_t count = 0;
        size_t back_bytes = 0;
        REQUIRE_OK(lh_tokenizer_encode(tokenizer, text, bytes, &tokens, &count));
        REQUIRE_OK(lh_tokenizer_decode(tokenizer, tokens, count, &back, &back_bytes));
        CHECK(back_bytes == bytes && memcmp(back, text, bytes) == 0);
        free(tokens);
        free(back);
    }
    lh_tokenizer_destroy(tokenizer);
}

TEST(a_word_of_a_megabyte_takes_no_time) {
    enum { LENGTH = 1 << 20 };
    lh_tokenizer *tokenizer = NULL;
    int32_t *tokens = NULL;
    int64_t count = 0;
    char *text = malloc(LENGTH);
    REQUIRE(text != NULL);
    for (int i = 0; i < LENGTH; ++i)
        text[i] = (char)('a' + test_integer(26));
    REQUIRE_OK(lh_tokenizer_open(vocabulary, &tokenizer));
    CHECK_OK(lh_tokenizer_encode(tokenizer, text, LENGTH, &tokens, &count));
    CHECK(count < LENGTH);
    lh_tokenizer_destroy(tokenizer);
    free(tokens);
    free(text);
}

/* ---- training ---- */

static void check_same_file(const char *a, const char *b) {
    void *first = NULL, *second = NULL;
    size_t first_bytes = 0, second_bytes = 0;
    REQUIRE_OK(lh_file_read_all(a, &first, &first_bytes));
    REQUIRE_OK(lh_file_read_all(b, &second, &second_bytes));
    CHECK(first_bytes == second_bytes && memcmp(first, second, first_bytes) == 0);
    free(first);
    free(second);
}

static char made[] = "/tmp/longhaul-bpe-train-XXXXXX";

TEST(training_finds_the_merges_of_the_reference) {
    lh_bpe_trainer *trainer = NULL;
    lh_tokenizer *ours = NULL;
    void *text = NULL;
    size_t bytes = 0;
    char name[PATH], path[PATH];
    REQUIRE(mkdtemp(made) != NULL);
    REQUIRE_OK(lh_file_read_all("tests/golden/bpe/trained/text", &text, &bytes));
    REQUIRE_OK(lh_bpe_trainer_create(&trainer));
    CHECK_OK(lh_bpe_trainer_add(trainer, text, bytes));
    CHECK_OK(lh_bpe_trainer_write(trainer, 600, made));
    (void)snprintf(path, sizeof path, "%s/merges.txt", made);
    check_same_file(path, "tests/golden/bpe/trained/merges.txt");
    (void)snprintf(path, sizeof path, "%s/vocab.json", made);
    check_same_file(path, "tests/golden/bpe/trained/vocab.json");
    (void)snprintf(name, sizeof name, "bpe:%s", made);
    CHECK_OK(lh_tokenizer_open(name, &ours));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(ours), 600);
    lh_tokenizer_destroy(ours);
    lh_bpe_trainer_destroy(trainer);
    free(text);
}

/* That training on a text, for at most `most` tokens, ends with so many. */
static void check_trained(const char *text, size_t bytes, int64_t most, int64_t tokens) {
    char folder_name[] = "/tmp/longhaul-bpe-train-XXXXXX", name[PATH];
    lh_bpe_trainer *trainer = NULL;
    lh_tokenizer *ours = NULL;
    REQUIRE(mkdtemp(folder_name) != NULL);
    REQUIRE_OK(lh_bpe_trainer_create(&trainer));
    CHECK_OK(lh_bpe_trainer_add(trainer, text, bytes));
    CHECK_OK(lh_bpe_trainer_write(trainer, most, folder_name));
    (void)snprintf(name, sizeof name, "bpe:%s", folder_name);
    REQUIRE_OK(lh_tokenizer_open(name, &ours));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(ours), tokens);
    lh_tokenizer_destroy(ours);
    lh_bpe_trainer_destroy(trainer);
}

/* A text without a pair that occurs twice has no more tokens than bytes. */
TEST(training_ends_when_nothing_is_left_to_merge) {
    check_trained("aaaa bcd", 8, 5000, 257);
}

/* As a genome is: every pair stands at thousands of its places. */
TEST(training_on_a_word_of_a_megabyte_takes_no_time) {
    enum { LENGTH = 1 << 20 };
    char *text = malloc(LENGTH);
    REQUIRE(text != NULL);
    for (int i = 0; i < LENGTH; ++i)
        text[i] = "ACGT"[test_integer(4)];
    check_trained(text, LENGTH, 262, 262);
    free(text);
}

/* ---- files that are broken ---- */

static char folder[] = "/tmp/longhaul-bpe-XXXXXX";

static void write_file(const char *name, const char *text) {
    char path[PATH];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* All bytes as tokens, and more: the text of a vocab.json. `end` closes it. */
static void write_vocabulary(const char *more, const char *end) {
    static char text[1 << 14];
    size_t at = 0;
    int next = 256;
    text[at++] = '{';
    for (int b = 0; b < 256; ++b) {
        const bool prints = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\"\\u%04x\": %d", b > 0 ? ", " : "",
                               (unsigned)(prints ? b : next++), b);
    }
    (void)snprintf(text + at, sizeof text - at, "%s%s", more, end);
    write_file("vocab.json", text);
}

static void refused(const char *more, const char *end, const char *merges, const char *message) {
    char name[PATH];
    lh_tokenizer *tokenizer = NULL;
    write_vocabulary(more, end);
    write_file("merges.txt", merges);
    (void)snprintf(name, sizeof name, "bpe:%s", folder);
    CHECK_FAILS(lh_tokenizer_open(name, &tokenizer), LH_EFORMAT, message);
}

TEST(broken_vocabularies_are_refused_with_their_place) {
    REQUIRE(mkdtemp(folder) != NULL);
    refused(", \"ab\": 256", "", "", "vocab.json: no JSON at byte");
    refused(", \"ab\": 256", "} {}", "", "vocab.json: something behind the value at byte");
    refused(", \"a\\u0000b\": 256", "}", "", "vocab.json: a NUL character at byte");
    refused(", \"ab\": 300", "}", "", "token 'ab' needs an id from 0 to 256");
    refused(", \"ab\": -1", "}", "", "token 'ab' needs an id");
    refused(", \"ab\": \"x\"", "}", "", "token 'ab' needs an id");
    refused(", \"ab\": 255", "}", "", "id 255 belongs to two tokens, 'ab' is the second");
    refused(", \"ab\": 256, \"ab\": 257", "}", "", "token 'ab' stands there twice");
    refused(", \"ab\": 256, \"cd\": 258", "}", "",
            "token 'cd' needs an id from 0 to 257"); /* a gap */
    refused(", \"a\xff\": 256", "}", "", "is not written in byte characters");
    refused(", \"a b\": 256", "}", "", "token 'a b' (id 256) is not written in byte characters");
    refused(", \"\": 256", "}", "", "is not written in byte characters");
    refused(", \"ab\": 256", "}", "#version: 0.2\na b\na c\n",
            "merges.txt:3: what the merge makes");
    refused(", \"ab\": 256", "}", "a b\n\xe4\xbd\xa0 b\n",
            "merges.txt:2: '\xe4\xbd\xa0' is no token");
    refused(", \"ab\": 256", "}", "a b\nab\n", "merges.txt:2: expected two tokens");
    refused(", \"ab\": 256", "}", "a b c\n", "merges.txt:1: expected two tokens");
    refused(", \"ab\": 256", "}", "a b\na b\n", "merges.txt:2: this merge stands there twice");
    static char huge[1 << 20];
    memset(huge, 'a', sizeof huge - 1);
    refused(", \"ab\": 256", "}", huge, "merges.txt:1: expected two tokens");
    huge[1 << 19] = ' ';
    refused(", \"ab\": 256", "}", huge, "merges.txt:1: 'aaaa");
    write_file("vocab.json", "[1, 2]");
    lh_tokenizer *tokenizer = NULL;
    char name[PATH];
    (void)snprintf(name, sizeof name, "bpe:%s", folder);
    CHECK_FAILS(lh_tokenizer_open(name, &tokenizer), LH_EFORMAT, "not a JSON object");
    write_file("vocab.json", "{\"a\": 0}");
    CHECK_FAILS(lh_tokenizer_open(name, &tokenizer), LH_EFORMAT, "byte 0x00 has no token");
    CHECK_FAILS(lh_tokenizer_open("bpe:/nonexistent/x", &tokenizer), LH_EIO, "has neither");
    CHECK_FAILS(lh_tokenizer_open("bpe:nothing", &tokenizer), LH_EIO,
                "data fetch nothing` downloads it if `longhaul data list` has it");
    char path[PATH];
    (void)snprintf(path, sizeof path, "%s/vocab.json", folder);
    (void)remove(path);
    (void)snprintf(path, sizeof path, "%s/merges.txt", folder);
    (void)remove(path);
    (void)remove(folder);
}

#else

TEST(without_the_library_the_tokenizer_says_so) {
    lh_tokenizer *tokenizer = NULL;
    CHECK_FAILS(lh_tokenizer_open("bpe:gpt2", &tokenizer), LH_EOPTION, "lacks the pcre2 library");
}

#endif
