/* Functions of two operands with every way of spreading the second, in place and not. */
#include "tests/kernels/conformance.h"

static void binary(suite *s, lh_binary_op op, lh_spread spread, suite_box box, bool in_place,
                   lh_write write) {
    lh_binary_args args = {
        .op = op, .spread = spread, .rows = box.rows, .columns = box.width, .write = write};
    const int64_t count = box.rows * box.width;
    const int64_t b_count = spread == LH_SPREAD_NONE   ? count
                            : spread == LH_SPREAD_ROWS ? box.width
                                                       : box.rows;
    case_open(s, &args, sizeof args,
              "op %d, spread %d, %" PRId64 " x %" PRId64 ", in place %d, write %d", op, spread,
              box.rows, box.width, in_place, write);
    case_in(s, "a", &args.a, count);
    avoid_zero(case_in(s, "b", &args.b, b_count), b_count, 0.5);
    case_out(s, "y", &args.y, count, write);
    if (in_place) case_in_place(s, &args.y, &args.a);
    case_flops(s, (double)count);
    case_run(s);
}

void cases_binary(suite *s) {
    for (int op = LH_BINARY_ADD; op <= LH_BINARY_DIV; op++) {
        for (int spread = LH_SPREAD_NONE; spread <= LH_SPREAD_COLUMNS; spread++) {
            for (int i = 0; i < suite_box_count; i++)
                binary(s, (lh_binary_op)op, (lh_spread)spread, suite_boxes[i], i % 3 == 0,
                       write_of(i % 2 == 1));
            for (int flags = 0; flags < 4; flags++)
                binary(s, (lh_binary_op)op, (lh_spread)spread, (suite_box){67, 259}, flags % 2 == 1,
                       write_of(flags / 2 == 1));
        }
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_binary_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_binary_args, .columns = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_binary_args, .op = (lh_binary_op)4);
    CASE_REFUSED(s, LH_EOPTION, lh_binary_args, .spread = (lh_spread)3);
}

void bench_binary(suite *s) {
    const suite_box box = {4096, 256};
    binary(s, LH_BINARY_ADD, LH_SPREAD_NONE, box, false, LH_SET);
    binary(s, LH_BINARY_ADD, LH_SPREAD_ROWS, box, false, LH_SET);
}

/* da = dy / b and db = -dy a / b^2, made of the kernel itself; and the other three. */
static double binary_loss(suite *s, const void *arguments) {
    const lh_binary_args *args = arguments;
    launch_binary(s, args);
    return dot(args->y, args->y, args->rows * args->columns) / 2;
}

static real b_slope(lh_binary_op op, real a, real b) {
    switch (op) {
    case LH_BINARY_ADD:
        return 1;
    case LH_BINARY_SUB:
        return -1;
    case LH_BINARY_MUL:
        return a;
    case LH_BINARY_DIV:
        break;
    }
    return -a / (b * b);
}

static real a_slope(lh_binary_op op, real b) {
    return op == LH_BINARY_MUL ? b : op == LH_BINARY_DIV ? 1 / b : 1;
}

static void binary_gradient(suite *s, lh_binary_op op, lh_spread spread) {
    enum { ROWS = 3, COLUMNS = 5, COUNT = ROWS * COLUMNS };
    real a[COUNT], b[COUNT], y[COUNT], da[COUNT] = {0}, db[COUNT] = {0};
    const lh_binary_args args = {
        .op = op, .spread = spread, .rows = ROWS, .columns = COLUMNS, .a = a, .b = b, .y = y};
    lh_binary_args opened = args;
    case_open(s, &opened, sizeof opened, "op %d, spread %d", op, spread);
    for (int i = 0; i < COUNT; i++) {
        a[i] = (real)suite_normal(s);
        b[i] = (real)suite_normal(s);
    }
    avoid_zero(b, COUNT, 0.5);
    const int b_count = spread == LH_SPREAD_NONE   ? COUNT
                        : spread == LH_SPREAD_ROWS ? COLUMNS
                                                   : ROWS;
    launch_binary(s, &args);
    for (int i = 0; i < COUNT; i++) {
        const int j = spread == LH_SPREAD_NONE   ? i
                      : spread == LH_SPREAD_ROWS ? i % COLUMNS
                                                 : i / COLUMNS;
        da[i] += y[i] * a_slope(op, b[j]);
        db[j] += y[i] * b_slope(op, a[i], b[j]);
    }
    const gradient_pair pairs[] = {{"a", a, da, COUNT}, {"b", b, db, b_count}};
    gradient_check(s, pairs, 2, binary_loss, &args);
    s->ordinal++;
}

void gradients_binary(suite *s) {
    for (int op = LH_BINARY_ADD; op <= LH_BINARY_DIV; op++)
        for (int spread = LH_SPREAD_NONE; spread <= LH_SPREAD_COLUMNS; spread++)
            binary_gradient(s, (lh_binary_op)op, (lh_spread)spread);
}
