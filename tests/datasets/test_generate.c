/* Generated texts: the same from the same key, of the wanted length, with facts that come back. */
#include "datasets/generate/generate.h"

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

/* Names that follow the mark near the start come again in the last quarter, and in no other
 * document. Chance may pass over one of the six for so long, hardly over half of them. */
static void check_restated(lh_text_kind kind, const char *mark) {
    size_t bytes = 0, other_bytes = 0;
    char *text = generate(kind, 3, 7, &bytes), *other = generate(kind, 3, 8, &other_bytes);
    int introduced = 0, restated = 0;
    const char *at = text != NULL && other != NULL ? strstr(text, mark) : NULL;
    while (at != NULL && (size_t)(at - text) < bytes / 8) {
        char name[32] = "";
        CHECK(sscanf(at + strlen(mark), "%30[A-Za-z]", name) == 1 && strlen(name) >= 4);
        CHECK(strstr(other, name) == NULL);
        restated += strstr(text + bytes / 4 * 3, name) != NULL;
        introduced += 1;
        at = strstr(at + 1, mark);
    }
    CHECK(introduced >= 4);
    CHECK(2 * restated > introduced);
    free(text);
    free(other);
}

TEST(a_book_keeps_its_cast) {
    check_restated(LH_TEXT_BOOKS, "name of ");
}

TEST(labels_and_macros_are_used_late) {
    check_restated(LH_TEXT_LATEX, "\\label{thm:");
    check_restated(LH_TEXT_LATEX, "\\newcommand{\\");
}

TEST(declared_names_are_used_late) {
    check_restated(LH_TEXT_CODE, "\nstruct ");
    check_restated(LH_TEXT_CODE, " do_");
}

/* Whoever speaks has the trade of the opening, to the end of the book. */
TEST(a_name_keeps_its_trade) {
    size_t bytes = 0;
    char *text = generate(LH_TEXT_BOOKS, 4, 1, &bytes), name[32], trade[32], fact[96];
    REQUIRE(text != NULL);
    for (size_t i = 0; i < bytes; ++i)
        text[i] = text[i] == '\n' ? ' ' : text[i];
    int spoken = 0;
    for (const char *at = text; (at = strstr(at, "said ")) != NULL; ++at) {
        if (sscanf(at, "said %30[A-Za-z] the %30[a-z]", name, trade) != 2) continue;
        (void)snprintf(fact, sizeof fact, " a %s by the name of %s,", trade, name);
        CHECK_CONTAINS(text, fact);
        spoken += 1;
    }
    CHECK(spoken > 10);
    free(text);
}

TEST(unknown_kind) {
    char *text = NULL;
    size_t bytes = 0;
    const lh_text_kind kind = (lh_text_kind)(LH_TEXT_CODE + 1);
    CHECK_FAILS(lh_generate_document(kind, 1, 0, TARGET, &text, &bytes), LH_EOPTION,
                "no kind of text 3");
    CHECK(text == NULL);
}
