/* Softmax cross-entropy of a chunk of rows: its value and its gradient, in place of the logits or
 * beside them. */
#include <math.h>
#include <stdatomic.h>

#include "kernels/cpu/act.h"
#include "kernels/cpu/exp_row.h"
#include "kernels/cpu/kernels_cpu.h"
#include "kernels/cpu/parallel.h"

/* Where the gradient goes. */
static lh_act gradient_of(const lh_cross_entropy_args *args) {
    return args->dx.data != NULL ? args->dx : (lh_act){args->x, LH_REAL};
}

static void clear_row(const lh_cross_entropy_args *args, int64_t r) {
    const lh_act dx = gradient_of(args);
    args->loss[r] = 0;
    if (args->correct != NULL) args->correct[r] = 0;
    for (int64_t v = 0; v < args->vocabulary && args->gradient; ++v)
        lh_store(dx.dtype, dx.data, r * args->leading + v, 0);
}

/* Zeros behind a row's gradient. */
static void clear_padding(const lh_cross_entropy_args *args, int64_t r) {
    const lh_act dx = gradient_of(args);
    for (int64_t v = args->vocabulary; v < args->leading && args->gradient; ++v)
        lh_store(dx.dtype, dx.data, r * args->leading + v, 0);
}

/* Whether no earlier logit reaches the target's, which is the largest. */
static bool is_first(const real *x, int64_t target) {
    int64_t v = 0;
    while (x[v] < x[target])
        ++v;
    return v == target;
}

/* The logit that scale turns into the largest. */
static real peak(int64_t vocabulary, const real *x, real scale, real largest) {
    real smallest = x[0];
    if (scale >= 0) return largest;
    for (int64_t v = 1; v < vocabulary; ++v)
        smallest = x[v] < smallest ? x[v] : smallest;
    return smallest;
}

/* A row's gradient where the logits stay: dx = factor * exp(scale * (x - most)). */
LH_SPECIALIZED void put_powers(lh_dtype dtype, int64_t vocabulary, const real *x, real scale,
                               real most, real factor, void *dx) {
    real powers[LH_EXP_BLOCK];
    for (int64_t begin = 0; begin < vocabulary; begin += LH_EXP_BLOCK) {
        const int64_t left = vocabulary - begin, count = left < LH_EXP_BLOCK ? left : LH_EXP_BLOCK;
        (void)lh_exp_sum(count, x + begin, scale, most, powers);
        for (int64_t v = 0; v < count; ++v)
            lh_store(dtype, dx, begin + v, factor * powers[v]);
    }
}

static void put_gradient(const lh_cross_entropy_args *args, int64_t r, real most, real outer,
                         double sum) {
    const int64_t vocabulary = args->vocabulary, target = args->target[r];
    const real *x = args->x + r * args->leading, factor = (real)((double)outer / sum);
    const lh_act dx = {lh_at(args->dx, r * args->leading), args->dx.dtype};
    real share = 0;
    if (dx.dtype == LH_BF16)
        put_powers(LH_BF16, vocabulary, x, args->scale, most, factor, dx.data);
    else
        put_powers(LH_REAL, vocabulary, x, args->scale, most, factor, dx.data);
    (void)lh_exp_sum(1, x + target, args->scale, most, &share);
    lh_store(dx.dtype, dx.data, target, outer * (share / (real)sum - 1));
}

static void row(const lh_cross_entropy_args *args, int64_t r, real weight, real gradient_scale) {
    const int64_t vocabulary = args->vocabulary, target = args->target[r];
    real *x = args->x + r * args->leading;
    const real scale = args->scale, hit = x[target], largest = lh_row_max(vocabulary, x);
    const real most = peak(vocabulary, x, scale, largest);
    if (args->correct != NULL) args->correct[r] = hit == largest && is_first(x, target) ? 1 : 0;
    const bool in_place = args->gradient && args->dx.data == NULL;
    const double sum = in_place ? lh_exp_sum(vocabulary, x, scale, most, x)
                                : lh_exp_sum(vocabulary, x, scale, most, NULL);
    args->loss[r] =
        (real)((double)weight * (log(sum) - (double)scale * ((double)hit - (double)most)));
    if (!args->gradient) return;
    const real outer = weight * gradient_scale * scale, inverse = (real)((double)outer / sum);
    if (!in_place) {
        put_gradient(args, r, most, outer, sum);
        return;
    }
    const real share = x[target] / (real)sum;
#pragma omp simd
    for (int64_t v = 0; v < vocabulary; ++v)
        x[v] *= inverse;
    x[target] = outer * (share - 1);
}

lh_status lh_cpu_cross_entropy(const lh_launch *launch, const lh_cross_entropy_args *args) {
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
            clear_padding(args, r);
        }
    }
    return atomic_load(&invalid) ? LH_EOPTION : LH_OK;
}
