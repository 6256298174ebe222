/* Times of kernels at the shapes of training. */
#include "tests/kernels/conformance.h"

#include <cblas.h>

#include "harness/engine/clock.h"
#include "harness/engine/quantile.h"

enum { LEAST_RUNS = 5, MOST_RUNS = 200 };
static const double seconds_a_case = 0.3;

double bench_product_rate(void) {
    enum { SIZE = 1024, RUNS = 7 };
    real *a = scratch(SIZE * SIZE), *b = scratch(SIZE * SIZE), *c = scratch(SIZE * SIZE);
    double times[RUNS];
    openblas_set_num_threads(lh_cpu_threads());
    for (int run = 0; run < RUNS; run++) {
        const double start = lh_clock_seconds();
#ifdef LH_REAL_DOUBLE
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, a, SIZE, b,
                    SIZE, 0, c, SIZE);
#else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, a, SIZE, b,
                    SIZE, 0, c, SIZE);
#endif
        times[run] = lh_clock_seconds() - start;
    }
    openblas_set_num_threads(1);
    free(a);
    free(b);
    free(c);
    return 2.0 * SIZE * SIZE * SIZE / lh_quartiles_of(times, RUNS).median;
}

/* Every input read once, every output written once. */
static double traffic(const suite *s) {
    double bytes = 0;
    for (int i = 0; i < s->buffer_count; i++)
        bytes += (double)s->buffers[i].bytes * (s->buffers[i].role == ROLE_IN_OUT ? 2 : 1);
    return bytes;
}

static void print_times(const suite *s, double *times, int runs) {
    static double rate;
    if (rate <= 0) rate = bench_product_rate();
    const lh_quartiles quartiles = lh_quartiles_of(times, runs);
    const double median = quartiles.median;
    printf("%-24s %-10s %9.1f us [%.1f, %.1f] %7.2f GB/s", s->kernel->name, s->table->name,
           1e6 * median, 1e6 * quartiles.q1, 1e6 * quartiles.q3, 1e-9 * traffic(s) / median);
    if (s->flops > 0)
        printf(" %7.1f GF/s %5.1f%% of a matrix product", 1e-9 * s->flops / median,
               100 * s->flops / median / rate);
    printf("  %s\n", s->name);
}

void bench_case(suite *s) {
    double times[MOST_RUNS];
    const int threads = lh_cpu_threads();
    call_prepare(s, false);
    call_restore(s);
    call_kernel(s, threads);
    int runs = 0;
    for (double total = 0; runs < MOST_RUNS && (runs < LEAST_RUNS || total < seconds_a_case);) {
        const double start = lh_clock_seconds();
        call_kernel(s, threads);
        times[runs] = lh_clock_seconds() - start;
        total += times[runs++];
    }
    call_release(s);
    print_times(s, times, runs);
    s->passed++;
}
