/* Regular languages against a second reading of their definitions, over all short strings, and what
 * the released rules promise of drawn ones. */
#include "datasets/generate/regular_strings.h"

#include "tests/test.h"

enum { SHORT = 12 };

/* ---- the definitions, without automata ---- */

static int64_t count_of(const uint8_t *s, int64_t length, int letter) {
    int64_t count = 0;
    for (int64_t t = 0; t < length; ++t)
        count += s[t] == letter;
    return count;
}

/* Whether brackets stay within 0 .. deepest; *depth is that of the end. */
static bool stays_within(const uint8_t *s, int64_t length, int64_t deepest, int64_t *depth) {
    *depth = 0;
    for (int64_t t = 0; t < length; ++t) {
        *depth += s[t] == 0 ? 1 : -1;
        if (*depth < 0 || *depth > deepest) return false;
    }
    return true;
}

/* Length of the run that ends with letter t. */
static int64_t run_until(const uint8_t *s, int64_t t) {
    int64_t length = 1;
    while (t >= length && s[t - length] == s[t])
        length += 1;
    return length;
}

/* Whether an odd run of 1s is followed by an odd run of 0s, the last run included. */
static bool has_odd_pair(const uint8_t *s, int64_t length) {
    for (int64_t t = 0; t < length; ++t) {
        const bool run_ends = t + 1 == length || s[t + 1] != s[t];
        if (!run_ends || s[t] != 0) continue;
        const int64_t zeros = run_until(s, t), before = t - zeros;
        if (zeros % 2 != 0 && before >= 0 && run_until(s, before) % 2 != 0) return true;
    }
    return false;
}

/* Whether a 1 is followed by a 0 at most `most` times. */
static bool falls_at_most(const uint8_t *s, int64_t length, int64_t most) {
    int64_t falls = 0;
    for (int64_t t = 1; t < length; ++t)
        falls += s[t] < s[t - 1];
    return falls <= most;
}

static bool has_three_zeros(const uint8_t *s, int64_t length) {
    for (int64_t t = 2; t < length; ++t)
        if (s[t] + s[t - 1] + s[t - 2] == 0) return true;
    return false;
}

/* Whether letters change at every place, from `first` on. */
static bool alternates(const uint8_t *s, int64_t length, int first) {
    for (int64_t t = 0; t < length; ++t)
        if (s[t] != (first + t) % 2) return false;
    return true;
}

/* The n of D_n, by its name. */
static int64_t depth_of(lh_regular_language language) {
    const char *name = lh_regular_language_names[language];
    return name[0] == 'd' ? (int)strtol(name + 1, NULL, 10) : 0;
}

static bool is_member(lh_regular_language language, const uint8_t *s, int64_t length) {
    const int64_t zeros = count_of(s, length, 0), ones = length - zeros;
    int64_t depth = 0;
    switch (language) {
    case LH_PARITY:
        return ones % 2 == 0;
    case LH_TOMITA1:
        return zeros == 0;
    case LH_TOMITA2:
        return length % 2 == 0 && alternates(s, length, 1);
    case LH_TOMITA3:
        return !has_odd_pair(s, length);
    case LH_TOMITA4:
        return !has_three_zeros(s, length);
    case LH_TOMITA5:
        return zeros % 2 == 0 && ones % 2 == 0;
    case LH_TOMITA6:
        return llabs(zeros - ones) % 3 == 0;
    case LH_TOMITA7:
        return falls_at_most(s, length, 1);
    case LH_AA:
        return ones == 0 && length % 2 == 0;
    case LH_AAAA:
        return ones == 0 && length % 4 == 0;
    case LH_ABAB:
        return length % 4 == 0 && alternates(s, length, 0);
    default:
        return stays_within(s, length, depth_of(language), &depth) && depth == 0;
    }
}

/* What is told of a prefix for output v. */
static bool expected_label(lh_regular_language language, const uint8_t *s, int64_t length, int v) {
    uint8_t longer[SHORT + 1];
    int64_t depth = 0;
    memcpy(longer, s, (size_t)length);
    longer[length] = (uint8_t)v;
    if (depth_of(language) > 0) return stays_within(longer, length + 1, depth_of(language), &depth);
    switch (language) {
    case LH_TOMITA2:
        return alternates(longer, length + 1, 1);
    case LH_TOMITA1:
    case LH_TOMITA3:
    case LH_TOMITA4:
    case LH_TOMITA7:
        return is_member(language, longer, length + 1);
    default:
        return is_member(language, s, length) == (v == 1);
    }
}

/* ---- all short strings ---- */

static void string_of_bits(uint32_t bits, uint8_t *s) {
    for (int t = 0; t < SHORT; ++t)
        s[t] = (uint8_t)(bits >> t & 1);
}

TEST(members_are_those_of_the_definition) {
    uint8_t s[SHORT];
    for (int l = 0; l < LH_REGULAR_LANGUAGES; ++l) {
        for (uint32_t bits = 0; bits < 1u << SHORT; ++bits) {
            string_of_bits(bits, s);
            const int64_t length = bits % (SHORT + 1);
            if (lh_regular_language_has((lh_regular_language)l, s, length) !=
                is_member((lh_regular_language)l, s, length)) {
                test_check(false, __FILE__, __LINE__, "%s: bits %x, %lld letters",
                           lh_regular_language_names[l], bits, (long long)length);
                return;
            }
        }
        CHECK(lh_regular_language_has((lh_regular_language)l, s, 0));
    }
}

/* Labels are asked for along members only; of Tomita 3 that includes what is lost for a while. */
static bool labels_agree(lh_regular_language language, const uint8_t *s) {
    real label[SHORT * LH_LETTERS];
    lh_regular_language_label(language, s, SHORT, label);
    for (int64_t t = 0; t < SHORT; ++t)
        for (int v = 0; v < LH_LETTERS; ++v)
            if ((double)label[LH_LETTERS * t + v] != expected_label(language, s, t + 1, v))
                return test_check(false, __FILE__, __LINE__, "%s: letter %lld, output %d",
                                  lh_regular_language_names[language], (long long)t, v);
    return true;
}

TEST(labels_are_those_of_the_definition) {
    uint8_t s[SHORT];
    for (int l = 0; l < LH_REGULAR_LANGUAGES; ++l) {
        int64_t members = 0;
        for (uint32_t bits = 0; bits < 1u << SHORT; ++bits) {
            string_of_bits(bits, s);
            if (!is_member((lh_regular_language)l, s, SHORT)) continue;
            if (!labels_agree((lh_regular_language)l, s)) return;
            members += 1;
        }
        CHECK(members > 0);
    }
}

/* 1 0 is lost although 1 0 0 is a member: the released labels have it so. */
TEST(tomita_3_gives_up_an_odd_pair_too_early) {
    static const uint8_t s[] = {1, 0, 0};
    real label[3 * LH_LETTERS];
    lh_regular_language_label(LH_TOMITA3, s, 3, label);
    CHECK(lh_regular_language_has(LH_TOMITA3, s, 3));
    CHECK(!lh_regular_language_has(LH_TOMITA3, s, 2));
    CHECK_NEAR(label[0], 0, 0); /* after 1: no 0, although one follows */
    CHECK_NEAR(label[1], 1, 0);
    CHECK_NEAR(label[2], 1, 0); /* after 1 0 */
    CHECK_NEAR(label[3], 0, 0);
}

/* ---- drawn strings ---- */

static lh_random_key key_of(uint64_t seed) {
    return (lh_random_key){.seed = seed, .stream = LH_STREAM_DATA};
}

static bool is_in(const lh_strings *list, int64_t before, int64_t index) {
    for (int64_t i = 0; i < before; ++i)
        if (list->length[i] == list->length[index] &&
            memcmp(lh_strings_at(list, i), lh_strings_at(list, index),
                   (size_t)list->length[index]) == 0)
            return true;
    return false;
}

/* Whether all strings of a length are one. */
static bool is_word(lh_regular_language language) {
    return language == LH_TOMITA1 || language == LH_TOMITA2 || language >= LH_AA;
}

/* Draws 600 strings; all must be members of the right length, and `distinct` true. */
static void check_draw(lh_regular_language language, int64_t shortest, int64_t longest) {
    lh_strings list;
    int64_t distinct = 0;
    REQUIRE_OK(lh_strings_draw(language, shortest, longest, 600, key_of(3), &list));
    CHECK_EQ_INT(list.count, 600);
    for (int64_t i = 0; i < list.count; ++i) {
        const int64_t length = list.length[i];
        distinct += !is_in(&list, i, i);
        if (length < shortest || length > longest ||
            !is_member(language, lh_strings_at(&list, i), length)) {
            test_check(false, __FILE__, __LINE__, "%s: string %lld of %lld letters",
                       lh_regular_language_names[language], (long long)i, (long long)length);
            break;
        }
    }
    CHECK_EQ_INT(distinct, list.distinct);
    const bool scarce = language == LH_PARITY || depth_of(language) > 0 || is_word(language);
    test_check(scarce ? distinct > 10 : distinct == 600, __FILE__, __LINE__,
               "%s: %lld distinct strings", lh_regular_language_names[language],
               (long long)distinct);
    lh_strings_clear(&list);
}

TEST(drawn_strings_are_members_of_the_right_length) {
    for (int l = 0; l < LH_REGULAR_LANGUAGES; ++l) {
        const bool brackets = depth_of((lh_regular_language)l) > 0;
        check_draw((lh_regular_language)l, 2, brackets ? 100 : 50);
        check_draw((lh_regular_language)l, brackets ? 101 : 51, brackets ? 200 : 100);
    }
}

TEST(bracket_languages_know_their_depth) {
    for (int l = 0; l < LH_REGULAR_LANGUAGES; ++l)
        CHECK_EQ_INT(lh_regular_language_depth((lh_regular_language)l),
                     depth_of((lh_regular_language)l));
}

/* Each n from 1 to 12 and every grammar of Tomita's has one name. */
TEST(all_of_a_family_are_there) {
    int64_t depths = 0, grammars = 0;
    for (int l = 0; l < LH_REGULAR_LANGUAGES; ++l) {
        const char *name = lh_regular_language_names[l];
        depths |= (int64_t)1 << depth_of((lh_regular_language)l);
        if (strncmp(name, "tomita", 6) == 0) grammars |= (int64_t)1 << strtol(name + 6, NULL, 10);
    }
    CHECK_EQ_INT(depths, (1 << 13) - 1); /* depth 0: the other languages */
    CHECK_EQ_INT(grammars, 0xfe);
}

TEST(the_same_key_draws_the_same_strings) {
    lh_strings a, b, c;
    REQUIRE_OK(lh_strings_draw(LH_TOMITA6, 2, 20, 100, key_of(1), &a));
    REQUIRE_OK(lh_strings_draw(LH_TOMITA6, 2, 20, 100, key_of(1), &b));
    REQUIRE_OK(lh_strings_draw(LH_TOMITA6, 2, 20, 100, key_of(2), &c));
    CHECK(memcmp(a.letter, b.letter, 100 * 20) == 0);
    CHECK(memcmp(a.letter, c.letter, 100 * 20) != 0);
    lh_strings_clear(&a);
    lh_strings_clear(&b);
    lh_strings_clear(&c);
}

static double mean_length(lh_regular_language language, int64_t shortest, int64_t longest) {
    lh_strings list;
    double sum = 0;
    if (!CHECK_OK(lh_strings_draw(language, shortest, longest, 4000, key_of(5), &list))) return 0;
    for (int64_t i = 0; i < list.count; ++i)
        sum += (double)list.length[i];
    lh_strings_clear(&list);
    return sum / 4000;
}

/* Parity of 51 to 100: a string stops with probability 1/76 after each letter, so (75/76)^49 =
 * 0.522 of those that reach 51 letters have 100, the others 72.4 on average. Half of the others get
 * one letter more, half of those of 100 are refused: (0.478 * 72.9 + 0.261 * 100) / 0.739 = 82.5.
 * Tomita 3 draws lengths uniformly. */
TEST(lengths_follow_the_released_rules) {
    CHECK_NEAR(mean_length(LH_PARITY, 51, 100), 82.5, 0.7);
    CHECK_NEAR(mean_length(LH_TOMITA3, 51, 100), 75.5, 0.7);
}

TEST(few_strings_come_again_and_no_string_is_an_error) {
    lh_strings list;
    REQUIRE_OK(lh_strings_draw(LH_TOMITA5, 1, 4, 50, key_of(1), &list));
    CHECK_EQ_INT(list.count, 50);
    CHECK_EQ_INT(list.distinct, 2 + 8); /* 00, 11; eight of four letters */
    lh_strings_clear(&list);
    CHECK_FAILS(lh_strings_draw(LH_TOMITA5, 3, 3, 1, key_of(1), &list), LH_EOPTION,
                "tomita5: found no string of 3 to 3 letters");
    lh_strings_clear(&list);
}
