/* Products of growing size, timed until they are long enough to be precise. */
#include "harness/train/matrix_rate.h"

#include <math.h>
#include <stdlib.h>

#include "harness/engine/run_kernel.h"
#include "harness/engine/tensor.h"

/* A measurement ends after so many products, or so many seconds once a few are done. */
enum { MOST_PRODUCTS = 15, LEAST_PRODUCTS = 3, SMALLEST = 512, LARGEST = 8192 };
static const double most_seconds = 0.2, long_enough = 4e-3;

/* C = A B of one size. */
typedef struct problem {
    int64_t size;
    lh_tensor *a, *b, *c;
} problem;

static void release(problem *p) {
    lh_tensor_release(p->a);
    lh_tensor_release(p->b);
    lh_tensor_release(p->c);
}

/* A square matrix as activations lie in memory, of small whole numbers. */
static lh_status create_matrix(lh_pool *pool, int64_t size, int64_t modulus, lh_tensor **out) {
    const int64_t shape[] = {size, size}, count = size * size;
    lh_tensor *exact = NULL;
    real *values = lh_allocate((size_t)count * sizeof *values);
    if (values == NULL) return LH_EMEMORY;
    for (int64_t i = 0; i < count; ++i)
        values[i] = (real)(i % modulus - modulus / 2);
    lh_status status = lh_tensor_create(pool, LH_REAL, 2, shape, &exact);
    if (status == LH_OK) status = lh_tensor_write(exact, values, count);
    if (status == LH_OK) status = lh_tensor_create(pool, lh_pool_activation(pool), 2, shape, out);
    if (status == LH_OK) status = lh_tensor_copy(*out, exact);
    lh_tensor_release(exact);
    free(values);
    return status;
}

static lh_status open_problem(lh_pool *pool, int64_t size, problem *p) {
    *p = (problem){.size = size};
    LH_TRY(create_matrix(pool, size, 17, &p->a));
    LH_TRY(create_matrix(pool, size, 13, &p->b));
    return create_matrix(pool, size, 11, &p->c);
}

static lh_status multiply(lh_pool *pool, const problem *p) {
    const int64_t n = p->size;
    const lh_matmul_args args = {.batch = 1,
                                 .m = n,
                                 .n = n,
                                 .k = n,
                                 .alpha = 1,
                                 .a = lh_tensor_activation(p->a),
                                 .a_leading = n,
                                 .b = lh_tensor_activation(p->b),
                                 .b_leading = n,
                                 .c = lh_tensor_activation(p->c),
                                 .c_leading = n,
                                 .precision = lh_pool_precision(pool)};
    lh_device *device = lh_pool_device(pool);
    LH_TRY(LH_RUN_W(pool, matmul, &args));
    return lh_pool_called("synchronize", device->synchronize(device));
}

static lh_status time_products(lh_pool *pool, const problem *p, lh_clock clock, double *best) {
    double spent = 0.0;
    *best = INFINITY;
    for (int i = 0; i < MOST_PRODUCTS; ++i) {
        const double begin = clock();
        LH_TRY(multiply(pool, p));
        const double taken = clock() - begin;
        *best = fmin(*best, taken);
        spent += taken;
        if (i + 1 >= LEAST_PRODUCTS && spent > most_seconds) return LH_OK;
    }
    return LH_OK;
}

static lh_status measure(lh_pool *pool, int64_t size, lh_clock clock, double *best) {
    problem p;
    lh_status status = open_problem(pool, size, &p);
    if (status == LH_OK) status = time_products(pool, &p, clock, best);
    release(&p);
    return status;
}

lh_status lh_matrix_rate(lh_pool *pool, int64_t size, lh_clock clock, double *out) {
    int64_t n = size > 0 ? size : SMALLEST;
    double best = 0.0;
    LH_TRY(measure(pool, n, clock, &best));
    while (size == 0 && best < long_enough && n < LARGEST) {
        n *= 2;
        LH_TRY(measure(pool, n, clock, &best));
    }
    *out = 2.0 * (double)n * (double)n * (double)n / best;
    return LH_OK;
}
