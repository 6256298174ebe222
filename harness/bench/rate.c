/* Times of square matrix products, by our kernel or by one call of the library. */
#include "harness/bench/rate.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

#include "harness/engine/clock.h"
#include "harness/train/matrix_rate.h"

enum { PRODUCTS = 15 };

static lh_status measure_ours(int64_t size, double *out) {
    lh_device *device = NULL;
    lh_pool *pool = NULL;
    LH_TRY(lh_pool_open_device("cpu", &device));
    lh_status status = lh_pool_create(device, &pool);
    if (status == LH_OK) status = lh_matrix_rate(pool, size, lh_clock_seconds, out);
    lh_pool_destroy(pool);
    lh_device_close(device);
    return status;
}

static double time_blas(int64_t size, const float *a, const float *b, float *c) {
    const blasint n = (blasint)size;
    double best = INFINITY;
    for (int i = 0; i < PRODUCTS; ++i) {
        const double begin = lh_clock_seconds();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a, n, b, n, 0.0f, c,
                    n);
        best = fmin(best, lh_clock_seconds() - begin);
    }
    return best;
}

static lh_status measure_blas(int64_t size, double *out) {
    const size_t count = (size_t)(size * size);
    float *a = lh_allocate(count * sizeof *a), *b = lh_allocate(count * sizeof *b),
          *c = lh_allocate(count * sizeof *c);
    const lh_status status = a != NULL && b != NULL && c != NULL ? LH_OK : LH_EMEMORY;
    for (size_t i = 0; i < count && status == LH_OK; ++i) {
        a[i] = (float)(i % 17) - 8.0f;
        b[i] = (float)(i % 13) - 6.0f;
    }
    const double n = (double)size;
    if (status == LH_OK) *out = 2.0 * n * n * n / time_blas(size, a, b, c);
    free(a);
    free(b);
    free(c);
    return status;
}

lh_status lh_matmul_rate(int64_t size, int threads, bool ours, double *out) {
    const int former = lh_cpu_threads();
    if (ours) {
        lh_cpu_set_threads(threads);
    } else {
        openblas_set_num_threads(threads);
    }
    const lh_status status = ours ? measure_ours(size, out) : measure_blas(size, out);
    openblas_set_num_threads(1);
    lh_cpu_set_threads(former);
    return status;
}
