/* Rows of a table by index and rows added into one, with indices that no table has. */
#include "tests/kernels/conformance.h"

static const int64_t table_sizes[] = {1, 2, 7, 50, 300};

static void gather(suite *s, suite_box box, int64_t entries) {
    lh_gather_args args = {.rows = box.rows, .width = box.width, .entries = entries};
    case_open(s, &args, sizeof args, "%" PRId64 " rows of %" PRId64 ", %" PRId64 " entries",
              box.rows, box.width, entries);
    case_in(s, "table", &args.table, entries * box.width);
    case_in_i32(s, "index", &args.index, box.rows, entries);
    case_out(s, "y", &args.y, box.rows * box.width, LH_SET);
    if (s->dtype == LH_REAL) case_exact(s);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

static void gather_invalid(suite *s, int32_t wrong) {
    lh_gather_args args = {.rows = 9, .width = 5, .entries = 11};
    case_open(s, &args, sizeof args, "index %d of 11 entries", (int)wrong);
    case_in(s, "table", &args.table, args.entries * args.width);
    case_in_i32(s, "index", &args.index, args.rows, args.entries)[4] = wrong;
    case_out(s, "y", &args.y, args.rows * args.width, LH_SET);
    case_expect(s, LH_EOPTION, true);
    if (s->dtype == LH_REAL) case_exact(s);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

void cases_gather(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        gather(s, suite_boxes[i], table_sizes[i % 5]);
    gather(s, (suite_box){2003, 64}, 257);
    gather_invalid(s, -1);
    gather_invalid(s, 11);
    gather_invalid(s, INT32_MAX);
    gather_invalid(s, INT32_MIN);
    CASE_REFUSED(s, LH_ESHAPE, lh_gather_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_gather_args, .width = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_gather_args, .entries = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_gather_args, .y = {.dtype = LH_I32});
}

void bench_gather(suite *s) {
    gather(s, (suite_box){4096, 256}, 8192);
}

static void scatter(suite *s, suite_box box, int64_t entries, lh_write write) {
    lh_scatter_add_args args = {
        .rows = box.rows, .width = box.width, .entries = entries, .write = write};
    case_open(s, &args, sizeof args,
              "%" PRId64 " rows of %" PRId64 ", %" PRId64 " entries, write %d", box.rows, box.width,
              entries, write);
    case_in(s, "x", &args.x, box.rows * box.width);
    case_in_i32(s, "index", &args.index, box.rows, entries);
    case_out(s, "y", &args.y, entries * box.width, write);
    case_dtype(s, &args.x, s->dtype);
    case_run(s);
}

void cases_scatter_add(suite *s) {
    for (int i = 0; i < suite_box_count; i++) {
        scatter(s, suite_boxes[i], table_sizes[i % 5], LH_SET);
        scatter(s, suite_boxes[i], table_sizes[(i + 2) % 5], LH_ADD);
    }
    scatter(s, (suite_box){2003, 64}, 257, LH_SET);
    scatter(s, (suite_box){2003, 64}, 3, LH_ADD);
    /* The most entries that the GPU sorts in three passes, and four, as up to 65,535. */
    scatter(s, (suite_box){300, 1}, 4095, LH_SET);
    scatter(s, (suite_box){300, 1}, 4096, LH_ADD);
    CASE_REFUSED(s, LH_ESHAPE, lh_scatter_add_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_scatter_add_args, .width = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_scatter_add_args, .entries = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_scatter_add_args, .x = {.dtype = LH_I32});
}

void bench_scatter_add(suite *s) {
    scatter(s, (suite_box){4096, 256}, 8192, LH_ADD);
}

typedef struct gather_loss {
    lh_gather_args args;
    const real *cotangent;
} gather_loss;

static double loss_of(suite *s, const void *arguments) {
    const gather_loss *loss = arguments;
    launch_gather(s, &loss->args);
    return dot(loss->args.y.data, loss->cotangent, loss->args.rows * loss->args.width);
}

void gradients_gather(suite *s) {
    enum { ROWS = 13, WIDTH = 5, ENTRIES = 7 };
    real table[ENTRIES * WIDTH], y[ROWS * WIDTH], dy[ROWS * WIDTH], dtable[ENTRIES * WIDTH];
    int32_t index[ROWS];
    gather_loss loss = {{ROWS, WIDTH, ENTRIES, table, index, act_of(y)}, dy};
    gather_loss opened = loss;
    case_open(s, &opened, sizeof opened, "%d rows of %d, %d entries", ROWS, WIDTH, ENTRIES);
    for (int i = 0; i < ENTRIES * WIDTH; i++)
        table[i] = (real)suite_normal(s);
    for (int i = 0; i < ROWS * WIDTH; i++)
        dy[i] = (real)suite_normal(s);
    for (int i = 0; i < ROWS; i++)
        index[i] = (int32_t)suite_integer(s, ENTRIES);
    launch_scatter_add(
        s, &(lh_scatter_add_args){ROWS, WIDTH, ENTRIES, act_of(dy), index, dtable, LH_SET});
    const gradient_pair pair = {"table", table, dtable, ENTRIES * WIDTH};
    gradient_check(s, &pair, 1, loss_of, &loss);
    s->ordinal++;
}
