#include <math.h>
#include <stdatomic.h>

#include "kernels/cpu/exp_row.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

static void clear_row(const lh_cross_entropy_args *args, int64_t r) {
    real *x = args->x + r * args->vocabulary;
    args->loss[r] = 0;
    if (args->correct != NULL) args->correct[r] = 0;
    for (int64_t v = 0; v < args->vocabulary && args->gradient; ++v)
        x[v] = 0;
}

static bool is_first_largest(const real *x, int64_t vocabulary, int64_t target) {
    for (int64_t v = 0; v < target; ++v) {
        if (x[v] >= x[target]) return false;
    }
    for (int64_t v = target + 1; v < vocabulary; ++v) {
        if (x[v] > x[target]) return false;
    }
    return true;
}

/* The sum of exp without keeping the exponentials. */
static double exp_sum(int64_t width, const real *x, real scale, real shift) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i)
        sum += (double)lh_exp(scale * x[i] - shift);
    return sum;
}

static void row(const lh_cross_entropy_args *args, int64_t r, real weight, real gradient_scale) {
    const int64_t vocabulary = args->vocabulary, target = args->target[r];
    real *x = args->x + r * vocabulary;
    const real scale = args->scale;
    /* A negative scale turns the largest into the smallest; shifting by scale * 0 is then as good.
     */
    const real shift = scale > 0 ? scale * lh_row_max(vocabulary, x) : 0;
    const double hit = (double)scale * (double)x[target];
    if (args->correct != NULL) args->correct[r] = is_first_largest(x, vocabulary, target) ? 1 : 0;
    const double sum = args->gradient ? lh_row_exp(vocabulary, x, scale, shift, x)
                                      : exp_sum(vocabulary, x, scale, shift);
    args->loss[r] = (real)((double)weight * (log(sum) + (double)shift - hit));
    if (!args->gradient) return;
    const real outer = weight * gradient_scale * scale, inverse = (real)((double)outer / sum);
#pragma omp simd
    for (int64_t v = 0; v < vocabulary; ++v)
        x[v] *= inverse;
    x[target] -= outer;
}

lh_status LH_CPU(cross_entropy)(const lh_launch *launch, const lh_cross_entropy_args *args) {
    (void)launch;
    const int64_t size = lh_rows_per_chunk(args->vocabulary);
    const int64_t chunks = lh_chunk_count(args->rows, size);
    const real gradient_scale = args->gradient_scale != NULL ? *args->gradient_scale : 1;
    atomic_bool invalid = false;
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const lh_range rows = lh_chunk(args->rows, size, chunk);
        for (int64_t r = rows.begin; r < rows.end; ++r) {
            const real weight = args->weight != NULL ? args->weight[r] : 1;
            const bool counts = weight != 0;
            const bool valid = counts && args->target[r] >= 0 && args->target[r] < args->vocabulary;
            if (counts && !valid) atomic_store(&invalid, true);
            if (valid) {
                row(args, r, weight, gradient_scale);
            } else {
                clear_row(args, r);
            }
        }
    }
    return atomic_load(&invalid) ? LH_EOPTION : LH_OK;
}
