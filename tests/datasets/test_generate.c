#include "datasets/dataset.h"

#include "tests/test.h"

enum { TARGET = 12000 };

static char *generate(lh_text_kind kind, uint64_t seed, uint64_t index, size_t *bytes) {
    char *text = NULL;
    return CHECK_OK(lh_generate_document(kind, seed, index, TARGET, &text, bytes)) ? text : NULL;
}

TEST(same_key_same_text) {
    for (int kind = LH_TEXT_BOOKS; kind <= LH_TEXT_CODE; ++kind) {
        size_t a_bytes = 0, b_bytes = 0, c_bytes = 0;
        char *a = generate((lh_text_kind)kind, 1, 4, &a_bytes);
        char *b = generate((lh_text_kind)kind, 1, 4, &b_bytes);
        char *c = generate((lh_text_kind)kind, 1, 5, &c_bytes);
        REQUIRE(a != NULL && b != NULL && c != NULL);
        CHECK(a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0);
        CHECK(a_bytes != c_bytes || memcmp(a, c, a_bytes) != 0);
        free(a);
        free(b);
        free(c);
    }
}

TEST(plain_text_of_the_wanted_length) {
    for (int kind = LH_TEXT_BOOKS; kind <= LH_TEXT_CODE; ++kind) {
        size_t bytes = 0;
        char *text = generate((lh_text_kind)kind, 2, 0, &bytes);
        REQUIRE(text != NULL);
        CHECK(bytes >= TARGET && bytes < TARGET + TARGET / 10);
        CHECK(text[bytes - 1] == '\n' && text[bytes] == '\0');
        bool plain = true;
        for (size_t i = 0; i < bytes; ++i) {
            plain = plain && (text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
        }
        CHECK(plain);
        free(text);
    }
}

/* A name that the opening of a book introduces comes again in its last quarter, and in no other
 * book. */
TEST(early_facts_come_again_late) {
    static const char mark[] = "by the name of ";
    size_t bytes = 0, other_bytes = 0;
    char *text = generate(LH_TEXT_BOOKS, 3, 7, &bytes),
         *other = generate(LH_TEXT_BOOKS, 3, 8, &other_bytes);
    REQUIRE(text != NULL && other != NULL);
    char name[32] = "";
    const char *found = strstr(text, mark);
    REQUIRE(found != NULL);
    REQUIRE(sscanf(found + sizeof mark - 1, "%30[A-Za-z]", name) == 1);
    CHECK(strlen(name) >= 4);
    CHECK(strstr(text + bytes / 4 * 3, name) != NULL);
    CHECK(strstr(other, name) == NULL);
    free(text);
    free(other);
}
