/* Documents that are pieces of one file: how often it is read, and what is kept of it. */
#include "datasets/text/corpus.h"
#include "datasets/text/corpus_stream.h"

#include <sys/resource.h>
#include <unistd.h>

#include "tests/datasets/data_root.h"
#include "tests/test.h"

enum { BYTES = 1 << 20, PIECE = 1000, PIECES = (BYTES + PIECE - 1) / PIECE };

/* A corpus `one` of a single file, of lines that differ. */
static bool write_file(void) {
    char *text = lh_allocate(BYTES + 16);
    if (!CHECK(text != NULL) || !CHECK(make_root())) return false;
    for (int i = 0; i < BYTES / 8; ++i)
        (void)snprintf(text + (size_t)i * 8, 9, "w%06d\n", i % 1000);
    write_text("one/train/a.txt", text, BYTES);
    free(text);
    return CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
}

static bool remove_file(void) {
    char path[DATA_ROOT_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/one/train/a.txt", data_root);
    return CHECK(unlink(path) == 0);
}

static lh_status open_pieces(const char *tokens, lh_corpus **out) {
    char text[128];
    (void)snprintf(text, sizeof text, "name=one split_bytes=%d tokens=%s", PIECE, tokens);
    return open_corpus(text, out);
}

/* The byte at a place of the whole file. */
static int byte_at(int64_t at) {
    char line[16];
    (void)snprintf(line, sizeof line, "w%06d\n", (int)(at / 8 % 1000));
    return (unsigned char)line[at % 8];
}

/* What cannot be read again has been read. */
TEST(a_file_is_read_once_for_its_pieces_in_order) {
    lh_corpus *corpus = NULL;
    lh_document document;
    int64_t at = 0, wrong = 0;
    double words = 0;
    REQUIRE(write_file());
    REQUIRE_OK(open_pieces("bytes", &corpus));
    REQUIRE(lh_corpus_documents(corpus, LH_TRAIN) == PIECES);
    REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, 0, &document));
    REQUIRE(remove_file());
    for (int64_t i = 0; i < PIECES; ++i) {
        REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, i, &document));
        for (int64_t t = 0; t < document.count; ++t)
            wrong += document.tokens[t] != byte_at(at + t) + 3;
        at += document.count;
        words += document.words;
    }
    CHECK_EQ_INT(wrong, 0);
    CHECK_EQ_INT(at, BYTES);
    CHECK_NEAR(words, BYTES / 8, 0);
    lh_corpus_destroy(corpus);
}

static bool open_for_bytes(const lh_corpus_config *limits, lh_corpus **corpus) {
    lh_tokenizer *tokenizer = NULL;
    if (!CHECK_OK(lh_corpus_create(limits, corpus)) ||
        !CHECK_OK(lh_tokenizer_open("bytes", &tokenizer)))
        return false;
    lh_corpus_set_tokenizer(*corpus, tokenizer, 0);
    return true;
}

/* The size of a file that was written to between two looks, or as a plug-in tells it. */
TEST(a_file_that_is_shorter_than_was_said_is_refused) {
    char path[DATA_ROOT_BYTES + 32];
    lh_corpus *corpus = NULL;
    lh_document document;
    REQUIRE(make_root());
    write_text("short.txt", "a b c", 5);
    (void)snprintf(path, sizeof path, "%s/short.txt", data_root);
    REQUIRE(open_for_bytes(NULL, &corpus));
    REQUIRE_OK(lh_corpus_add_file(corpus, LH_TRAIN, "whole", path, 5));
    REQUIRE_OK(lh_corpus_add_file(corpus, LH_TRAIN, "short", path, 5000));
    CHECK_OK(lh_corpus_document(corpus, LH_TRAIN, 0, &document));
    CHECK_FAILS(lh_corpus_document(corpus, LH_TRAIN, 1, &document), LH_EIO,
                "short.txt: changed since the corpus was opened");
    lh_corpus_destroy(corpus);
}

static double words_of(lh_corpus *corpus, lh_split split) {
    double words = 0;
    for (int64_t i = 0; i < lh_corpus_documents(corpus, split); ++i) {
        lh_document document;
        if (!CHECK_OK(lh_corpus_document(corpus, split, i, &document))) return -1;
        words += document.words;
    }
    return words;
}

TEST(a_word_that_is_cut_through_is_counted_once) {
    static const char text[] = "one two  three four ";
    for (int64_t size = 1; size < 12; ++size) {
        const lh_corpus_config limits = {.split_bytes = size};
        lh_corpus *corpus = NULL;
        REQUIRE(open_for_bytes(&limits, &corpus));
        REQUIRE_OK(lh_corpus_add_text(corpus, LH_TEST, "a", lh_duplicate_text(text), strlen(text)));
        CHECK_NEAR(words_of(corpus, LH_TEST), 4, 0);
        lh_corpus_destroy(corpus);
    }
}

/* Words of seven bytes go through the documents of 64 KiB that one file becomes, through the pieces
 * that those are cut into, and through the ends of the splits. */
TEST(a_word_that_goes_on_in_the_next_document_is_counted_once) {
    enum { WORDS = 30001, WORD = 7 };
    char *text = lh_allocate(WORDS * WORD + 1), path[DATA_ROOT_BYTES + 32];
    REQUIRE(text != NULL && make_root());
    for (size_t i = 0; i < WORDS; ++i)
        (void)snprintf(text + i * WORD, WORD + 1, "%06d ", (int)i);
    write_text("single.txt", text, WORDS * WORD);
    free(text);
    (void)snprintf(path, sizeof path, "%s/single.txt", data_root);
    for (int64_t size = 0; size <= 1000; size += 1000) {
        const lh_corpus_config limits = {.split_bytes = size};
        lh_corpus *corpus = NULL;
        double words = 0;
        REQUIRE(open_for_bytes(&limits, &corpus));
        REQUIRE_OK(lh_corpus_read_single(corpus, "single", path));
        for (int split = 0; split < LH_SPLITS; ++split)
            words += words_of(corpus, (lh_split)split);
        CHECK_NEAR(words, WORDS, 0);
        lh_corpus_destroy(corpus);
    }
}

/* A limit counts files, and not what they are cut into. */
TEST(the_first_books_are_whole_though_they_are_cut) {
    REQUIRE(make_root());
    write_text("few/train/a.txt", "ten tens", 8);
    write_text("few/train/b.txt", "a hundred", 9);
    write_text("few/train/c.txt", "nine", 4);
    lh_corpus *corpus = NULL;
    REQUIRE_OK(open_corpus("name=few limit_documents=2 split_bytes=4 tokens=bytes", &corpus));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 5);
    CHECK_NEAR(words_of(corpus, LH_TRAIN), 4, 0);
    lh_corpus_destroy(corpus);
    CHECK_FAILS(open_corpus("name=few valid_tokens=2 split_bytes=4 tokens=bytes", &corpus),
                LH_EOPTION, "'valid_tokens' and 'split_bytes' exclude each other");
}

/* The same of documents that are parts of one text. */
TEST(a_limit_counts_the_parts_of_a_text_before_they_are_cut) {
    static const char text[] = "one, two, six, ";
    const lh_corpus_config limits = {.split_bytes = 4, .limit_documents = 2};
    lh_corpus *corpus = NULL;
    REQUIRE_OK(lh_corpus_create(&limits, &corpus));
    for (size_t begin = 0; begin < 15; begin += 5)
        CHECK_OK(lh_corpus_add_part(corpus, LH_TRAIN, "a", text, 15, begin, begin + 5));
    CHECK_EQ_INT(lh_corpus_documents(corpus, LH_TRAIN), 4);
    lh_corpus_destroy(corpus);
}

typedef struct reading {
    int64_t at, wrong;
} reading;

static lh_status compare(void *to, const char *text, size_t bytes) {
    reading *r = to;
    for (size_t i = 0; i < bytes; ++i)
        r->wrong += (unsigned char)text[i] != byte_at(r->at + (int64_t)i);
    r->at += (int64_t)bytes;
    return LH_OK;
}

/* Text that was shown is not kept: what comes after the last piece is read again. */
TEST(texts_are_shown_in_order_and_let_go) {
    lh_corpus *corpus = NULL;
    reading shown = {0, 0};
    REQUIRE(write_file());
    REQUIRE_OK(open_pieces("bytes", &corpus));
    for (int64_t i = 0; i < PIECES; ++i) {
        REQUIRE_OK(lh_corpus_show_text(corpus, LH_TRAIN, i, compare, &shown));
        if (i == 0) REQUIRE(remove_file());
    }
    CHECK_EQ_INT(shown.wrong, 0);
    CHECK_EQ_INT(shown.at, BYTES);
    CHECK_FAILS(lh_corpus_show_text(corpus, LH_TRAIN, 0, compare, &shown), LH_EIO, "a.txt");
    lh_corpus_destroy(corpus);
}

static long peak_mebibytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss / 1024 : -1;
}

/* A file for each of its pieces would be a gibibyte. */
TEST(a_vocabulary_of_pieces_takes_the_memory_of_the_file) {
    lh_corpus *corpus = NULL;
    lh_document document;
    REQUIRE(write_file());
    const long before = peak_mebibytes();
    REQUIRE_OK(open_pieces("words:train:500", &corpus));
    REQUIRE_OK(lh_corpus_document(corpus, LH_TRAIN, 7, &document));
    CHECK_EQ_INT(lh_tokenizer_vocabulary(lh_corpus_tokenizer(corpus)), 500);
    CHECK(peak_mebibytes() - before < 100);
    lh_corpus_destroy(corpus);
}
