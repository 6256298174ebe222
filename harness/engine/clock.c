/* The system's monotonic clock, as seconds. */
#include "harness/engine/clock.h"

#include <time.h>

double lh_clock_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
