/* The causal convolution of each channel: kernels longer than the sequence, widths round a panel.
 */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t batch, length, width, kernel;
} shape;

static const shape shapes[] = {{0, 5, 3, 4}, {2, 0, 3, 4},   {1, 1, 1, 1},   {2, 5, 3, 4},
                               {3, 2, 7, 5}, {1, 33, 65, 4}, {2, 31, 64, 2}, {1, 200, 129, 3},
                               {2, 9, 5, 8}, {1, 7, 66, 17}};

static void forward(suite *s, shape w, bool bias) {
    lh_short_convolution_forward_args args = {
        .batch = w.batch, .length = w.length, .width = w.width, .kernel = w.kernel};
    const int64_t count = w.batch * w.length * w.width;
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 " x %" PRId64 ", kernel %" PRId64 ", bias %d", w.batch,
              w.length, w.width, w.kernel, bias);
    case_in(s, "x", &args.x, count);
    case_in(s, "before", &args.before, w.batch * (w.kernel - 1) * w.width);
    case_in(s, "weight", &args.weight, w.width * w.kernel);
    if (bias) case_in(s, "bias", &args.bias, w.width);
    case_out(s, "y", &args.y, count, LH_SET);
    case_flops(s, 2.0 * (double)(count * w.kernel));
    case_run(s);
}

void cases_short_convolution_forward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int bias = 0; bias < 2; bias++)
            forward(s, shapes[i], bias == 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_forward_args, .kernel = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_forward_args, .kernel = 1, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_forward_args, .kernel = 1, .length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_forward_args, .kernel = 1, .width = -1);
}

void bench_short_convolution_forward(suite *s) {
    forward(s, (shape){4, 1024, 768, 4}, true);
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_short_convolution_backward_args *args = arguments;
    const int64_t count = args->batch * args->length * args->width;
    real *y = scratch(count);
    lh_short_convolution_forward_args forward_args = {.batch = args->batch,
                                                      .length = args->length,
                                                      .width = args->width,
                                                      .kernel = args->kernel,
                                                      .x = args->x,
                                                      .before = args->before,
                                                      .weight = args->weight,
                                                      .y = y};
    launch_short_convolution_forward(s, &forward_args);
    const double loss = dot(y, args->dy, count);
    free(y);
    return loss;
}

static void backward(suite *s, shape w, int row) {
    lh_short_convolution_backward_args args = {.batch = w.batch,
                                               .length = w.length,
                                               .width = w.width,
                                               .kernel = w.kernel,
                                               .dx_write = write_of(suite_flag(row, 0)),
                                               .dweight_write = write_of(suite_flag(row, 1)),
                                               .dbias_write = write_of(suite_flag(row, 2))};
    const int64_t count = w.batch * w.length * w.width;
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 " x %" PRId64 ", kernel %" PRId64 ", flags %d", w.batch,
              w.length, w.width, w.kernel, row);
    case_in(s, "x", &args.x, count);
    case_in(s, "before", &args.before, w.batch * (w.kernel - 1) * w.width);
    case_in(s, "weight", &args.weight, w.width * w.kernel);
    case_in(s, "dy", &args.dy, count);
    if (!suite_flag(row, 3)) case_out(s, "dx", &args.dx, count, args.dx_write);
    if (!suite_flag(row, 4))
        case_out(s, "dweight", &args.dweight, w.width * w.kernel, args.dweight_write);
    if (!suite_flag(row, 5)) case_out(s, "dbias", &args.dbias, w.width, args.dbias_write);
    case_loss(s, backward_loss);
    case_pair(s, &args.x, &args.dx);
    case_pair(s, &args.weight, &args.dweight);
    case_run(s);
}

void cases_short_convolution_backward(suite *s) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int row = 0; row < SUITE_FLAG_ROWS; row++)
            backward(s, shapes[i], row);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_backward_args, .kernel = 0);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_backward_args, .kernel = 1, .batch = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_backward_args, .kernel = 1, .length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_short_convolution_backward_args, .kernel = 1, .width = -1);
}

void bench_short_convolution_backward(suite *s) {
    backward(s, (shape){4, 1024, 768, 4}, 0);
}

void gradients_short_convolution_backward(suite *s) {
    for (int row = 0; row < SUITE_FLAG_ROWS; row++)
        backward(s, (shape){2, 5, 3, 4}, row);
}
