/* Vocabularies of corpora: what they need, and training them once, on the corpus or on others. */
#include "datasets/text/vocabulary.h"

#include <stdlib.h>

#include "tests/datasets/data_root.h"
#include "tests/test.h"

#ifdef LH_HAVE_SENTENCEPIECE
TEST(sub_words_need_a_model_and_utf8) {
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    lh_corpus *corpus = NULL;
    CHECK_FAILS(open_corpus("name=books tokens=sentencepiece:none", &corpus), LH_EIO, "none.model");
    write_text("sentencepiece/bad.model", "no model", 8);
    CHECK_FAILS(open_corpus("name=books tokens=sentencepiece:bad", &corpus), LH_EFORMAT,
                "bad.model");
}

TEST(a_vocabulary_is_trained_once_on_the_corpus) {
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    const char *options = "name=generate:books documents=30 document_bytes=3000 "
                          "tokens=sentencepiece:train:300";
    lh_corpus *corpus = NULL;
    lh_document first, again;
    REQUIRE_OK(open_corpus(options, &corpus));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(lh_corpus_tokenizer(corpus)), 300);
    REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, 0, &first));
    CHECK(first.count > 0 && first.count < first.bytes);
    const int64_t count = first.count;
    lh_corpus_destroy(corpus);
    REQUIRE_OK(open_corpus(options, &corpus));
    REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, 0, &again));
    CHECK_EQ_INT(again.count, count);
    lh_corpus_destroy(corpus);
    CHECK_FAILS(
        open_corpus("name=generate:books documents=2 tokens=sentencepiece:train:3", &corpus),
        LH_EOPTION, "16 to 1000000");
}

/* SentencePiece reads the path of a text as a list with commas. */
TEST(a_vocabulary_is_trained_wherever_the_cache_folder_lies) {
    char cache[2 * DATA_ROOT_BYTES];
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    (void)snprintf(cache, sizeof cache, "%s/a, \"b\"", data_root);
    CHECK(setenv("XDG_CACHE_HOME", cache, 1) == 0);
    REQUIRE_OK(
        open_corpus("name=generate:books documents=2 tokens=sentencepiece:train:50", &corpus));
    lh_corpus_destroy(corpus);
}

TEST(sub_words_are_trained_on_lines) {
    enum { BYTES = 40000 };
    char *text = malloc(BYTES);
    lh_corpus *corpus = NULL;
    REQUIRE(make_root() && text != NULL);
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    for (int i = 0; i < BYTES; ++i)
        text[i] = i % 5 == 4 ? ' ' : (char)('a' + i % 7);
    write_text("words/words.txt", text, BYTES);
    free(text);
    CHECK_FAILS(open_corpus("name=words tokens=sentencepiece:train:30", &corpus), LH_EFORMAT,
                "on lines of up to 16384 bytes: of a text without line ends take bpe:train:");
}
#endif

#ifdef LH_HAVE_PCRE2
static void check_tokens(const char *tokens, int64_t *count) {
    char options[512];
    lh_corpus *corpus = NULL;
    lh_document document;
    (void)snprintf(options, sizeof options,
                   "name=generate:latex documents=20 document_bytes=3000 tokens=%s", tokens);
    REQUIRE_OK(open_corpus(options, &corpus));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(lh_corpus_tokenizer(corpus)), 400);
    REQUIRE_OK(lh_corpus_document(corpus, LH_TEST, 0, &document));
    CHECK(document.count > 0 && document.count < document.bytes);
    *count = document.count;
    lh_corpus_destroy(corpus);
}

/* On the corpus itself it is denser than on another kind of text, and a mixture lies between. */
TEST(a_vocabulary_may_be_trained_on_other_corpora) {
    int64_t own = 0, other = 0, mixed = 0;
    lh_corpus *corpus = NULL;
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    check_tokens("bpe:train:400", &own);
    check_tokens("bpe:train:400:generate:books", &other);
    check_tokens("bpe:train:400:generate:books+generate:latex", &mixed);
    CHECK(own < mixed && mixed < other);
    CHECK_FAILS(open_corpus("name=generate:books tokens=bpe:train:400:", &corpus), LH_EOPTION,
                "trained on what? name a corpus, as in bpe:train:400:books");
    CHECK_FAILS(open_corpus("name=generate:books tokens=bpe:train:400:nowhere", &corpus), LH_EIO,
                "no data 'nowhere'");
    CHECK_FAILS(open_corpus("name=nowhere", &corpus), LH_EIO,
                "`longhaul data import FOLDER --name nowhere`");
    CHECK_FAILS(open_corpus("name=generate:books tokens=bpe:train:200", &corpus), LH_EOPTION,
                "256 to 1000000");
}

/* Where texts are only written, the vocabulary is the one that the corpus had. */
TEST(a_trained_vocabulary_opens_without_a_corpus) {
    static const char name[] = "bpe:train:300:generate:books";
    lh_corpus *corpus = NULL;
    lh_tokenizer *tokenizer = NULL;
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    REQUIRE_OK(open_corpus("name=generate:books tokens=bpe:train:300:generate:books", &corpus));
    REQUIRE_OK(lh_vocabulary_open(NULL, name, NULL, &tokenizer));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(tokenizer),
                 lh_tokenizer_vocabulary(lh_corpus_tokenizer(corpus)));
    lh_tokenizer_destroy(tokenizer);
    lh_corpus_destroy(corpus);
    CHECK_FAILS(lh_vocabulary_open(NULL, "bpe:train:300", NULL, &tokenizer), LH_EOPTION,
                "name a corpus");
}
#endif
