/* Adafactor, over one tensor and over all at once: factored and full second moments, first and
 * later steps. */
#include "tests/kernels/conformance.h"

typedef struct shape {
    int64_t outer, rows, columns;
} shape;

/* Second moments are positive, and 0 before the first step. */
static void make_moments(real *v, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; i++)
        v[i] = step == 0 ? 0 : LH_R(0.1) + v[i] * v[i];
}

static void add_state(suite *s, lh_adafactor_args *args, shape w, int64_t at) {
    const int64_t count = w.outer * w.rows * w.columns;
    if (args->factored) {
        make_moments(case_in_out(s, "row", &args->row, w.outer * w.rows), w.outer * w.rows, at);
        make_moments(case_in_out(s, "column", &args->column, w.outer * w.columns),
                     w.outer * w.columns, at);
    } else {
        make_moments(case_in_out(s, "v", &args->v, count), count, at);
    }
    if (args->momentum > 0) case_in_out(s, "m", &args->m, count);
}

static void adafactor(suite *s, shape w, int64_t at, int row) {
    const lh_optimizer_step step = {.rate = 0.02, .step = at};
    const bool clip = suite_flag(row, 3), small = suite_flag(row, 4);
    const int64_t count = w.outer * w.rows * w.columns;
    lh_adafactor_args args = {.outer = w.outer,
                              .rows = w.rows,
                              .columns = w.columns,
                              .factored = !suite_flag(row, 0),
                              .parameter_scale = !suite_flag(row, 1),
                              .decay = 0.8,
                              .clip = 1,
                              .momentum = suite_flag(row, 2) ? 0.9 : 0};
    case_open(s, &args, sizeof args,
              "%" PRId64 " x %" PRId64 " x %" PRId64 ", step %" PRId64
              ", factored %d, parameter scale %d, momentum %g, clipped %d, small %d",
              w.outer, w.rows, w.columns, at, args.factored, args.parameter_scale, args.momentum,
              clip, small);
    case_in_bytes(s, "step", &args.step, &step, sizeof step);
    if (clip) *case_in(s, "factor", &args.factor, 1) = LH_R(0.37);
    avoid_zero(case_in(s, "g", &args.g, count), count, 0.01);
    scale_reals(case_in_out(s, "x", &args.x, count), count, small ? 1e-5 : 1);
    add_state(s, &args, w, at);
    case_run(s);
}

void cases_adafactor(suite *s) {
    static const shape shapes[] = {{0, 3, 4},    {2, 0, 4},     {2, 3, 0},   {1, 1, 1},
                                   {1, 1, 7},    {1, 7, 1},     {2, 3, 5},   {3, 8, 8},
                                   {1, 16, 17},  {4, 9, 33},    {1, 64, 65}, {1, 1, 257},
                                   {2, 127, 31}, {1, 257, 129}, {2, 65, 132}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int row = 0; row < SUITE_FLAG_ROWS; row++) {
            adafactor(s, shapes[i], 0, row);
            adafactor(s, shapes[i], 300, row);
        }
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_adafactor_args, .outer = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_adafactor_args, .rows = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_adafactor_args, .columns = -1);
}

/* Tensors of all kinds beside each other; the step and the factor are shared. */
static void adafactor_all(suite *s, int count, int64_t at) {
    static const shape shapes[] = {{2, 3, 5}, {1, 1, 257}, {1, 70, 9}, {0, 3, 4}, {1, 130, 65}};
    const lh_optimizer_step step = {.rate = 0.02, .step = at};
    lh_adafactor_all_args all = {.count = count};
    case_open(s, &all, sizeof all, "%d tensors, step %" PRId64, count, at);
    for (int t = 0; t < count; t++) {
        const shape w = shapes[t];
        const int64_t elements = w.outer * w.rows * w.columns;
        all.tensor[t] = (lh_adafactor_args){.outer = w.outer,
                                            .rows = w.rows,
                                            .columns = w.columns,
                                            .factored = t != 1,
                                            .parameter_scale = t % 2 == 0,
                                            .decay = 0.8,
                                            .clip = 1,
                                            .momentum = t % 3 == 0 ? 0.9 : 0};
        case_in_bytes(s, "step", &all.tensor[t].step, &step, sizeof step);
        if (t == 2) *case_in(s, "factor", &all.tensor[t].factor, 1) = LH_R(0.37);
        avoid_zero(case_in(s, "g", &all.tensor[t].g, elements), elements, 0.01);
        case_in_out(s, "x", &all.tensor[t].x, elements);
        add_state(s, &all.tensor[t], w, at);
    }
    case_run(s);
}

void cases_adafactor_all(suite *s) {
    for (int count = 1; count <= 5; count++) {
        adafactor_all(s, count, 0);
        adafactor_all(s, count, 300);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_adafactor_all_args, .count = -1);
    CASE_REFUSED(s, LH_ESHAPE, lh_adafactor_all_args, .count = LH_ADAFACTOR_TENSORS + 1);
    CASE_REFUSED(s, LH_ESHAPE, lh_adafactor_all_args, .count = 2,
                 .tensor = {{.rows = 0}, {.rows = -1}});
}

void bench_adafactor_all(suite *s) {
    adafactor_all(s, 5, 1000);
}

void bench_adafactor(suite *s) {
    adafactor(s, (shape){1, 1024, 1024}, 1000, 0);
    adafactor(s, (shape){1, 8192, 256}, 1000, 0);
}
