/* Dropout: rates at the ends, rows that share a mask, a process's rows among all. */
#include "tests/kernels/conformance.h"

static const lh_random_key key = {
    .seed = UINT64_C(0x123456789abcdef), .step = 77, .stream = LH_STREAM_DROPOUT, .op = 5};

typedef struct shape {
    int64_t outer, length, width, period;
} shape;

static void dropout(suite *s, shape w, double rate, bool in_place, lh_write write, int64_t first) {
    lh_dropout_args args = {.outer = w.outer,
                            .length = w.length,
                            .width = w.width,
                            .period = w.period,
                            .rate = rate,
                            .write = write,
                            .first = first};
    const int64_t count = w.outer * w.length * w.width;
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 " x %" PRId64 ", period %" PRId64
              ", rate %g, in place %d, write %d, first %" PRId64,
              w.outer, w.length, w.width, w.period, rate, in_place, write, first);
    case_in_bytes(s, "key", &args.key, &key, sizeof key);
    case_in(s, "x", &args.x, count);
    case_out(s, "y", &args.y, count, write);
    if (in_place) case_in_place(s, &args.y, &args.x);
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

void cases_dropout(suite *s) {
    static const shape shapes[] = {
        {0, 3, 4, 0},   {2, 0, 4, 0},     {2, 3, 0, 1},    {1, 1, 1, 0},
        {1, 2, 1, 1},   {2, 3, 2, 2},     {3, 7, 5, 3},    {2, 16, 8, 8},
        {3, 17, 9, 4},  {2, 33, 15, 11},  {1, 65, 16, 0},  {5, 31, 17, 31},
        {2, 64, 33, 0}, {4, 128, 64, 32}, {1, 1, 1021, 0}, {7, 129, 63, 64}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shape without = shapes[i];
        without.period = 0;
        dropout(s, shapes[i], 0.1, false, LH_SET, 0);
        dropout(s, shapes[i], 0.35, false, LH_ADD, 1001);
        dropout(s, without, 0.5, true, LH_SET, (int64_t)i);
        dropout(s, without, 0.0, false, write_of(i % 2 == 1), 0);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_dropout_args, .outer = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_dropout_args, .length = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_dropout_args, .width = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_dropout_args, .period = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_dropout_args, .rate = 1);
    CASE_REFUSED(s, LH_EOPTION, lh_dropout_args, .rate = -0.5);
    CASE_REFUSED(s, LH_EOPTION, lh_dropout_args, .rate = NAN);
    CASE_REFUSED(s, LH_EOPTION, lh_dropout_args, .y = {.dtype = LH_BF16});
}

void bench_dropout(suite *s) {
    dropout(s, (shape){16, 256, 256, 0}, 0.1, false, LH_SET, 0);
    dropout(s, (shape){16, 256, 256, 256}, 0.1, false, LH_SET, 0);
}

typedef struct dropout_loss {
    lh_dropout_args args;
    const real *cotangent;
} dropout_loss;

enum { OUTER = 2, LENGTH = 5, WIDTH = 4, COUNT = OUTER * LENGTH * WIDTH };

static double loss_of(suite *s, const void *arguments) {
    const dropout_loss *loss = arguments;
    launch_dropout(s, &loss->args);
    return dot(loss->args.y.data, loss->cotangent, COUNT);
}

void gradients_dropout(suite *s) {
    for (int64_t period = 0; period < 4; period += 3) {
        real x[COUNT], y[COUNT], dy[COUNT], dx[COUNT];
        const lh_dropout_args args = {.outer = OUTER,
                                      .length = LENGTH,
                                      .width = WIDTH,
                                      .period = period,
                                      .rate = 0.4,
                                      .key = &key,
                                      .x = act_of(x),
                                      .y = act_of(y),
                                      .first = 6};
        lh_dropout_args back = args;
        case_open(s, &back, sizeof back, "period %" PRId64, period);
        for (int i = 0; i < COUNT; i++) {
            x[i] = (real)suite_normal(s);
            dy[i] = (real)suite_normal(s);
        }
        back.x = act_of(dy);
        back.y = act_of(dx);
        launch_dropout(s, &back);
        const gradient_pair pair = {"x", x, dx, COUNT};
        gradient_check(s, &pair, 1, loss_of, &(dropout_loss){args, dy});
        s->ordinal++;
    }
}
