/* Tensor2Tensor's subwords against its own encoder (tests/oracles/subwords.py). */
#include "datasets/text/vocabulary.h"

#include "tests/datasets/data_root.h"
#include "tests/test.h"

#ifdef LH_HAVE_PCRE2

enum { LINE = 2048 };

static const char small[] = "tests/golden/subwords/small.subwords";

/* "48656c" as bytes; "-" is nothing. */
static size_t read_hex(const char *hex, char *out) {
    size_t count = 0;
    for (; hex[0] != '-' && hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
        char pair[] = {hex[0], hex[1], '\0'};
        out[count++] = (char)strtol(pair, NULL, 16);
    }
    return count;
}

static void check_line(const lh_tokenizer *tokenizer, char *fields[4]) {
    char text[LINE], back[LINE], *decoded = NULL, *id = fields[2];
    const size_t bytes = read_hex(fields[1], text), expected = read_hex(fields[3], back);
    int32_t *tokens = NULL;
    int64_t count = 0, compared = 0;
    size_t got = 0;
    REQUIRE_OK(lh_tokenizer_encode(tokenizer, text, bytes, &tokens, &count));
    for (char *end = id; *id != '-' && *id != '\0'; id = end + (*end == ' '), ++compared) {
        const long wanted = strtol(id, &end, 10);
        test_check(compared < count && tokens[compared] == wanted, __FILE__, __LINE__,
                   "%s %s: id %d is %ld", fields[0], fields[1], (int)compared, wanted);
    }
    CHECK_EQ_INT(count, compared);
    REQUIRE_OK(lh_tokenizer_decode(tokenizer, tokens, count, &decoded, &got));
    test_check(got == expected && memcmp(decoded, back, got) == 0, __FILE__, __LINE__,
               "%s %s: decoded \"%s\"", fields[0], fields[1], decoded);
    free(decoded);
    free(tokens);
}

/* The lines of the fixture for one vocabulary. */
static void check_vocabulary(const char *name, const char *tokenizer_name, int64_t size) {
    char line[LINE];
    int checked = 0;
    lh_tokenizer *tokenizer = NULL;
    FILE *file = fopen("tests/golden/subwords/encodings.csv", "r");
    REQUIRE(file != NULL);
    REQUIRE_OK(lh_tokenizer_open(tokenizer_name, &tokenizer));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(tokenizer), size);
    CHECK_EQ_INT(lh_tokenizer_end(tokenizer), 1);
    while (fgets(line, sizeof line, file) != NULL) {
        char *fields[4] = {line};
        line[strcspn(line, "\n")] = '\0';
        for (int i = 1; i < 4 && fields[i - 1] != NULL; ++i) {
            fields[i] = strchr(fields[i - 1], ',');
            if (fields[i] != NULL) *fields[i]++ = '\0';
        }
        REQUIRE(fields[3] != NULL);
        if (strcmp(fields[0], name) != 0) continue;
        check_line(tokenizer, fields);
        checked += 1;
    }
    CHECK_EQ_INT(checked, 18);
    (void)fclose(file);
    lh_tokenizer_destroy(tokenizer);
}

TEST(a_small_vocabulary_encodes_as_the_released_encoder) {
    char name[128];
    (void)snprintf(name, sizeof name, "subwords:%s", small);
    check_vocabulary("small", name, 110);
}

TEST(the_released_vocabulary_of_wmt14_encodes_as_published) {
    char path[2 * DATA_ROOT_BYTES];
    (void)snprintf(path, sizeof path, "%s/sentencepiece/ende-32k.subwords", given_data());
    FILE *file = fopen(path, "r");
    if (file == NULL) SKIP("no sentencepiece/ende-32k.subwords in $LONGHAUL_DATA");
    (void)fclose(file);
    check_vocabulary("ende-32k", "subwords:ende-32k", 33288);
}

TEST(special_ids_stand_for_no_text) {
    lh_tokenizer *tokenizer = NULL;
    char name[128], *text = NULL;
    size_t bytes = 9;
    const int32_t tokens[] = {0, 1, 0};
    (void)snprintf(name, sizeof name, "subwords:%s", small);
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    REQUIRE_OK(lh_tokenizer_decode(tokenizer, tokens, 3, &text, &bytes));
    CHECK(bytes == 0 && text[0] == '\0');
    free(text);
    lh_tokenizer_destroy(tokenizer);
}

static void check_refused(const char *contents, lh_status expected, const char *message) {
    lh_tokenizer *tokenizer = NULL;
    char name[2 * DATA_ROOT_BYTES];
    write_text("x.subwords", contents, strlen(contents));
    (void)snprintf(name, sizeof name, "subwords:%s/x.subwords", data_root);
    CHECK_FAILS(lh_tokenizer_open(name, &tokenizer), expected, message);
    CHECK(tokenizer == NULL);
}

TEST(malformed_vocabularies_are_refused) {
    lh_tokenizer *tokenizer = NULL;
    char name[2 * DATA_ROOT_BYTES];
    int32_t *tokens = NULL;
    int64_t count = 0;
    REQUIRE(make_root());
    check_refused("'<pad>_'\n'<EOS>_'\n", LH_EFORMAT, "no subwords behind");
    check_refused("'<pad>_'\n'<EOS>_'\nword_\n", LH_EFORMAT, "x.subwords:3: expected a subword");
    check_refused("'<pad>_'\n'<EOS>_'\n''\n", LH_EFORMAT, "x.subwords:3");
    check_refused("'<pad>_'\n'\xff'\n", LH_EFORMAT, "not UTF-8 at byte 10");
    CHECK_FAILS(lh_tokenizer_open("subwords:nothing", &tokenizer), LH_EIO, "no subwords 'nothing'");
    write_text("x.subwords", "'<pad>_'\n'<EOS>_'\n'a_'\n", 23);
    (void)snprintf(name, sizeof name, "subwords:%s/x.subwords", data_root);
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    CHECK_FAILS(lh_tokenizer_encode(tokenizer, "p", 1, &tokens, &count), LH_EFORMAT,
                "none for 'p_'");
    CHECK_FAILS(lh_tokenizer_encode(tokenizer, "\xe4", 1, &tokens, &count), LH_EFORMAT,
                "not UTF-8");
    REQUIRE_OK(lh_tokenizer_encode(tokenizer, "a a", 3, &tokens, &count));
    CHECK(count == 2 && tokens[0] == 2 && tokens[1] == 2);
    free(tokens);
    lh_tokenizer_destroy(tokenizer);
}

#endif
