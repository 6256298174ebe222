/* The rate of matrix products, by a clock that the test turns. */
#include "harness/train/matrix_rate.h"

#include "harness/engine/clock.h"
#include "tests/test.h"

/* A product takes `before` seconds until `change` of them are done, then `after`; the clock is read
 * twice for each. */
static double now, before, after;
static int reads, change;

static double turn(void) {
    if (reads++ % 2 == 1) now += reads / 2 <= change ? before : after;
    return now;
}

static void set_clock(double first, int products, double then) {
    now = 0.0;
    reads = 0;
    before = first;
    change = products;
    after = then;
}

static lh_device *device;
static lh_pool *pool;

static bool open_pool(void) {
    return CHECK_OK(lh_pool_open_device("cpu", &device)) && CHECK_OK(lh_pool_create(device, &pool));
}

static void close_pool(void) {
    lh_pool_destroy(pool);
    lh_device_close(device);
}

TEST(the_best_product_counts) {
    double rate = 0.0;
    REQUIRE(open_pool());
    set_clock(3e-3, 7, 2e-3);
    REQUIRE_OK(lh_matrix_rate(pool, 48, turn, &rate));
    CHECK_NEAR(rate, 2.0 * 48 * 48 * 48 / 2e-3, 1e-2);
    CHECK_EQ_INT(reads, 2 * 15);
    set_clock(2e-3, 7, 3e-3);
    REQUIRE_OK(lh_matrix_rate(pool, 33, turn, &rate));
    CHECK_NEAR(rate, 2.0 * 33 * 33 * 33 / 2e-3, 1e-2);
    CHECK_EQ_INT(lh_pool_get_stats(pool).used_bytes, 0);
    close_pool();
}

TEST(slow_products_are_repeated_less) {
    double rate = 0.0;
    REQUIRE(open_pool());
    set_clock(0.15, 100, 0.15);
    REQUIRE_OK(lh_matrix_rate(pool, 16, turn, &rate));
    CHECK_NEAR(rate, 2.0 * 16 * 16 * 16 / 0.15, 1e-6);
    CHECK_EQ_INT(reads, 2 * 3);
    set_clock(0.03, 100, 0.03);
    REQUIRE_OK(lh_matrix_rate(pool, 16, turn, &rate));
    CHECK_EQ_INT(reads, 2 * 7);
    close_pool();
}

TEST(the_size_grows_until_a_product_takes_long_enough) {
    double rate = 0.0;
    REQUIRE(open_pool());
    set_clock(5e-3, 100, 5e-3);
    REQUIRE_OK(lh_matrix_rate(pool, 0, turn, &rate));
    CHECK_NEAR(rate, 2.0 * 512 * 512 * 512 / 5e-3, 1e3);
    set_clock(3e-3, 15, 5e-3);
    REQUIRE_OK(lh_matrix_rate(pool, 0, turn, &rate));
    CHECK_NEAR(rate, 2.0 * 1024 * 1024 * 1024 / 5e-3, 1e3);
    close_pool();
}

/* By its own clock: no processor is slower or faster than this. */
TEST(a_real_clock_gives_a_real_rate) {
    double rate = 0.0;
    REQUIRE(open_pool());
    REQUIRE_OK(lh_matrix_rate(pool, 256, lh_clock_seconds, &rate));
    CHECK(rate > 1e7 && rate < 1e14);
    close_pool();
}
