/* The two passes that every softmax begins with: the largest of a row, and exp of what is below it.
 */
#ifndef LH_KERNELS_CPU_EXP_ROW_H
#define LH_KERNELS_CPU_EXP_ROW_H

#include <math.h>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/vector_math.h"

/* -infinity for an empty row; NaN once an element is. */
static inline real lh_row_max(int64_t width, const real *x) {
    enum { LANES = 16 };
    real lane[LANES];
    for (int j = 0; j < LANES; ++j)
        lane[j] = -(real)INFINITY;
    const int64_t whole = width / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
#pragma omp simd
        for (int j = 0; j < LANES; ++j) {
            const real v = x[i + j];
            lane[j] = v > lane[j] || v != v ? v : lane[j];
        }
    }
    for (int64_t i = whole; i < width; ++i) {
        lane[0] = x[i] > lane[0] || x[i] != x[i] ? x[i] : lane[0];
    }
    for (int j = 1; j < LANES; ++j) {
        lane[0] = lane[j] > lane[0] || lane[j] != lane[j] ? lane[j] : lane[0];
    }
    return lane[0];
}

/* Elements whose exponentials are summed in the compute type, before double: few enough that
 * sixteen lanes add no error to speak of. */
enum { LH_EXP_BLOCK = 256 };

/* y[i] = exp(scale * (x[i] - most)), not kept when y is NULL; returns their sum. y may be x. */
LH_SPECIALIZED double lh_exp_sum(int64_t width, const real *x, real scale, real most, real *y) {
    double sum = 0;
    for (int64_t begin = 0; begin < width; begin += LH_EXP_BLOCK) {
        const int64_t end = lh_min(width, begin + LH_EXP_BLOCK);
        real part = 0;
#pragma omp simd reduction(+ : part)
        for (int64_t i = begin; i < end; ++i) {
            const real e = lh_exp(scale * (x[i] - most));
            if (y != NULL) y[i] = e;
            part += e;
        }
        sum += (double)part;
    }
    return sum;
}

#endif
