/* alpha a + beta b with the result apart from its operands or over either of them. */
#include "tests/kernels/conformance.h"

typedef enum place { APART, IN_A, IN_B } place;

static lh_dtype other_than(lh_dtype dtype) {
    return dtype == LH_BF16 ? LH_REAL : LH_BF16;
}

/* alpha a + beta b with b in the other type; in f32 alone there is none. */
static void widen(suite *s, int64_t count, lh_dtype dtype, lh_write write) {
    lh_linear_combination_args args = {
        .count = count, .alpha = LH_R(0.7), .beta = LH_R(-1.3), .write = write};
    case_open(s, &args, sizeof args,
              "count %" PRId64 ", a and y in type %d, b in the other, write %d", count, dtype,
              write);
    case_in(s, "a", &args.a, count);
    case_in(s, "b", &args.b, count);
    case_out(s, "y", &args.y, count, write);
    case_flops(s, 3.0 * (double)count);
    case_dtype(s, &args.a, dtype);
    case_dtype(s, &args.b, other_than(dtype));
    case_dtype(s, &args.y, dtype);
    case_run(s);
}

static void combine(suite *s, int64_t count, bool second, place where, lh_write write) {
    lh_linear_combination_args args = {
        .count = count, .alpha = LH_R(0.7), .beta = LH_R(-1.3), .write = write};
    case_open(s, &args, sizeof args, "count %" PRId64 ", b %d, y in %d, write %d", count, second,
              where, write);
    case_in(s, "a", &args.a, count);
    if (second) case_in(s, "b", &args.b, count);
    case_out(s, "y", &args.y, count, write);
    if (where == IN_A) case_in_place(s, &args.y, &args.a);
    if (where == IN_B) case_in_place(s, &args.y, &args.b);
    case_flops(s, 3.0 * (double)count);
    case_dtype(s, &args.a, s->dtype);
    case_dtype(s, &args.b, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

void cases_linear_combination(suite *s) {
    for (int i = 0; i < suite_size_count; i++) {
        const lh_write write = write_of(i % 2 == 1);
        combine(s, suite_sizes[i], true, APART, write);
        combine(s, suite_sizes[i], false, APART, write);
    }
    for (int flags = 0; flags < 12; flags++) {
        const place where = (place)(flags / 4);
        const bool second = flags % 2 == 1 || where == IN_B;
        combine(s, 129, second, where, write_of(flags / 2 % 2 == 1));
        combine(s, 100003, second, where, write_of(flags / 2 % 2 == 1));
    }
    for (int i = 0; i < suite_size_count && s->dtype == LH_BF16; i++) {
        widen(s, suite_sizes[i], LH_REAL, write_of(i % 2 == 1));
        widen(s, suite_sizes[i], LH_BF16, write_of(i % 2 == 1));
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_linear_combination_args, .count = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_linear_combination_args, .a = {.dtype = LH_BF16});
    CASE_REFUSED(s, LH_EOPTION, lh_linear_combination_args, .a = {.dtype = LH_I32},
                 .y = {.dtype = LH_I32});
    CASE_REFUSED(s, LH_EOPTION, lh_linear_combination_args, .b = {.dtype = LH_I32});
}

void bench_linear_combination(suite *s) {
    combine(s, 4096 * 256, true, APART, LH_SET);
}
