/* Text on the heap: formatting of any length, and adding piece by piece. */
#include "harness/engine/text.h"

#include "tests/test.h"

TEST(a_format_is_never_cut) {
    char *folder = lh_allocate(9001);
    REQUIRE(folder != NULL);
    memset(folder, 'x', 9000);
    folder[9000] = '\0';
    char *path = lh_format("%s/%s-%d", folder, "file", 17);
    REQUIRE(path != NULL);
    CHECK_EQ_INT(strlen(path), 9000 + strlen("/file-17"));
    CHECK_STR(path + 9000, "/file-17");
    CHECK(memcmp(path, folder, 9000) == 0);
    free(path);
    free(folder);
}

TEST(an_empty_format_is_an_empty_text) {
    char *text = lh_format("%s", "");
    REQUIRE(text != NULL);
    CHECK_STR(text, "");
    free(text);
}

TEST(text_grows_piece_by_piece_and_ends_with_a_nul) {
    lh_text text = {0};
    for (int i = 0; i < 1000; ++i) {
        REQUIRE_OK(lh_text_add_string(&text, "ab"));
        REQUIRE_OK(lh_text_add(&text, "cde", 1));
    }
    CHECK_EQ_INT(text.bytes, 3000);
    CHECK_EQ_INT(strlen(text.data), 3000);
    CHECK(memcmp(text.data, "abcabc", 6) == 0);
    CHECK_STR(text.data + 2997, "abc");
    free(text.data);
}

TEST(bytes_of_zero_are_text_like_others) {
    lh_text text = {0};
    REQUIRE_OK(lh_text_add(&text, "a\0b", 3));
    CHECK_EQ_INT(text.bytes, 3);
    CHECK(memcmp(text.data, "a\0b", 4) == 0);
    free(text.data);
}

TEST(reserved_text_is_empty_and_holds_what_was_asked) {
    lh_text text = {0};
    REQUIRE_OK(lh_text_reserve(&text, 0));
    CHECK_STR(text.data, "");
    REQUIRE_OK(lh_text_reserve(&text, 500));
    CHECK_EQ_INT(text.bytes, 0);
    CHECK(text.capacity > 500);
    const char *before = text.data;
    char piece[500];
    memset(piece, 'y', sizeof piece);
    REQUIRE_OK(lh_text_add(&text, piece, sizeof piece));
    CHECK(text.data == before);
    free(text.data);
}

TEST(lines_have_line_ends_between_them) {
    lh_text text = {0};
    REQUIRE_OK(lh_text_add_line(&text, "%d of %s", 1, "two"));
    REQUIRE_OK(lh_text_add_line(&text, "the second"));
    CHECK_STR(text.data, "1 of two\nthe second");
    free(text.data);
}
