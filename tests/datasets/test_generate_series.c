/* Time series of the generator: a day comes back, and every third channel follows the one before.
 */
#include "datasets/generate/generate_series.h"

#include "tests/test.h"

enum { DAY = 24, ROWS = 200 * DAY, CHANNELS = 6 };

static double values[ROWS * CHANNELS];

static void generate(uint64_t seed) {
    const lh_generated_series shape = {ROWS, CHANNELS, 3600};
    lh_generate_series(seed, &shape, values);
}

/* What a day has changed, which leaves little of the seasons. */
static double change(int64_t row, int channel) {
    return values[row * CHANNELS + channel] - values[(row - DAY) * CHANNELS + channel];
}

/* Correlation of a channel's changes with those of another, `lag` rows earlier. */
static double correlation(int channel, int other, int64_t lag) {
    double both = 0, own = 0, others = 0;
    for (int64_t row = 3 * DAY; row < ROWS; ++row) {
        const double a = change(row, channel), b = change(row - lag, other);
        both += a * b;
        own += a * a;
        others += b * b;
    }
    return both / sqrt(own * others);
}

TEST(the_same_seed_gives_the_same_series) {
    static double first[ROWS * CHANNELS];
    generate(3);
    memcpy(first, values, sizeof first);
    generate(3);
    CHECK(memcmp(first, values, sizeof first) == 0);
    generate(4);
    CHECK(memcmp(first, values, sizeof first) != 0);
}

TEST(every_third_channel_follows_the_one_before_it_a_day_later) {
    double following = 0, at_once = 0, others = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        generate(seed);
        following += (correlation(2, 1, DAY) + correlation(5, 4, DAY)) / 20;
        at_once += (correlation(2, 1, 0) + correlation(5, 4, 0)) / 20;
        others += (correlation(1, 0, DAY) + correlation(4, 3, DAY)) / 20;
    }
    CHECK(following > 0.6);
    CHECK(fabs(others) < 0.3);
    CHECK(following > at_once + 0.3);
}

TEST(more_rows_only_add_to_a_series) {
    const lh_generated_series half = {ROWS / 2, CHANNELS, 3600};
    static double shorter[ROWS / 2 * CHANNELS];
    generate(5);
    lh_generate_series(5, &half, shorter);
    CHECK(memcmp(shorter, values, sizeof shorter) == 0);
}
