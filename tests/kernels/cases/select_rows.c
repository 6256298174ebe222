/* One of two rows by a flag per batch row, forward and backward. */
#include "tests/kernels/conformance.h"

static void forward(suite *s, suite_box box) {
    lh_select_rows_forward_args args = {.batch = box.rows, .width = box.width};
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64, box.rows, box.width);
    case_in_i32(s, "flag", &args.flag, box.rows, 2);
    case_in(s, "a", &args.a, box.width);
    case_in(s, "x", &args.x, box.rows * box.width);
    case_out(s, "y", &args.y, box.rows * box.width, LH_SET);
    case_exact(s);
    case_run(s);
}

void cases_select_rows_forward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        forward(s, suite_boxes[i]);
    forward(s, (suite_box){8, 20011});
    CASE_REFUSED(s, LH_ESHAPE, lh_select_rows_forward_args, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_select_rows_forward_args, .width = -1);
}

void bench_select_rows_forward(suite *s) {
    forward(s, (suite_box){16, 256 * 256});
}

/* The inputs of the forward kernel are no inputs of the backward one: it is linear. */
static void backward(suite *s, suite_box box, int row) {
    lh_select_rows_backward_args args = {.batch = box.rows,
                                         .width = box.width,
                                         .da_write = write_of(suite_flag(row, 2)),
                                         .dx_write = write_of(suite_flag(row, 3))};
    const bool with_da = !suite_flag(row, 0), with_dx = !suite_flag(row, 1);
    case_open(s, &args, sizeof args, "%" PRId64 " x %" PRId64 ", da %d, dx %d, writes %d %d",
              box.rows, box.width, with_da, with_dx, args.da_write, args.dx_write);
    case_in_i32(s, "flag", &args.flag, box.rows, 2);
    case_in(s, "dy", &args.dy, box.rows * box.width);
    if (with_da) case_out(s, "da", &args.da, box.width, args.da_write);
    if (with_dx) case_out(s, "dx", &args.dx, box.rows * box.width, args.dx_write);
    case_run(s);
}

void cases_select_rows_backward(suite *s) {
    for (int i = 0; i < suite_box_count; i++)
        for (int row = i % 2; row < SUITE_FLAG_ROWS; row += 2)
            backward(s, suite_boxes[i], row);
    backward(s, (suite_box){8, 20011}, 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_select_rows_backward_args, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_select_rows_backward_args, .width = -1);
}

void bench_select_rows_backward(suite *s) {
    backward(s, (suite_box){16, 256 * 256}, 0);
}

enum { BATCH = 6, WIDTH = 7 };

static double backward_loss(suite *s, const void *arguments) {
    const lh_select_rows_forward_args *args = arguments;
    launch_select_rows_forward(s, args);
    return dot(args->y, args->y, BATCH * WIDTH) / 2;
}

void gradients_select_rows_backward(suite *s) {
    real a[WIDTH], x[BATCH * WIDTH], y[BATCH * WIDTH], da[WIDTH], dx[BATCH * WIDTH];
    const int32_t flag[BATCH] = {0, 1, 0, 1, 1, 0};
    const lh_select_rows_forward_args args = {BATCH, WIDTH, flag, a, x, y};
    lh_select_rows_forward_args opened = args;
    case_open(s, &opened, sizeof opened, "%d x %d", BATCH, WIDTH);
    for (int i = 0; i < WIDTH; i++)
        a[i] = (real)suite_normal(s);
    for (int i = 0; i < BATCH * WIDTH; i++)
        x[i] = (real)suite_normal(s);
    launch_select_rows_forward(s, &args);
    launch_select_rows_backward(
        s, &(lh_select_rows_backward_args){
               .batch = BATCH, .width = WIDTH, .flag = flag, .dy = y, .da = da, .dx = dx});
    const gradient_pair pairs[] = {{"a", a, da, WIDTH}, {"x", x, dx, BATCH * WIDTH}};
    gradient_check(s, pairs, 2, backward_loss, &args);
    s->ordinal++;
}
