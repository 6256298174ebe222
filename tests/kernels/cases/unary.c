/* Every function of one operand and its gradient, within its domain and where it saturates. */
#include "tests/kernels/conformance.h"

enum { OPS = LH_UNARY_SOFTPLUS + 1 };

static bool needs_positive(lh_unary_op op) {
    return op == LH_UNARY_LOG || op == LH_UNARY_SQRT || op == LH_UNARY_RSQRT;
}

/* Into the domain of the function, the wide ones far beyond where they saturate. */
static void into_domain(lh_unary_op op, real *x, int64_t count, bool far) {
    if (op == LH_UNARY_RELU) avoid_zero(x, count, 0.125);
    if (far && !needs_positive(op)) scale_reals(x, count, 25);
    if (!needs_positive(op)) return;
    for (int64_t i = 0; i < count; i++)
        x[i] = (real)fabs((double)x[i]) + LH_R(0.25);
}

static void forward(suite *s, lh_unary_op op, int64_t count, bool far, bool in_place) {
    lh_unary_forward_args args = {.op = op, .count = count};
    case_open(s, &args, sizeof args, "op %d, count %" PRId64 ", far %d, in place %d", op, count,
              far, in_place);
    into_domain(op, case_in(s, "x", &args.x, count), count, far);
    case_out(s, "y", &args.y, count, LH_SET);
    if (in_place) case_in_place(s, &args.y, &args.x);
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

static void forward_nan(suite *s, lh_unary_op op) {
    lh_unary_forward_args args = {.op = op, .count = 37};
    case_open(s, &args, sizeof args, "op %d, a NaN among 37", op);
    real *x = case_in(s, "x", &args.x, args.count);
    into_domain(op, x, args.count, false);
    x[5] = x[36] = (real)NAN;
    case_out(s, "y", &args.y, args.count, LH_SET);
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_run(s);
}

void cases_unary_forward(suite *s) {
    for (int op = 0; op < OPS; op++) {
        for (int i = 0; i < suite_size_count; i++)
            forward(s, (lh_unary_op)op, suite_sizes[i], i % 2 == 1, i % 3 == 0);
        for (int flags = 0; flags < 4; flags++)
            forward(s, (lh_unary_op)op, 20011, flags % 2 == 1, flags / 2 == 1);
        forward_nan(s, (lh_unary_op)op);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_unary_forward_args, .count = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_unary_forward_args, .op = (lh_unary_op)(LH_UNARY_SOFTPLUS + 1));
    CASE_REFUSED(s, LH_EOPTION, lh_unary_forward_args, .y = {.dtype = LH_BF16});
}

void bench_unary_forward(suite *s) {
    for (int op = LH_UNARY_RELU; op <= LH_UNARY_EXP; op++)
        forward(s, (lh_unary_op)op, 4096 * 256, false, false);
}

/* The rule once more, so that a wrong term of the contract does not agree with itself. */
static bool reads_output(lh_unary_op op) {
    return op <= LH_UNARY_RELU || op == LH_UNARY_TANH || op == LH_UNARY_SIGMOID ||
           op == LH_UNARY_EXP || op == LH_UNARY_SQRT || op == LH_UNARY_RSQRT || op == LH_UNARY_ELU;
}

static double backward_loss(suite *s, const void *arguments) {
    const lh_unary_backward_args *args = arguments;
    real *y = scratch(args->count);
    launch_unary_forward(s,
                         &(lh_unary_forward_args){
                             .op = args->op, .count = args->count, .x = args->x, .y = act_of(y)});
    const double loss = dot(y, args->dy.data, args->count);
    free(y);
    return loss;
}

/* `both` gives x and y, as the tape may; else the one that is not read is NULL. */
static void backward(suite *s, lh_unary_op op, int64_t count, bool both, bool in_place,
                     lh_write write) {
    lh_unary_backward_args args = {.op = op, .count = count, .write = write};
    const bool from_output = reads_output(op);
    case_open(s, &args, sizeof args, "op %d, count %" PRId64 ", both %d, in place %d, write %d", op,
              count, both, in_place, write);
    real *x = scratch(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = (real)suite_normal(s);
    into_domain(op, x, count, false);
    if (both || !from_output) memcpy(case_in(s, "x", &args.x, count), x, (size_t)count * sizeof *x);
    if (both || from_output)
        naive_unary_forward(&(lh_unary_forward_args){.op = op,
                                                     .count = count,
                                                     .x = act_of(x),
                                                     .y = act_of(case_in(s, "y", &args.y, count))});
    free(x);
    case_in(s, "dy", &args.dy, count);
    case_out(s, "dx", &args.dx, count, write);
    if (in_place) case_in_place(s, &args.dx, &args.dy);
    case_loss(s, backward_loss);
    if (both) case_pair(s, &args.x, &args.dx);
    case_dtype(s, &args.x, s->dtype);
    case_dtype(s, &args.y, s->dtype);
    case_dtype(s, &args.dy, s->dtype);
    case_dtype(s, &args.dx, s->dtype);
    case_run(s);
}

void cases_unary_backward(suite *s) {
    for (int op = 0; op < OPS; op++) {
        for (int i = 0; i < suite_size_count; i++) {
            const bool add = i % 4 == 1;
            backward(s, (lh_unary_op)op, suite_sizes[i], i % 2 == 1, i % 3 == 0 && !add,
                     write_of(add));
        }
        backward(s, (lh_unary_op)op, 20011, false, false, LH_ADD);
        backward(s, (lh_unary_op)op, 20011, false, true, LH_SET);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_unary_backward_args, .count = -1);
    CASE_REFUSED(s, LH_EOPTION, lh_unary_backward_args, .op = (lh_unary_op)(LH_UNARY_SOFTPLUS + 1));
    CASE_REFUSED(s, LH_EOPTION, lh_unary_backward_args, .dx = {.dtype = LH_BF16});
}

void bench_unary_backward(suite *s) {
    for (int op = LH_UNARY_RELU; op <= LH_UNARY_EXP; op++)
        backward(s, (lh_unary_op)op, 4096 * 256, false, false, LH_SET);
}

void gradients_unary_backward(suite *s) {
    for (int op = 0; op < OPS; op++) {
        backward(s, (lh_unary_op)op, 17, true, false, LH_SET);
        backward(s, (lh_unary_op)op, 129, true, false, LH_ADD);
    }
}
