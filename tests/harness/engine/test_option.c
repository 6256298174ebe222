/* Values as text: what is a number or a list, to the ends of their ranges, and that spelling gives
 * back the value. */
#include "harness/engine/option.h"

#include "tests/test.h"

TEST(reals_are_finite_numbers_and_nothing_else) {
    static const char *const refused[] = {"", "x", "1x", "1 ", "nan", "inf", "-inf", "1e999"};
    double number = 0;
    CHECK(lh_text_real("-2.5e3", &number) && number == -2500);
    CHECK(lh_text_real("0x10", &number) && number == 16);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        CHECK(!lh_text_real(refused[i], &number));
}

TEST(integers_are_exact_to_the_ends_of_their_range) {
    static const char *const refused[] = {
        "9223372036854775808", "-9223372036854775809", "1.5", "1e19", "", "7x", "nan"};
    int64_t number = 0;
    CHECK(lh_text_integer("9223372036854775807", &number) && number == INT64_MAX);
    CHECK(lh_text_integer("-9223372036854775808", &number) && number == INT64_MIN);
    CHECK(lh_text_integer("500e3", &number) && number == 500000);
    CHECK(lh_text_integer("-0", &number) && number == 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        CHECK(!lh_text_integer(refused[i], &number));
}

TEST(a_real_is_an_integer_where_no_bit_is_lost) {
    int64_t number = 0;
    CHECK(lh_real_integer(-3, &number) && number == -3);
    CHECK(lh_real_integer(-9223372036854775808.0, &number) && number == INT64_MIN);
    CHECK(!lh_real_integer(9223372036854775808.0, &number));
    CHECK(!lh_real_integer(0.5, &number));
    CHECK(!lh_real_integer((double)NAN, &number) && !lh_real_integer((double)INFINITY, &number));
}

TEST(lists_are_integers_between_commas) {
    static const char *const refused[] = {
        ",", "1,", ",1", "1,,2", "1, 2", "1;2", "a", "1.5", "9223372036854775808"};
    int64_t value[3] = {0, 0, 0};
    CHECK_EQ_INT(lh_text_list("", NULL), 0);
    CHECK_EQ_INT(lh_text_list("7", value), 1);
    CHECK_EQ_INT(value[0], 7);
    CHECK_EQ_INT(lh_text_list("-1,0,9223372036854775807", NULL), 3);
    CHECK_EQ_INT(lh_text_list("-1,0,9223372036854775807", value), 3);
    CHECK(value[0] == -1 && value[1] == 0 && value[2] == INT64_MAX);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        CHECK_EQ_INT(lh_text_list(refused[i], NULL), -1);
}

TEST(a_real_is_spelled_as_short_as_gives_it_back) {
    char text[LH_REAL_BYTES];
    lh_real_spell(0.1, text);
    CHECK_STR(text, "0.1");
    lh_real_spell(500000, text);
    CHECK_STR(text, "500000");
    lh_real_spell(-0.25, text);
    CHECK_STR(text, "-0.25");
    lh_real_spell(-0.0, text); /* equal values have equal texts, and are one run */
    CHECK_STR(text, "0");
    for (int i = 0; i < 10000; ++i) {
        const double number =
            ldexp((double)test_integer(1000000007) - 5e8, (int)test_integer(120) - 60);
        lh_real_spell(number, text);
        if (strtod(text, NULL) != number) CHECK_NEAR(strtod(text, NULL), number, 0);
    }
}
