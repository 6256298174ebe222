#include "harness/run/rate.h"

#include <cblas.h>
#include <stdlib.h>
#include <time.h>

#include "harness/engine/pool.h"

enum { REPEATS = 15 };

/* One square problem. */
typedef struct problem {
    int64_t size;
    float *a, *b, *c;
} problem;

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static lh_status multiply_blas(const problem *p) {
    const blasint n = (blasint)p->size;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, p->a, n, p->b, n, 0.0f,
                p->c, n);
    return LH_OK;
}

#ifndef LH_REAL_DOUBLE
static lh_status multiply_ours(lh_pool *pool, const problem *p) {
    const int64_t n = p->size;
    const lh_matmul_args args = {.batch = 1,
                                 .m = n,
                                 .n = n,
                                 .k = n,
                                 .alpha = 1,
                                 .a = p->a,
                                 .a_leading = n,
                                 .b = p->b,
                                 .b_leading = n,
                                 .c = p->c,
                                 .c_leading = n};
    return LH_RUN_W(pool, matmul, &args);
}
#else
/* The double build has no single-precision kernel to measure. */
static lh_status multiply_ours(lh_pool *pool, const problem *p) {
    (void)pool;
    return multiply_blas(p);
}
#endif

static lh_status measure(lh_pool *pool, const problem *p, bool ours, double *out) {
    double best = 1e30;
    for (int i = 0; i < REPEATS; ++i) {
        const double begin = seconds();
        LH_TRY(ours ? multiply_ours(pool, p) : multiply_blas(p));
        const double taken = seconds() - begin;
        if (taken < best) best = taken;
    }
    const double n = (double)p->size;
    *out = 2.0 * n * n * n / best;
    return LH_OK;
}

static lh_status run(lh_device *device, int64_t size, bool ours, double *out) {
    lh_pool *pool = NULL;
    LH_TRY(lh_pool_create(device, &pool));
    const size_t count = (size_t)(size * size);
    problem p = {.size = size};
    p.a = lh_allocate(count * sizeof(float));
    p.b = lh_allocate(count * sizeof(float));
    p.c = lh_allocate(count * sizeof(float));
    lh_status status = p.a != NULL && p.b != NULL && p.c != NULL ? LH_OK : LH_EMEMORY;
    for (size_t i = 0; i < count && status == LH_OK; ++i) {
        p.a[i] = (float)(i % 17) - 8.0f;
        p.b[i] = (float)(i % 13) - 6.0f;
    }
    if (status == LH_OK) status = measure(pool, &p, ours, out);
    free(p.a);
    free(p.b);
    free(p.c);
    lh_pool_destroy(pool);
    return status;
}

lh_status lh_matmul_rate(int64_t size, int threads, bool ours, double *out) {
    lh_device *device = NULL;
    const int former = lh_cpu_threads();
    LH_TRY(lh_pool_open_device("cpu", &device));
    if (ours) {
        lh_cpu_set_threads(threads);
    } else {
        openblas_set_num_threads(threads);
    }
    const lh_status status = run(device, size, ours, out);
    openblas_set_num_threads(1);
    lh_cpu_set_threads(former);
    lh_device_close(device);
    return status;
}
