/* Functions with and without defects: reading, cutting, vocabularies, digests, what is malformed.
 */
#include "datasets/generate/generate_defect.h"
#include "datasets/text/defects.h"

#include "datasets/locate.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

static const char *const files[LH_SPLITS] = {"devign/train.jsonl", "devign/valid.jsonl",
                                             "devign/test.jsonl"};

static void write_string(const char *name, const char *text) {
    write_text(name, text, strlen(text));
}

/* Three files; the test writes what it wants otherwise afterwards. */
static bool write_files(void) {
    if (!make_root()) return false;
    write_string(files[LH_TRAIN],
                 "{\"project\": \"p\", \"target\": 1, \"func\": \"int  f(void)\\n{\\n\\treturn "
                 "1;\\r\\n}\\n\"}\r\n"
                 "\n"
                 "{\"func\": \"\\u00a0g\\u2003h\\u3000 \", \"target\": 0, \"idx\": 7}");
    write_string(files[LH_VALID], "{\"target\": 0, \"func\": \"a\"}\n");
    write_string(files[LH_TEST], "{\"target\": 1, \"func\": \"b </s> c\"}\n");
    return true;
}

static lh_status open_defects(const char *tokens, int64_t most, int64_t limit, lh_defects **out) {
    const lh_defects_spec spec = {.name = "devign",
                                  .tokens = tokens,
                                  .most_tokens = most,
                                  .counts = {40, 20, 20},
                                  .limits = {limit, limit, limit},
                                  .data_seed = 1};
    return lh_defects_open(&spec, out);
}

/* The function's tokens, which are bytes + 3, as text between its begin and its end. */
static void check_text(lh_defects *defects, lh_split split, int64_t index, const char *text,
                       bool defective) {
    const lh_defects_ids *ids = lh_defects_ids_of(defects);
    lh_function function;
    REQUIRE_OK(lh_defects_function(defects, split, index, &function));
    REQUIRE(function.count == (int64_t)strlen(text) + 2);
    CHECK_EQ_INT(function.tokens[0], ids->begin);
    CHECK_EQ_INT(function.tokens[function.count - 1], ids->end);
    for (size_t i = 0; text[i] != '\0'; ++i)
        CHECK_EQ_INT(function.tokens[i + 1], (unsigned char)text[i] + 3);
    CHECK(function.defective == defective);
}

TEST(functions_are_read_and_their_words_joined) {
    lh_defects *defects = NULL;
    REQUIRE(write_files());
    REQUIRE_OK(open_defects("bytes", 512, 0, &defects));
    CHECK_EQ_INT(lh_defects_count(defects, LH_TRAIN), 2);
    check_text(defects, LH_TRAIN, 0, "int f(void) { return 1; }", true);
    check_text(defects, LH_TRAIN, 1, "g h", false);
    check_text(defects, LH_VALID, 0, "a", false);
    check_text(defects, LH_TEST, 0, "b </s> c", true); /* what looks like a token is text */
    CHECK_STR(lh_defects_source(defects), "devign (4 functions in devign/)");
    lh_defects_destroy(defects);
}

TEST(long_functions_are_cut_before_their_end) {
    lh_defects *defects = NULL;
    REQUIRE(write_files());
    REQUIRE_OK(open_defects("bytes", 7, 0, &defects));
    check_text(defects, LH_TRAIN, 0, "int f", true);
    check_text(defects, LH_TRAIN, 1, "g h", false);
    lh_defects_destroy(defects);
}

TEST(ids_that_the_vocabulary_lacks_stand_behind_it) {
    lh_defects *defects = NULL;
    REQUIRE(write_files());
    REQUIRE_OK(open_defects("bytes", 64, 0, &defects));
    const lh_defects_ids *ids = lh_defects_ids_of(defects);
    CHECK_EQ_INT(ids->vocabulary, 260 + 100);
    CHECK(ids->pad == 260 && ids->begin == 261 && ids->end == 262);
    CHECK(ids->answer[0] == 263 && ids->answer[1] == 264);
    lh_defects_destroy(defects);
}

/* What stands for any unknown word would be both answers, and every one of them right. */
TEST(an_answer_that_the_vocabulary_lacks_is_no_unknown_word) {
    char tokens[2 * DATA_ROOT_BYTES];
    lh_defects *defects = NULL;
    REQUIRE(write_files());
    write_string("words", "<eos>\n<unk>\nint\ntrue\n");
    (void)snprintf(tokens, sizeof tokens, "words:%s/words", data_root);
    REQUIRE_OK(open_defects(tokens, 64, 0, &defects));
    const lh_defects_ids *ids = lh_defects_ids_of(defects);
    CHECK_EQ_INT(ids->vocabulary, 4 + 100);
    CHECK_EQ_INT(ids->answer[0], 4 + 3);
    CHECK_EQ_INT(ids->answer[1], 3);
    lh_defects_destroy(defects);
}

/* CodeT5's vocabulary: 32,000 entries and 100 sentinels. */
TEST(ids_of_codet5_are_the_published_ones) {
    char *path = NULL;
    lh_defects *defects = NULL;
    REQUIRE(make_root() && setenv("LONGHAUL_DATA", given_data(), 1) == 0);
    REQUIRE_OK(lh_data_find("codet5-bpe/codet5-vocab.json", &path));
    const bool found = path != NULL;
    free(path);
    if (!found) SKIP("no CodeT5 vocabulary here");
    REQUIRE_OK(open_defects("bpe:codet5", 64, 1, &defects));
    const lh_defects_ids *ids = lh_defects_ids_of(defects);
    CHECK_EQ_INT(ids->vocabulary, 32100);
    CHECK(ids->pad == 0 && ids->begin == 1 && ids->end == 2);
    CHECK(ids->answer[0] == 5743 && ids->answer[1] == 3767);
    lh_defects_destroy(defects);
}

TEST(limits_take_the_first_functions_and_labels_are_part_of_the_digest) {
    lh_defects *all = NULL, *some = NULL, *other = NULL;
    REQUIRE(write_files());
    REQUIRE_OK(open_defects("bytes", 64, 0, &all));
    REQUIRE_OK(open_defects("bytes", 64, 1, &some));
    CHECK_EQ_INT(lh_defects_count(some, LH_TRAIN), 1);
    CHECK(lh_defects_digest(all) != lh_defects_digest(some));
    write_string(files[LH_VALID], "{\"target\": 1, \"func\": \"a\"}\n");
    REQUIRE_OK(open_defects("bytes", 64, 0, &other));
    CHECK(lh_defects_digest(all) != lh_defects_digest(other));
    lh_defects_destroy(all);
    lh_defects_destroy(some);
    lh_defects_destroy(other);
}

static void refused(const char *text, const char *message) {
    lh_defects *defects = NULL;
    REQUIRE(write_files());
    write_string(files[LH_VALID], text);
    CHECK_FAILS(open_defects("bytes", 64, 0, &defects), LH_EFORMAT, message);
}

TEST(malformed_lines_are_named) {
    refused("{\"target\": 0, \"func\": \"a\"}\n{\"target\": 0}\n",
            "valid.jsonl: line 2: no field 'func'");
    refused("{\"target\": 0, \"func\": 3}", "line 1: no field 'func'");
    refused("[1]", "line 1: no field 'func'");
    refused("{\"func\": \"a\"}", "line 1: no field 'target' that is 0 (clean) or 1 (defective)");
    refused("{\"func\": \"a\", \"target\": 2}", "line 1: no field 'target'");
    refused("{\"func\": \"a\", \"target\": \"1\"}", "line 1: no field 'target'");
    refused("{\"func\": \" \\n\", \"target\": 1}", "line 1: field 'func' is empty");
    refused("{\"func\": \"a\", \"target\": 1}\n{\"func\": \"a\", \"tar", "line 2, column");
    refused("{\"func\": \"a\\u0000b\", \"target\": 1}", "line 1, column 12: a NUL character");
    refused("{\"func\": \"a\xff\", \"target\": 1}", "line 1, column 12: not UTF-8");
    refused("\n \n", "valid.jsonl: has no functions");
}

TEST(missing_files_are_named) {
    lh_defects *defects = NULL;
    REQUIRE(make_root());
    write_string(files[LH_TRAIN], "{\"target\": 0, \"func\": \"a\"}\n");
    CHECK_FAILS(open_defects("bytes", 64, 0, &defects), LH_EIO,
                "devign: has neither valid.jsonl nor valid.jsonl.gz");
    const lh_defects_spec spec = {.name = "devin", .tokens = "bytes", .most_tokens = 9};
    CHECK_FAILS(lh_defects_open(&spec, &defects), LH_EIO, "no functions 'devin'");
}

/* ---- the generator ---- */

/* Where the first `before``name``behind` stands. */
static long place(const char *text, const char *before, const char *name, const char *behind) {
    char wanted[96];
    (void)snprintf(wanted, sizeof wanted, "%s%s%s", before, name, behind);
    const char *found = strstr(text, wanted);
    return found != NULL ? (long)(found - text) : -1;
}

/* Reads the text again: is a pointer used before its check, or after it was freed? */
static bool has_defect(const char *text, int *pointers) {
    bool found = false;
    *pointers = 0;
    for (const char *at = text; (at = strstr(at, " *")) != NULL; at += 2) {
        char name[32];
        if (sscanf(at, " *%31[a-z]", name) != 1) continue;
        if (strncmp(at + 2 + strlen(name), " = malloc", 9) != 0) continue;
        const long check = place(text, "(!", name, ")"), use = place(text, " ", name, "->"),
                   release = place(text, "free(", name, ")");
        CHECK(check > 0 && use > 0 && release > 0);
        found = found || use < check || use > release || check > release;
        *pointers += 1;
    }
    return found;
}

TEST(generated_functions_are_what_their_label_says) {
    enum { FUNCTIONS = 2000 };
    char text[LH_FUNCTION_BYTES], again[LH_FUNCTION_BYTES];
    int defective = 0, pointers = 0;
    size_t longest = 0;
    for (uint64_t i = 0; i < FUNCTIONS; ++i) {
        const bool label = lh_generate_function(5, i, text);
        test_check(has_defect(text, &pointers) == label, __FILE__, __LINE__, "label %d:\n%s", label,
                   text);
        CHECK(pointers >= 1 && pointers <= 3);
        CHECK(lh_generate_function(5, i, again) == label && strcmp(text, again) == 0);
        const size_t length = strlen(text);
        CHECK(strcmp(text + length - 2, "}\n") == 0);
        longest = length > longest ? length : longest;
        defective += label;
    }
    CHECK(defective > FUNCTIONS * 45 / 100 && defective < FUNCTIONS * 55 / 100);
    CHECK(longest < LH_FUNCTION_BYTES - 1);
}

TEST(without_data_the_generator_serves) {
    lh_defects *defects = NULL;
    REQUIRE(make_root());
    REQUIRE_OK(open_defects("bytes", 64, 0, &defects));
    CHECK_STR(lh_defects_source(defects), "embedded generator (devign)");
    CHECK_EQ_INT(lh_defects_count(defects, LH_TRAIN), 40);
    CHECK_EQ_INT(lh_defects_count(defects, LH_TEST), 20);
    lh_defects_destroy(defects);
    REQUIRE_OK(open_defects("bpe:train:300", 64, 0, &defects));
    CHECK_EQ_INT(lh_defects_ids_of(defects)->vocabulary, 400);
    lh_defects_destroy(defects);
}
