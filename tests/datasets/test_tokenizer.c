/* What holds for tokenizers of every kind: ids of another vocabulary are refused. */
#include "datasets/text/vocabulary.h"

#include "harness/engine/file.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

static void check_id(const lh_tokenizer *tokenizer, int32_t id) {
    const int32_t tokens[] = {0, id};
    char *text = NULL;
    size_t bytes = 0;
    CHECK_FAILS(lh_tokenizer_decode(tokenizer, tokens, 2, &text, &bytes), LH_EOPTION,
                "is outside the vocabulary of");
    CHECK(text == NULL);
}

/* Trained vocabularies lie in the test's own folder. */
static void check_kind(const char *name) {
    lh_tokenizer *tokenizer = NULL;
    REQUIRE(make_root());
    REQUIRE(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    REQUIRE_OK(lh_vocabulary_open(NULL, name, NULL, &tokenizer));
    check_id(tokenizer, -1);
    check_id(tokenizer, (int32_t)lh_tokenizer_vocabulary(tokenizer));
    check_id(tokenizer, INT32_MAX);
    lh_tokenizer_destroy(tokenizer);
}

TEST(ids_outside_a_vocabulary_are_refused) {
    check_kind("bytes");
    check_kind("words:train:100:generate:books");
#ifdef LH_HAVE_PCRE2
    check_kind("bpe:train:300:generate:books");
    check_kind("subwords:tests/golden/subwords/small.subwords");
#endif
#ifdef LH_HAVE_SENTENCEPIECE
    check_kind("sentencepiece:train:300:generate:books");
#endif
}

#ifdef LH_HAVE_SENTENCEPIECE
/* Signs of three bytes that books in English lack; neighbours are one <unk>. */
static int64_t unspelled(const lh_tokenizer *tokenizer, const char *text) {
    int32_t *tokens = NULL;
    int64_t count = 0;
    if (!CHECK_OK(lh_tokenizer_encode(tokenizer, text, strlen(text), &tokens, &count))) return -1;
    const int64_t found = lh_tokenizer_unspelled(tokenizer, text, strlen(text), tokens, count);
    free(tokens);
    return found;
}

TEST(bytes_that_pieces_lack_are_counted_twenty_times) {
    static const char known[] = "and the man had come back to the old house by the sea again";
    char few[sizeof known + 4], many[sizeof known + 16];
    lh_tokenizer *tokenizer = NULL;
    REQUIRE(make_root());
    REQUIRE(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    REQUIRE_OK(
        lh_vocabulary_open(NULL, "sentencepiece:train:300:generate:books", NULL, &tokenizer));
    (void)snprintf(few, sizeof few, "%s\u6cb3", known);
    (void)snprintf(many, sizeof many, "%s\u6cb3\u6d41\u5165\u6d77", known);
    CHECK_EQ_INT(unspelled(tokenizer, known), 0);
    CHECK_EQ_INT(unspelled(tokenizer, few), 20 * 3);
    CHECK_EQ_INT(unspelled(tokenizer, many), 20 * 12);
    lh_tokenizer_destroy(tokenizer);
}

TEST(rows_of_t5_behind_its_pieces_stand_for_no_text) {
    char name[2 * DATA_ROOT_BYTES], *text = NULL;
    size_t bytes = 9;
    lh_tokenizer *tokenizer = NULL;
    (void)snprintf(name, sizeof name, "sentencepiece:%s/sentencepiece/t5-32k.model", given_data());
    if (!lh_file_exists(name + strlen("sentencepiece:")))
        SKIP("no sentencepiece/t5-32k.model in $LONGHAUL_DATA");
    REQUIRE_OK(lh_tokenizer_open(name, &tokenizer));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(tokenizer), 32128);
    REQUIRE_OK(
        lh_tokenizer_decode(tokenizer, (const int32_t[]){8, 32000, 32127}, 3, &text, &bytes));
    CHECK_STR(text, "the");
    CHECK_EQ_INT(bytes, 3);
    free(text);
    lh_tokenizer_destroy(tokenizer);
}
#endif
