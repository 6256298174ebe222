/* The two passes that every softmax begins with: the largest of a row, and exp of what is below it.
 */
#ifndef LH_KERNELS_CPU_EXP_ROW_H
#define LH_KERNELS_CPU_EXP_ROW_H

#include <math.h>

#include "kernels/base.h"
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

/* y[i] = exp(scale * x[i] - shift); returns their sum. y may be x. */
static inline double lh_row_exp(int64_t width, const real *x, real scale, real shift, real *y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < width; ++i) {
        const real e = lh_exp(scale * x[i] - shift);
        y[i] = e;
        sum += (double)e;
    }
    return sum;
}

#endif
