/* Parallel texts: the generator's grammar, pairs of lines, vocabularies, damaged files. */
#include "datasets/generate/generate_pairs.h"
#include "datasets/text/parallel_text.h"

#include "tests/config.h"
#include "tests/datasets/data_root.h"
#include "tests/test.h"

static lh_status open_parallel(const char *text, lh_parallel **out) {
    lh_options *options = NULL;
    lh_parallel_config config;
    lh_status status = parse_config(lh_parallel_config_options, text, &config, &options);
    if (status == LH_OK) status = lh_parallel_open(&config, out);
    lh_options_destroy(options);
    return status;
}

static void write_string(const char *name, const char *text) {
    write_text(name, text, strlen(text));
}

/* Three files of two languages; the test writes what it wants otherwise afterwards. */
static bool write_texts(void) {
    static const char *const names[] = {"train", "valid", "test"};
    if (!make_root()) return false;
    for (int i = 0; i < 3; ++i) {
        char path[64];
        (void)snprintf(path, sizeof path, "wmt/%s.en", names[i]);
        write_string(path, "a cat\n two dogs \n\nthree\n");
        (void)snprintf(path, sizeof path, "wmt/%s.de", names[i]);
        write_string(path, "eine Katze\nzwei Hunde\r\nnichts\ndrei Vögel");
    }
    return true;
}

/* ---- the generator ---- */

TEST(the_grammar_translates) {
    char english[LH_PAIR_BYTES], german[LH_PAIR_BYTES];
    static const char *const pairs[][2] = {{"The letter works while the doctor laughs.",
                                            "Der Brief arbeitet, während der Arzt lacht."},
                                           {"The bridge sleeps at night before Maria carries Ida.",
                                            "Nachts schläft die Brücke, bevor Maria Ida trägt."}};
    for (int i = 0; i < 2; ++i) {
        lh_generate_pair(3, (uint64_t)i, english, german);
        CHECK_STR(english, pairs[i][0]);
        CHECK_STR(german, pairs[i][1]);
    }
}

/* Nothing is cut off, every sentence has its end, and few come twice. */
TEST(generated_sentences_fit_and_differ) {
    char english[LH_PAIR_BYTES], german[LH_PAIR_BYTES];
    size_t longest = 0;
    uint64_t sum = 0, last = 0;
    int same = 0;
    for (uint64_t n = 0; n < 5000; ++n) {
        lh_generate_pair(1, n, english, german);
        const size_t length = strlen(german);
        longest = length > longest ? length : longest;
        CHECK(german[length - 1] == '.' && english[strlen(english) - 1] == '.');
        sum = 0;
        for (size_t i = 0; i < length; ++i)
            sum = sum * 31 + (unsigned char)german[i];
        same += sum == last;
        last = sum;
    }
    CHECK(longest > 100 && longest < LH_PAIR_BYTES / 2);
    CHECK(same < 5);
}

TEST(without_data_the_generator_serves) {
    lh_parallel *parallel = NULL;
    REQUIRE(make_root());
    REQUIRE_OK(open_parallel("pairs=50 evaluate_pairs=7 tokens=bytes", &parallel));
    CHECK_EQ_INT(lh_parallel_pairs(parallel, LH_TRAIN), 50);
    CHECK_EQ_INT(lh_parallel_pairs(parallel, LH_TEST), 7);
    CHECK_CONTAINS(lh_parallel_source(parallel), "embedded generator");
    const lh_pair train = lh_parallel_pair(parallel, LH_TRAIN, 0),
                  test = lh_parallel_pair(parallel, LH_TEST, 0);
    CHECK(train.text_bytes != test.text_bytes ||
          memcmp(train.text, test.text, (size_t)test.text_bytes) != 0);
    CHECK_EQ_INT(train.target_count, train.text_bytes + 1);
    lh_parallel_destroy(parallel);
}

/* ---- files ---- */

TEST(lines_are_paired_and_end) {
    lh_parallel *parallel = NULL;
    REQUIRE(write_texts());
    REQUIRE_OK(open_parallel("name=wmt tokens=bytes", &parallel));
    CHECK_EQ_INT(lh_parallel_pairs(parallel, LH_TRAIN), 3); /* one has an empty line */
    CHECK_CONTAINS(lh_parallel_source(parallel),
                   "wmt (3 training pairs read, 3 of all splits left out for an empty line, in "
                   "wmt/)");
    const lh_pair pair = lh_parallel_pair(parallel, LH_TEST, 1);
    CHECK(pair.text_bytes == 10 && memcmp(pair.text, "zwei Hunde", 10) == 0);
    REQUIRE(pair.source_count == 10 && pair.target_count == 11);
    CHECK_EQ_INT(pair.source[9], 1);
    CHECK_EQ_INT(pair.target[10], 1);
    CHECK_EQ_INT(pair.target[0], 'z' + 3);
    CHECK_EQ_INT(pair.source[1], 't' + 3);
    lh_parallel_destroy(parallel);
    REQUIRE_OK(open_parallel("name=wmt tokens=bytes max_tokens=11 evaluate_pairs=1", &parallel));
    CHECK_EQ_INT(lh_parallel_pairs(parallel, LH_TRAIN), 2); /* "drei Vögel" has 12 with its end */
    CHECK_EQ_INT(lh_parallel_pairs(parallel, LH_VALID), 1);
    lh_parallel_destroy(parallel);
}

TEST(a_nul_byte_is_no_blank) {
    lh_parallel *parallel = NULL;
    REQUIRE(write_texts());
    write_text("wmt/test.de", "eins\0 \nzwei\n\ndrei\n", 18);
    REQUIRE_OK(open_parallel("name=wmt tokens=bytes", &parallel));
    CHECK_EQ_INT(lh_parallel_pair(parallel, LH_TEST, 0).text_bytes, 5);
    lh_parallel_destroy(parallel);
}

TEST(the_digest_is_of_the_text) {
    lh_parallel *parallel = NULL;
    uint64_t digest[4];
    for (int i = 0; i < 4; ++i) {
        REQUIRE(write_texts());
        if (i == 2) write_string("wmt/valid.en", "a cat\n two dogs \n\nfour\n");
        if (i == 3) write_string("wmt/test.de", "eine Katze\nzwei Hunds\r\nnichts\ndrei Vögel");
        REQUIRE_OK(open_parallel("name=wmt tokens=bytes", &parallel));
        digest[i] = lh_parallel_digest(parallel);
        lh_parallel_destroy(parallel);
    }
    CHECK(digest[0] == digest[1] && digest[0] != digest[2]);
    CHECK(digest[0] != digest[3] && digest[2] != digest[3]);
}

TEST(a_vocabulary_is_trained_on_both_sides) {
#ifndef LH_HAVE_SENTENCEPIECE
    SKIP("built without sentencepiece");
#else
    lh_parallel *parallel = NULL;
    char *text = NULL;
    size_t bytes = 0;
    REQUIRE(make_root());
    CHECK(setenv("XDG_CACHE_HOME", data_root, 1) == 0);
    REQUIRE_OK(
        open_parallel("pairs=400 evaluate_pairs=3 tokens=sentencepiece:train:200", &parallel));
    const lh_tokenizer *tokenizer = lh_parallel_tokenizer(parallel);
    CHECK(lh_tokenizer_vocabulary(tokenizer) > 100 && lh_tokenizer_vocabulary(tokenizer) <= 200);
    const lh_pair pair = lh_parallel_pair(parallel, LH_VALID, 2);
    CHECK(pair.target_count < pair.text_bytes);
    REQUIRE_OK(lh_tokenizer_decode(tokenizer, pair.target, pair.target_count - 1, &text, &bytes));
    CHECK(bytes == (size_t)pair.text_bytes && memcmp(text, pair.text, bytes) == 0);
    free(text);
    lh_parallel_destroy(parallel);
#endif
}

/* ---- what is wrong is said ---- */

static void check_refused(const char *options, lh_status expected, const char *message) {
    lh_parallel *parallel = NULL;
    CHECK_FAILS(open_parallel(options, &parallel), expected, message);
    CHECK(parallel == NULL);
}

TEST(malformed_texts_are_refused) {
    REQUIRE(write_texts());
    write_string("wmt/valid.de", "eins\nzwei\n");
    check_refused("name=wmt tokens=bytes", LH_EFORMAT, "valid.en has 4 lines");
    check_refused("name=wmt tokens=bytes", LH_EFORMAT, "valid.de has 2: line n of one");
    REQUIRE(write_texts());
    write_string("wmt/train.en", "a\nb\nc\nd\xff");
    check_refused("name=wmt tokens=bytes", LH_EFORMAT, "train.en:4: not UTF-8 at byte 2");
    REQUIRE(write_texts());
    write_string("wmt/test.en", "");
    write_string("wmt/test.de", "");
    check_refused("name=wmt tokens=bytes", LH_EFORMAT, "test.en: has no sentences");
    check_refused("name=wmt tokens=bytes source=fr", LH_EIO, "has no file train.fr");
    check_refused("name=elsewhere tokens=bytes", LH_EIO, "no parallel text 'elsewhere'");
    REQUIRE(write_texts());
    check_refused("name=wmt tokens=bytes max_tokens=2", LH_EOPTION, "longer than max_tokens");
    check_refused("name=wmt tokens=characters", LH_EOPTION, "no tokenizer 'characters'");
}

TEST(compressed_files_are_read_and_damaged_ones_refused) {
    lh_parallel *parallel = NULL;
    char command[2 * DATA_ROOT_BYTES];
    REQUIRE(write_texts());
    (void)snprintf(command, sizeof command, "gzip %s/wmt/train.en", data_root);
    REQUIRE(system(command) == 0);
    REQUIRE_OK(open_parallel("name=wmt tokens=bytes", &parallel));
    CHECK_EQ_INT(lh_parallel_pairs(parallel, LH_TRAIN), 3);
    lh_parallel_destroy(parallel);
    (void)snprintf(command, sizeof command, "truncate -s 12 %s/wmt/train.en.gz", data_root);
    REQUIRE(system(command) == 0);
    check_refused("name=wmt tokens=bytes", LH_EFORMAT, "train.en.gz");
}
