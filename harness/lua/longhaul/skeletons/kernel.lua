-- A kernel and its backward kernel with both twins, their test, and the op that launches them: a
-- square, which trains.
return {
  says = "an op and its two kernels: contract, both twins, reference, cases",
  files = { { "kernels/cpu/NAME.c", [==[
/* NAME and its gradient, one sentence. */
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

lh_status lh_cpu_NAME_forward(const lh_launch *launch, const lh_NAME_forward_args *args) {
    (void)launch;
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(args->count, LH_CHUNK, chunk);
        for (int64_t i = range.begin; i < range.end; ++i)
            args->y[i] = args->x[i] * args->x[i];
    }
    return LH_OK;
}

lh_status lh_cpu_NAME_backward(const lh_launch *launch, const lh_NAME_backward_args *args) {
    (void)launch;
    const int64_t chunks = lh_chunk_count(args->count, LH_CHUNK);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range range = lh_chunk(args->count, LH_CHUNK, chunk);
        for (int64_t i = range.begin; i < range.end; ++i) {
            const real value = 2 * args->x[i] * args->dy[i];
            args->dx[i] = args->write == LH_ADD ? args->dx[i] + value : value;
        }
    }
    return LH_OK;
}
]==] }, { "kernels/cuda/NAME.cu", [==[
/* NAME and its gradient, one sentence. */
#include "kernels/cuda/launch.cuh"

lh_status lh_cuda_NAME_forward(const lh_launch *launch, const lh_NAME_forward_args *args) {
    const lh_NAME_forward_args a = *args;
    return lh_each(launch, a.count, [=] __device__(int64_t i) { a.y[i] = a.x[i] * a.x[i]; });
}

lh_status lh_cuda_NAME_backward(const lh_launch *launch, const lh_NAME_backward_args *args) {
    const lh_NAME_backward_args a = *args;
    return lh_each(launch, a.count, [=] __device__(int64_t i) {
        lh_store(&a.dx[i], a.write, 2 * a.x[i] * a.dy[i]);
    });
}
]==] }, { "tests/kernels/reference/NAME.c", [==[
/* NAME and its gradient in plain loops. */
#include "tests/kernels/reference/loops.h"

void REFERENCE(NAME_forward)(const void *arguments) {
    const lh_NAME_forward_args *args = arguments;
    const number *x = (const void *)args->x;
    number *y = (void *)args->y;
    for (int64_t i = 0; i < args->count; i++)
        y[i] = x[i] * x[i];
}

void REFERENCE(NAME_backward)(const void *arguments) {
    const lh_NAME_backward_args *args = arguments;
    const number *x = (const void *)args->x, *dy = (const void *)args->dy;
    number *dx = (void *)args->dx;
    for (int64_t i = 0; i < args->count; i++)
        store(&dx[i], args->write, 2 * x[i] * dy[i]);
}
]==] }, { "tests/kernels/cases/NAME.c", [==[
/* NAME over arrays of every size, its gradient in both write modes, and the op's gradient. */
#include "tests/kernels/op_gradient.h"

static void forward(suite *s, int64_t count) {
    lh_NAME_forward_args args = {.count = count};
    case_open(s, &args, sizeof args, "count %" PRId64, count);
    case_in(s, "x", &args.x, count);
    case_out(s, "y", &args.y, count, LH_SET);
    case_run(s);
}

void cases_NAME_forward(suite *s) {
    for (int i = 0; i < suite_size_count; i++)
        forward(s, suite_sizes[i]);
    CASE_REFUSED(s, LH_ESHAPE, lh_NAME_forward_args, .count = -1);
}

void bench_NAME_forward(suite *s) {
    forward(s, 4096 * 256);
}

static void backward(suite *s, int64_t count, lh_write write) {
    lh_NAME_backward_args args = {.count = count, .write = write};
    case_open(s, &args, sizeof args, "count %" PRId64 ", write %d", count, write);
    case_in(s, "x", &args.x, count);
    case_in(s, "dy", &args.dy, count);
    case_out(s, "dx", &args.dx, count, write);
    case_run(s);
}

void cases_NAME_backward(suite *s) {
    for (int i = 0; i < suite_size_count; i++) {
        backward(s, suite_sizes[i], LH_SET);
        backward(s, suite_sizes[i], LH_ADD);
    }
    CASE_REFUSED(s, LH_ESHAPE, lh_NAME_backward_args, .count = -1);
}

void bench_NAME_backward(suite *s) {
    backward(s, 4096 * 256, LH_SET);
}

static lh_tensor *apply(lh_tape *tape, lh_tensor *const *inputs) {
    return lh_NAME(tape, inputs[0]);
}

void gradients_NAME_backward(suite *s) {
    op_gradient(s, apply, 1, 3, 5);
    op_gradient(s, apply, 1, 17, 33);
}
]==] }, { "harness/ops/NAME.c", [==[
/* NAME as an op: launches the kernel, records what its gradient needs. */
#include "harness/ops/op.h"

static lh_status NAME_backward(lh_tape *tape, lh_node *node) {
    lh_NAME_backward_args args = {.count = node->output[0]->count};
    args.x = lh_tensor_real(node->saved[0]);
    args.dy = lh_gradient_read_real(node->output[0]);
    LH_TRY(lh_gradient_write_real(node->input[0], &args.dx, &args.write));
    return LH_RUN(lh_tape_pool(tape), NAME_backward, &args);
}

lh_tensor *lh_NAME(lh_tape *tape, lh_tensor *x) {
    x = lh_convert(tape, x, LH_REAL);
    lh_tensor *y = x != NULL ? lh_tape_new_like(tape, x) : NULL;
    if (y == NULL) return NULL;
    lh_NAME_forward_args args = {.count = lh_tensor_count(x)};
    args.x = lh_tensor_real(x);
    args.y = lh_tensor_real(y);
    const lh_record record = {.op = "NAME",
                              .backward = NAME_backward,
                              .input = LH_TENSORS(x),
                              .input_count = 1,
                              .output = LH_TENSORS(y),
                              .output_count = 1,
                              .saved = LH_TENSORS(x),
                              .saved_count = 1};
    return lh_op_done(tape, LH_RUN(lh_tape_pool(tape), NAME_forward, &args), y, &record);
}
]==] } },
  lines = { { "kernels/contract/elementwise.h", [==[
/* y[i] = x[i]^2: replace this by what the kernel promises. */
typedef struct lh_NAME_forward_args {
    int64_t count;
    const real *x; /* in */
    real *y;       /* out */
} lh_NAME_forward_args;

static inline lh_status lh_NAME_forward_check(const lh_NAME_forward_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}

/* dx[i] (+)= 2 x[i] dy[i]. */
typedef struct lh_NAME_backward_args {
    int64_t count;
    const real *x;  /* in */
    const real *dy; /* in */
    real *dx;       /* out */
    lh_write write;
} lh_NAME_backward_args;

static inline lh_status lh_NAME_backward_check(const lh_NAME_backward_args *args) {
    return lh_sound(lh_are_sizes(args->count), true);
}
]==], before = "#endif" }, { "kernels/contract/elementwise.h", [==[
LH_KERNEL(NAME_forward, LH_REAL)
LH_KERNEL(NAME_backward, LH_REAL)]==], before = "LH_KERNEL(" }, { "harness/ops/ops.h", [==[
/* x [...] -> x^2: replace this by what the op promises. */
lh_tensor *lh_NAME(lh_tape *tape, lh_tensor *x);
]==], before = "#endif" }, { "kernels/cost/elementwise.c", [==[

lh_cost lh_cost_NAME_forward(const lh_NAME_forward_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = count,
                    .read = lh_cost_reals(args->x, count),
                    .written = lh_cost_reals(args->y, count)};
    lh_cost_launch(&cost, args->count);
    return cost;
}

lh_cost lh_cost_NAME_backward(const lh_NAME_backward_args *args) {
    const double count = (double)args->count;
    lh_cost cost = {.flops = 2 * count,
                    .read = lh_cost_reals(args->x, count) + lh_cost_reals(args->dy, count)};
    lh_cost_launch(&cost, args->count);
    lh_cost_write(&cost, lh_cost_reals(args->dx, count), args->write);
    return cost;
}]==] } },
  next = "make conformance KERNEL=NAME_forward, and NAME_backward; make test-double; docs/adding.md",
}
