/* The check itself: leaves, a random cotangent, central differences, the largest relative error. */
#include "tests/gradients/gradient_check.h"

#define LH_TEST_HELPER
#include "tests/tape_bench.h"

enum { EXHAUSTIVE = 150, DIRECTIONS = 6 };

static const double step = 1e-5;

bool check_open(check_bench *bench) {
    *bench = (check_bench){0};
    return bench_open_tape("cpu", &bench->device, &bench->pool, &bench->tape);
}

void check_close(check_bench *bench) {
    lh_tape_destroy(bench->tape);
    for (int i = 0; i < bench->count; ++i)
        lh_tensor_release(bench->input[i]);
    bench_close_pool(bench->device, bench->pool);
}

static lh_tensor *keep(check_bench *bench, lh_tensor *tensor) {
    bench->input[bench->count++] = tensor;
    return tensor;
}

lh_tensor *check_leaf(check_bench *bench, int rank, const int64_t *shape) {
    lh_tensor *leaf = NULL;
    if (!CHECK_OK(lh_tensor_create(bench->pool, LH_REAL, rank, shape, &leaf))) return NULL;
    real *x = lh_tensor_real(leaf);
    for (int64_t i = 0; i < lh_tensor_count(leaf); ++i)
        x[i] = (real)(test_uniform());
    CHECK_OK(lh_tensor_require_gradient(leaf));
    return keep(bench, leaf);
}

lh_tensor *check_integers(check_bench *bench, int64_t count, const int32_t *values) {
    lh_tensor *tensor = NULL;
    if (!CHECK_OK(lh_tensor_create(bench->pool, LH_I32, 1, &count, &tensor))) return NULL;
    CHECK_OK(lh_tensor_write(tensor, values, count));
    return keep(bench, tensor);
}

/* sum(cotangent * f), forward only. */
static double evaluate(check_bench *bench, check_function function, void *context,
                       const lh_tensor *cotangent) {
    lh_tape_begin(bench->tape, false, 7, 3);
    lh_tensor *y = function(bench, context);
    if (y == NULL) return NAN;
    const real *a = lh_tensor_real(y), *b = lh_tensor_real(cotangent);
    double sum = 0;
    for (int64_t i = 0; i < lh_tensor_count(y); ++i)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The derivative along `direction` by central differences. */
static double difference(check_bench *bench, check_function function, void *context,
                         const lh_tensor *cotangent, lh_tensor *leaf, const double *direction) {
    real *x = lh_tensor_real(leaf);
    const int64_t count = lh_tensor_count(leaf);
    for (int64_t i = 0; i < count; ++i)
        x[i] += (real)(step * direction[i]);
    const double above = evaluate(bench, function, context, cotangent);
    for (int64_t i = 0; i < count; ++i)
        x[i] -= (real)(2.0 * step * direction[i]);
    const double below = evaluate(bench, function, context, cotangent);
    for (int64_t i = 0; i < count; ++i)
        x[i] += (real)(step * direction[i]);
    return (above - below) / (2.0 * step);
}

static double leaf_error(check_bench *bench, check_function function, void *context,
                         const lh_tensor *cotangent, lh_tensor *leaf, const double *gradient) {
    const int64_t count = lh_tensor_count(leaf);
    const bool exhaustive = count <= EXHAUSTIVE;
    const int64_t trials = exhaustive ? count : DIRECTIONS;
    double *direction = calloc((size_t)count + 1, sizeof *direction);
    double worst = 0, largest = 1e-3;
    for (int64_t t = 0; t < trials && direction != NULL; ++t) {
        double analytic = 0;
        for (int64_t i = 0; i < count; ++i) {
            direction[i] = exhaustive ? (i == t ? 1.0 : 0.0) : test_uniform();
            analytic += direction[i] * gradient[i];
        }
        const double numeric = difference(bench, function, context, cotangent, leaf, direction);
        const double error = fabs(numeric - analytic);
        if (!(error <= worst)) worst = isnan(error) ? HUGE_VAL : error;
        if (fabs(analytic) > largest) largest = fabs(analytic);
    }
    free(direction);
    return worst / largest;
}

/* The tape's gradient of every leaf as host copies; NULL entries for i32 tensors. */
static bool analytic_gradients(check_bench *bench, check_function function, void *context,
                               lh_tensor **cotangent, double **gradients) {
    lh_tape_begin(bench->tape, true, 7, 3);
    lh_tensor *y = function(bench, context);
    if (!CHECK(y != NULL)) return false;
    if (!CHECK_OK(lh_tensor_create(bench->pool, LH_REAL, y->rank, y->shape, cotangent))) {
        return false;
    }
    for (int64_t i = 0; i < lh_tensor_count(y); ++i) {
        lh_tensor_real(*cotangent)[i] = (real)(test_uniform());
    }
    if (!CHECK_OK(lh_tape_backward_from(bench->tape, y, *cotangent))) return false;
    for (int i = 0; i < bench->count; ++i) {
        const lh_tensor *leaf = bench->input[i];
        if (leaf->gradient == NULL) continue;
        const int64_t count = lh_tensor_count(leaf);
        gradients[i] = calloc((size_t)count + 1, sizeof **gradients);
        const lh_tensor *flowed = lh_tensor_gradient(leaf);
        for (int64_t e = 0; flowed != NULL && e < count; ++e) {
            gradients[i][e] = (double)lh_tensor_real(flowed)[e];
        }
        lh_tensor_clear_gradient(bench->input[i]);
    }
    return true;
}

double check_gradients(check_bench *bench, check_function function, void *context) {
    lh_tensor *cotangent = NULL;
    double *gradients[CHECK_INPUTS] = {NULL};
    double worst = HUGE_VAL;
    if (analytic_gradients(bench, function, context, &cotangent, gradients)) {
        worst = 0;
        for (int i = 0; i < bench->count; ++i) {
            if (gradients[i] == NULL) continue;
            const double error =
                leaf_error(bench, function, context, cotangent, bench->input[i], gradients[i]);
            if (!(error <= worst)) worst = error;
        }
    }
    if (worst == HUGE_VAL) printf("  %s\n", lh_error_text());
    lh_error_clear();
    for (int i = 0; i < bench->count; ++i)
        free(gradients[i]);
    lh_tensor_release(cotangent);
    return worst;
}
