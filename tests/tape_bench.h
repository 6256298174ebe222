/* What tests of ops and models have around them: a device, its pool and a tape. */
#ifndef LH_TESTS_TAPE_BENCH_H
#define LH_TESTS_TAPE_BENCH_H

#include "harness/engine/tape.h"

#include "tests/test.h"

/* False after a failed check. */
TEST_UNUSED static bool bench_open_tape(const char *name, lh_device **device, lh_pool **pool,
                                        lh_tape **tape) {
    return CHECK_OK(lh_device_open(name, device)) && CHECK_OK(lh_pool_create(*device, pool)) &&
           CHECK_OK(lh_tape_create(*pool, tape));
}

/* After the tape and all that lives in the pool, whose memory must have come back. */
TEST_UNUSED static void bench_close_pool(lh_device *device, lh_pool *pool) {
    if (pool != NULL) CHECK_EQ_INT(lh_pool_get_stats(pool).used_bytes, 0);
    lh_pool_destroy(pool);
    lh_device_close(device);
}

#endif
