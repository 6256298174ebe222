/* The order of tokens by bucket and the tables over it, for buckets up to more than 16 bits count.
 */
#include "tests/kernels/conformance.h"

static void sort(suite *s, int64_t rows, int64_t length, int64_t buckets, int64_t chunk) {
    lh_lsh_sort_args args = {.rows = rows, .length = length, .buckets = buckets, .chunk = chunk};
    case_open(s, &args, sizeof args,
              "rows %" PRId64 ", length %" PRId64 ", buckets %" PRId64 ", chunk %" PRId64, rows,
              length, buckets, chunk);
    case_in_i32(s, "bucket", &args.bucket, rows * length, buckets);
    case_out_i32(s, "order", &args.order, rows * length);
    case_out_i32(s, "slot", &args.slot, rows * length);
    case_out_i32(s, "first", &args.first, rows * length);
    case_run(s);
}

void cases_lsh_sort(suite *s) {
    for (int i = 0; i < suite_size_count; i++) {
        sort(s, 2, suite_sizes[i], 1, 8);
        sort(s, 3, suite_sizes[i], 17, 5);
        sort(s, 1, suite_sizes[i], 300, 16);
    }
    sort(s, 0, 7, 4, 2);
    sort(s, 2, 70, 4, 100);
    sort(s, 1, 300, 70000, 4); /* more buckets than sixteen bits count */
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_sort_args, .rows = -1, .buckets = 1, .chunk = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_sort_args, .length = -1, .buckets = 1, .chunk = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_sort_args, .buckets = 0, .chunk = 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_lsh_sort_args, .buckets = 1, .chunk = 0);
}

void bench_lsh_sort(suite *s) {
    sort(s, 4, 16384, 512, 64);
}
