/* The clock goes forward, at the speed of time. */
#include "harness/engine/clock.h"

#include <time.h>

#include "tests/test.h"

TEST(the_clock_counts_seconds) {
    const struct timespec pause = {.tv_nsec = 20000000};
    const double begin = lh_clock_seconds();
    (void)nanosleep(&pause, NULL);
    const double taken = lh_clock_seconds() - begin;
    CHECK(taken >= 0.02);
    CHECK(taken < 20);
}

TEST(the_clock_never_goes_back) {
    double last = lh_clock_seconds();
    int steps_back = 0;
    for (int i = 0; i < 10000; ++i) {
        const double now = lh_clock_seconds();
        steps_back += now < last;
        last = now;
    }
    CHECK_EQ_INT(steps_back, 0);
}
