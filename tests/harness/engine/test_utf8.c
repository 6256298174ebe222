/* UTF-8 against RFC 3629: all characters, and the offset of the first byte that is none. */
#include "harness/engine/utf8.h"

#include "tests/test.h"

/* A character as RFC 3629, section 3 writes it; the count of its bytes. */
static size_t write_character(unsigned code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    const size_t bytes = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = bytes - 1; i > 0; --i, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[bytes] | code);
    return bytes;
}

TEST(every_character_but_the_surrogates_is_one) {
    for (unsigned code = 0; code < 0x120000; ++code) {
        char text[4];
        const size_t bytes = write_character(code, text);
        const bool good = (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff;
        if (!CHECK((lh_utf8_length(text, bytes) == bytes) == good)) return;
        if (bytes > 1 && !CHECK(lh_utf8_length(text, bytes - 1) == 0)) return;
    }
}

TEST(what_is_no_character_becomes_question_marks) {
    char text[] = "caf\xc3\xa9 \xe9t\xe9 \xf0\x9f\x98";
    lh_utf8_repair(text, sizeof text - 1);
    CHECK_STR(text, "caf\xc3\xa9 ?t? ???");
}

/* Cut anywhere, both sides are whole characters again without what these functions count. */
TEST(a_cut_through_a_character_is_seen_from_both_sides) {
    const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
    const size_t bytes = sizeof text - 1;
    for (size_t cut = 0; cut <= bytes; ++cut) {
        const size_t begun = lh_utf8_begun(text, cut), rest = lh_utf8_rest(text + cut, bytes - cut);
        CHECK_EQ_INT((int64_t)lh_utf8_length(text, cut), (int64_t)(cut - begun));
        CHECK_EQ_INT((int64_t)lh_utf8_length(text + cut + rest, bytes - cut - rest),
                     (int64_t)(bytes - cut - rest));
        CHECK((begun == 0) == (rest == 0));
    }
    CHECK_EQ_INT((int64_t)lh_utf8_rest("\x80\x80\x80\x80", 4), 3);
    CHECK_EQ_INT((int64_t)lh_utf8_begun("\x80\x80\x80\x80", 4), 0);
    CHECK_EQ_INT((int64_t)lh_utf8_begun("ab\xff", 3), 0);
}

TEST(the_offset_is_that_of_the_first_bad_character) {
    static const char *const cases[] = {
        "ab\x80",  "ab\xc0\x80",  "ab\xe0\x80\x80", "ab\xf0\x8f\xbf\xbf",
        "ab\xc3(", "ab\xe2\x82(", "ab\xff",         "ab\xf5\x80\x80\x80"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        CHECK_EQ_INT((int64_t)lh_utf8_length(cases[i], strlen(cases[i])), 2);
    CHECK_EQ_INT((int64_t)lh_utf8_length("caf\xc3\xa9", 5), 5);
    CHECK_EQ_INT((int64_t)lh_utf8_length("", 0), 0);
}
