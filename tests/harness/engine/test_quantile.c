/* Median and quartiles, against values worked out by hand. */
#include "harness/engine/quantile.h"

#include "tests/test.h"

TEST(quartiles_are_interpolated) {
    double four[] = {10, 1, 3, 2}, five[] = {50, 10, 40, 20, 30}, one[] = {7};
    const lh_quartiles of_four = lh_quartiles_of(four, 4), of_five = lh_quartiles_of(five, 5),
                       of_one = lh_quartiles_of(one, 1);
    CHECK_NEAR(of_four.q1, 1.75, 1e-12);
    CHECK_NEAR(of_four.median, 2.5, 1e-12);
    CHECK_NEAR(of_four.q3, 4.75, 1e-12);
    CHECK_NEAR(of_five.q1, 20, 0);
    CHECK_NEAR(of_five.median, 30, 0);
    CHECK_NEAR(of_five.q3, 40, 0);
    CHECK_NEAR(of_one.q1 + of_one.median + of_one.q3, 21, 0);
}

TEST(quartiles_sort_what_they_are_of) {
    double values[] = {9, -1, 4, 4, 0.5};
    (void)lh_quartiles_of(values, 5);
    for (int i = 1; i < 5; ++i)
        CHECK(values[i - 1] <= values[i]);
}

TEST(quartiles_of_two_lie_between_them) {
    double two[] = {10, 20};
    const lh_quartiles of_two = lh_quartiles_of(two, 2);
    CHECK_NEAR(of_two.q1, 12.5, 1e-12);
    CHECK_NEAR(of_two.median, 15, 1e-12);
    CHECK_NEAR(of_two.q3, 17.5, 1e-12);
}
