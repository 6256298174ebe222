/* Normal random numbers, and those that begin in the middle of a stream. */
#include "tests/kernels/conformance.h"

static const lh_random_key key = {
    .seed = UINT64_C(0xfedcba9876543210), .step = 5, .stream = LH_STREAM_DROPOUT, .op = 9};

static void normal(suite *s, int64_t count, int64_t first) {
    lh_normal_args args = {.count = count, .first = first};
    case_open(s, &args, sizeof args, "count %" PRId64 ", first %" PRId64, count, first);
    case_in_bytes(s, "key", &args.key, &key, sizeof key);
    case_out(s, "x", &args.x, count, LH_SET);
    case_run(s);
}

void cases_normal(suite *s) {
    for (int i = 0; i < suite_size_count; i++)
        normal(s, suite_sizes[i], 0);
    normal(s, 5003, 0);
    normal(s, 5003, 1001);
    CASE_REFUSED(s, LH_ESHAPE, lh_normal_args, .count = -1);
}

void bench_normal(suite *s) {
    normal(s, 64 * 1024, 0);
}
